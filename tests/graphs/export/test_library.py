"""Exported libraries in C and C++ programs: results, errors, threads, several in one program."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polygym.errors import InputError
from polygym.graphs.execution import compile_model
from polygym.graphs.export import writing
from polygym.graphs.export.writing import WrittenLibrary
from polygym.graphs.ir.build import graph_input, make_node, matmul, weight
from polygym.graphs.ir.graph import Graph, Model, random_inputs, random_weights
from tests.graphs.export.drivers import (
    MAIN,
    arguments,
    build,
    run,
    small_model,
    written,
)

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")

SANITIZED = ("-fsanitize=address,undefined", "-fno-sanitize-recover")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> WrittenLibrary:
    return written(small_model(), tmp_path_factory.mktemp("small"), "small")


def expect_values(output: str, expected: list[np.ndarray]) -> None:
    title, *numbers = output.split("\n", 1)
    assert title == "it worked"
    flat = np.concatenate([array.reshape(-1) for array in expected])
    np.testing.assert_array_equal(np.array(numbers[0].split(), np.float32), flat)


@pytest.mark.parametrize(
    "compiler", [("cc", "-std=c99"), ("c++", "-std=c++11"), ("cc", *SANITIZED)], ids=" ".join
)
def test_a_program_gives_the_same_bits(library: WrittenLibrary, compiler: tuple[str, ...]) -> None:
    folder = library.code.parent
    expected = arguments(small_model(), folder)
    program = build(folder, MAIN, str(library.code), compiler=compiler)
    done = run(program, str(library.weights))
    assert done.returncode == 0, done.stderr
    expect_values(done.stdout, expected)


@pytest.mark.parametrize(("kind", "ending"), [("static", ".a"), ("object", ".o")])
def test_other_kinds(kind: str, ending: str, tmp_path: Path) -> None:
    made = written(small_model(), tmp_path, "small", kind)
    assert made.code.suffix == ending
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {f"small{ending}", "small.h", "small.safetensors"}
    expected = arguments(small_model(), tmp_path)
    done = run(
        build(tmp_path, MAIN, str(made.code), compiler=("cc", *SANITIZED)), "small.safetensors"
    )
    assert done.returncode == 0, done.stderr
    expect_values(done.stdout, expected)


def damages(library: WrittenLibrary) -> dict[str, bytes]:
    good = library.weights.read_bytes()
    start = good.index(b'"0"')
    middle = len(good) - 33
    return {
        "short": good[:-1],
        "long": good + b"\0",
        "empty": b"",
        "length": b"\1" + good[1:],
        "letter": good[:start] + b"'" + good[start + 1 :],
        "array": good[:middle] + bytes([good[middle] ^ 64]) + good[middle + 1 :],
        "header alone": good[: int.from_bytes(good[:8], "little") + 8],
        "other kind": b"\x7fELF" * 100,
    }


def test_weights_that_are_not_as_written(library: WrittenLibrary) -> None:
    folder = library.code.parent
    arguments(small_model(), folder)
    program = build(folder, MAIN, str(library.code), compiler=("cc", *SANITIZED))
    for name, contents in damages(library).items():
        (folder / "bad").write_bytes(contents)
        done = run(program, "bad")
        assert done.returncode == 3, name
        assert "is damaged" in done.stdout
    assert run(program, "none").stdout == "the file of the weights cannot be opened\n"
    assert run(program, str(folder)).returncode == 3


def test_weights_of_another_model(library: WrittenLibrary, tmp_path: Path) -> None:
    other = written(small_model(seed=1), tmp_path, "small")
    folder = library.code.parent
    arguments(small_model(), folder)
    program = build(folder, MAIN, str(library.code))
    assert (
        run(program, str(other.weights)).stdout == "the file has the weights of another library\n"
    )


def test_every_bit_of_the_file_counts(library: WrittenLibrary, tmp_path: Path) -> None:
    """A flipped bit anywhere is found: header, identity, arrays."""
    text = MAIN.replace("int main(int count", "static int once(int count")
    text += """
int main(void)
{
  char *words[] = {(char *)"", (char *)"bad"};
  static char bytes[1 << 16];
  FILE *file = fopen("good", "rb");
  size_t size = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  for (size_t k = 0; k < size; k++) {
    bytes[k] = (char)(bytes[k] ^ 1 << k % 8);
    file = fopen("bad", "wb");
    fwrite(bytes, 1, size, file);
    fclose(file);
    bytes[k] = (char)(bytes[k] ^ 1 << k % 8);
    int code = once(2, words);
    if (code != SMALL_DAMAGED && code != SMALL_OTHER_MODEL)
      return 1;
  }
  return size < 500;
}
"""
    arguments(small_model(), tmp_path)
    shutil.copy(library.weights, tmp_path / "good")
    shutil.copy(library.header, tmp_path)
    assert run(build(tmp_path, text, str(library.code))).returncode == 0


def test_an_index_out_of_range_is_a_code(library: WrittenLibrary) -> None:
    folder = library.code.parent
    arguments(small_model(), folder)
    program = build(folder, MAIN, str(library.code), compiler=("cc", *SANITIZED))
    done = run(program, str(library.weights), "5")
    assert done.stdout == "an index is outside of the tensor that it is for\n"


MISUSE = """
#include <stdio.h>
#include "small.h"

int main(int count, char **words)
{
  float x[24] = {0}, y[48], mean[9];
  int64_t ids[4] = {0};
  small *model = NULL, *other = NULL;
  int bad = count != 2;
  bad += small_create(words[1], NULL) != SMALL_INVALID;
  bad += small_create(NULL, &model) != SMALL_INVALID || model != NULL;
  bad += small_clone(NULL, &other) != SMALL_INVALID;
  bad += small_create(words[1], &model) != SMALL_OK;
  bad += small_clone(model, &other) != SMALL_OK;
  bad += small_run(NULL, x, ids, y, mean) != SMALL_INVALID;
  bad += small_run(model, NULL, ids, y, mean) != SMALL_INVALID;
  bad += small_run(model, x, ids, x, mean) != SMALL_INVALID;
  bad += small_run(model, x, ids, y, y + 40) != SMALL_INVALID;
  bad += small_run(model, x, ids, y, (float *)((char *)mean + 1)) != SMALL_INVALID;
  bad += small_run(model, x, (int64_t *)((char *)ids + 4), y, mean) != SMALL_INVALID;
  bad += small_run_arrays(model, NULL, NULL) != SMALL_INVALID;
  bad += small_run(model, x, ids, y, mean) != SMALL_OK;
  small_destroy(model);
  bad += small_run(other, x, ids, y, mean) != SMALL_OK;
  small_destroy(other);
  small_destroy(NULL);
  printf("%d %s", bad, small_message(-7));
  return bad;
}
"""


def test_misuse_gives_codes(library: WrittenLibrary) -> None:
    compiler = ("cc", "-fsanitize=address")
    done = run(
        build(library.code.parent, MISUSE, str(library.code), compiler=compiler),
        str(library.weights),
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "0 no code of this library"


THREADS = """
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "first.h"
#include "second.h"

static float x[24], expected[2][56];
static int64_t ids[3] = {0, 4, 2};
static first *firsts[2];
static second *seconds[2];

static void *work(void *number)
{
  int own = *(int *)number;
  long wrong = 0;
  for (int k = 0; k < 2000; k++) {
    float y[48], mean[8];
    wrong += first_run(firsts[own], x, ids, y, mean) != FIRST_OK;
    wrong += memcmp(y, expected[0], sizeof y) || memcmp(mean, expected[0] + 48, sizeof mean);
    wrong += second_run(seconds[own], x, ids, y, mean) != SECOND_OK;
    wrong += memcmp(y, expected[1], sizeof y) || memcmp(mean, expected[1] + 48, sizeof mean);
  }
  return (void *)wrong;
}

int main(void)
{
  for (int k = 0; k < 24; k++)
    x[k] = (float)(k % 7) - 3;
  if (first_create("first.safetensors", &firsts[0]) || first_clone(firsts[0], &firsts[1]) ||
      second_create("second.safetensors", &seconds[0]) ||
      second_create("second.safetensors", &seconds[1]))
    return 2;
  first_run(firsts[0], x, ids, expected[0], expected[0] + 48);
  second_run(seconds[0], x, ids, expected[1], expected[1] + 48);
  if (!memcmp(expected[0], expected[1], sizeof expected[0]))
    return 3;
  pthread_t threads[2];
  int numbers[2] = {0, 1};
  long wrong = 0;
  for (int k = 0; k < 2; k++)
    pthread_create(&threads[k], NULL, work, &numbers[k]);
  for (int k = 0; k < 2; k++) {
    void *own;
    pthread_join(threads[k], &own);
    wrong += (long)own;
  }
  for (int k = 0; k < 2; k++) {
    first_destroy(firsts[k]);
    second_destroy(seconds[k]);
  }
  return wrong != 0;
}
"""


@pytest.mark.parametrize("kind", ["shared", "object"])
def test_two_models_in_two_threads(kind: str, tmp_path: Path) -> None:
    """Each thread has a context of each; one pair shares its weights."""
    made = [
        written(small_model(seed=seed), tmp_path, name, kind)
        for seed, name in enumerate(("first", "second"))
    ]
    codes = [str(library.code) for library in made]
    compiler = ("cc", "-pthread", "-fsanitize=thread")
    done = run(build(tmp_path, THREADS, *codes, compiler=compiler))
    assert done.returncode == 0, done.stderr


def test_openmp_threads(tmp_path: Path) -> None:
    """With two threads the library starts them by OpenMP, and the bits stay."""
    x = graph_input("x", 256, 256)
    graph = Graph.of("wide", matmul(x, weight("w", 256, 256), "relu"))
    model = Model(graph, random_weights(graph))
    made = written(model, tmp_path, "wide", "static", threads=2)
    text = """
#include <stdio.h>
#include "wide.h"
static float x[65536], y[65536];
int main(void)
{
  FILE *file = fopen("in0", "rb");
  wide *model;
  if (fread(x, 4, 65536, file) != 65536 || wide_create("wide.safetensors", &model) ||
      wide_run(model, x, y))
    return 1;
  wide_destroy(model);
  fclose(file);
  file = fopen("out", "wb");
  fwrite(y, 4, 65536, file);
  return fclose(file);
}
"""
    arguments(model, tmp_path)
    done = run(build(tmp_path, text, str(made.code), "-fopenmp"))
    assert done.returncode == 0, done.stderr
    result = np.fromfile(tmp_path / "out", np.float32).reshape(256, 256)
    np.testing.assert_array_equal(result, compile_model(model, 2)(*random_inputs(graph, 1)))


def test_code_for_another_processor(tmp_path: Path) -> None:
    """Kernels for two levels stand in one library, which takes the best that runs."""
    made = written(small_model(), tmp_path, "small", cpus=("x86-64", "x86-64-v2"))
    assert "x86-64-v2 (x86-64-v2), x86-64 (x86-64)" in made.header.read_text()
    expected = arguments(small_model(), tmp_path)
    done = run(build(tmp_path, MAIN, str(made.code)), "small.safetensors")
    title, numbers = done.stdout.split("\n", 1)
    assert title == "it worked"
    flat = np.concatenate([array.reshape(-1) for array in expected])
    np.testing.assert_allclose(np.array(numbers.split(), np.float32), flat, rtol=1e-5, atol=1e-6)


def test_a_model_without_weights(tmp_path: Path) -> None:
    graph = Graph.of(
        "bare", make_node("neg", graph_input("model", 2)), make_node("abs", graph_input("int", 2))
    )
    made = written(Model(graph, {}), tmp_path, "bare")
    text = """
#include <stdio.h>
#include "bare.h"
int main(void)
{
  bare *model;
  const float x[] = {1, 2}, z[] = {-3, 4};
  float y[2], v[2];
  int code = bare_create("bare.safetensors", &model) || bare_run(model, x, z, y, v);
  bare_destroy(model);
  printf("%g %g %g %g", y[0], y[1], v[0], v[1]);
  return code;
}
"""
    done = run(build(tmp_path, text, str(made.code)))
    assert (done.returncode, done.stdout) == (0, "-1 -2 3 4")


@pytest.mark.parametrize("name", ["int", "class", "", "a-b", "3x", "ä", "size_t", "x" * 4 + "\n"])
def test_names_that_c_does_not_take(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--name: expected letters"):
        written(small_model(), tmp_path / "new", name)
    assert not (tmp_path / "new").exists()


def test_the_weights_are_a_file_of_safetensors(library: WrittenLibrary) -> None:
    """The header lists arrays without gaps, and they hold what the model has."""
    import json

    data = library.weights.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    del header["__metadata__"]
    ends = [0, *(entry["data_offsets"][1] for entry in header.values())]
    assert [entry["data_offsets"][0] for entry in header.values()] == ends[:-1]
    assert len(data) == 8 + length + ends[-1]
    table = small_model().weights["table"].tobytes()
    assert any(
        data[8 + length + start : 8 + length + end] == table
        for start, end in (entry["data_offsets"] for entry in header.values())
    )


@pytest.mark.parametrize("function", ["_build", "write_weights"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_an_end_on_the_way_leaves_what_was_there(
    function: str, error: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ends(*_: Any) -> None:
        raise error

    made = written(small_model(), tmp_path, "small")
    paths = (made.code, made.header, made.weights)
    before = [path.read_bytes() for path in paths]
    monkeypatch.setattr(writing, function, ends)
    with pytest.raises((KeyboardInterrupt, InputError)):
        written(small_model(seed=1), tmp_path, "small")
    assert [path.read_bytes() for path in paths] == before
    assert len(list(tmp_path.iterdir())) == 3


def test_a_library_depends_on_libc_alone(library: WrittenLibrary) -> None:
    done = subprocess.run(["ldd", str(library.code)], capture_output=True, text=True, check=True)
    names = {line.split()[0].partition(".")[0] for line in done.stdout.splitlines()}
    assert names <= {"linux-vdso", "libm", "libc", "/lib64/ld-linux-x86-64"}


def test_two_exports_of_a_model_are_equal(tmp_path: Path) -> None:
    made = [written(small_model(), tmp_path / name, "small") for name in ("a", "b")]
    for one, other in zip(*((m.code, m.header, m.weights) for m in made), strict=True):
        assert one.read_bytes() == other.read_bytes()


def test_types_of_arguments(tmp_path: Path) -> None:
    """Truth is a byte, a number of 16 bits its bits, and both come back as they went in."""
    x = graph_input("x", 3, dtype="float16")
    mask = graph_input("mask", 3, dtype="bool")
    graph = Graph.of(
        "types",
        make_node("cast", "float16", make_node("neg", make_node("cast", "float32", x))),
        make_node("cast", "bool", make_node("cast", "float32", mask)),
    )
    made = written(Model(graph, {}), tmp_path, "types")
    assert "const uint16_t *x, const uint8_t *mask, uint16_t *y, uint8_t *y1" in (
        made.header.read_text()
    )
    text = """
#include <stdio.h>
#include "types.h"
int main(void)
{
  types *model;
  const uint16_t x[] = {0x3c00, 0xc000, 0};
  const uint8_t mask[] = {1, 0, 1};
  uint16_t y[3];
  uint8_t z[4] = {7, 7, 7, 7};
  int code = types_create("types.safetensors", &model) || types_run(model, x, mask, y, z);
  types_destroy(model);
  printf("%x %x %x %d%d%d%d", y[0], y[1], y[2], z[0], z[1], z[2], z[3]);
  return code;
}
"""
    done = run(build(tmp_path, text, str(made.code)))
    assert (done.returncode, done.stdout) == (0, "bc00 4000 8000 1017")
