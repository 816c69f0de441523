"""Mapped code as C under AddressSanitizer: no access beside an array, no leak, the right numbers.

The arrays are on the heap, each with red zones around it, as large as the program declares them.
"""

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from polygym.codegen.c import print_c
from polygym.codegen.pipeline import lower
from polygym.codegen.recurrences.skewed_copies import plan
from polygym.errors import LimitError
from polygym.ir.scop import Scop, StorageClass
from polygym.mapping.mapping import SEQUENTIAL_MAPPING, Mapping, WorkSharing, parse_mapping
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from tests.codegen.mapped_programs import PROGRAMS, random_mapping, scop_of
from tests.codegen.test_machine_code import observable
from tests.oracles.compiled_runs import random_arrays, run_in_order
from tests.oracles.random_schedules import random_legal_schedule

GCC = shutil.which("gcc")
PLAIN = ("-g", "-fwrapv", "-fopenmp", "-ffp-contract=off", "-w")
# Nothing that gcc finds superfluous is to be left out, and nothing of that takes time.
FLAGS = (*PLAIN, "-O0", "-fsanitize=address,bounds,null", "-fno-sanitize-recover=all")
NAMES = [
    name
    for name in PROGRAMS
    if not any(array.storage_class is StorageClass.GLOBAL for array in scop_of(name).arrays)
]

MAIN = """
#include <stdio.h>
#include <stdlib.h>
static void *take(FILE *file, size_t size)
{{
  void *memory = malloc(size);
  if (!memory || fread(memory, 1, size, file) != size)
    exit(7);
  return memory;
}}
int main(void)
{{
  FILE *file = fopen("in", "rb"), *out = fopen("out", "wb");
{taken}
  {name}({arguments});
{given}
  fclose(file);
  return fclose(out);
}}
"""


def driver(
    scop: Scop, parameters: dict[str, int], arrays: dict[str, np.ndarray]
) -> tuple[str, bytes]:
    """Return a main function and what it reads."""
    given = [array for array in scop.arrays if array.name in scop.signature]
    taken = [
        f"  {a.type.value} *polygym_{a.name} = take(file, {arrays[a.name].nbytes});" for a in given
    ]
    by_value = {a.name for a in given if a.storage_class is StorageClass.VALUE}
    arguments = [
        str(parameters[name])
        if name in parameters
        else f"{'*' if name in by_value else '(void *)'}polygym_{name}"
        for name in scop.signature
    ]
    back = [
        f"  fwrite(polygym_{a.name}, 1, {arrays[a.name].nbytes}, out);\n  free(polygym_{a.name});"
        for a in given
    ]
    text = MAIN.format(
        name=scop.name,
        taken="\n".join(taken),
        given="\n".join(back),
        arguments=", ".join(arguments),
    )
    return text, b"".join(arrays[a.name].tobytes() for a in given)


def build(folder: Path, *more: str) -> None:
    """Compile program.c, or skip the test where gcc has not all that it takes."""
    assert GCC is not None
    flags = FLAGS if not more else (*PLAIN, "-O1", *more)
    built = subprocess.run(
        [GCC, *flags, "program.c", "-o", "program", "-lm"],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    if "cannot find" in built.stderr or "libgomp.spec" in built.stderr:
        pytest.skip("gcc is here without its sanitizer or OpenMP")
    assert built.returncode == 0, built.stderr


@pytest.mark.rotates
@pytest.mark.skipif(GCC is None, reason="needs gcc")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", [0, 1])
def test_no_access_beside_an_array(name: str, seed: int, tmp_path: Path) -> None:
    scop = scop_of(name)
    generator = np.random.default_rng([seed, len(name), 77])
    schedule = (
        isl_schedule(scop)
        if seed == 0
        else random_legal_schedule(scop, generator, rows=int(generator.integers(1, 4)))
    )
    mapping = random_mapping(generator)
    parameters = {p.name: int(generator.integers(3, 14)) for p in scop.parameters}
    start = random_arrays(scop, parameters, generator)
    expected = {key: value.copy() for key, value in start.items()}
    run_in_order(scop, parameters, expected)
    try:
        text = print_c(lower(LegalSchedule(scop, schedule), mapping), f"{schedule} {mapping}")
    except LimitError:
        pytest.skip("too irregular for isl")
    main, data = driver(scop, parameters, start)
    (tmp_path / "program.c").write_text(text + main)
    (tmp_path / "in").write_bytes(data)
    build(tmp_path)
    ran = subprocess.run(["./program"], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr + text
    left = (tmp_path / "out").read_bytes()
    for array in scop.arrays:
        if array.name not in scop.signature:
            continue
        size = start[array.name].nbytes
        values = np.frombuffer(left[:size], dtype=start[array.name].dtype)
        left = left[size:]
        if array.name in observable(scop):
            # No multiplication and addition is fused here, so the last bits may differ. (That sums
            # keep their order is tested elsewhere, on machine code and bit for bit.)
            np.testing.assert_allclose(
                values, expected[array.name].ravel(), rtol=1e-5, atol=1e-7, err_msg=text
            )


@pytest.mark.skipif(GCC is None, reason="needs gcc")
def test_an_access_beside_an_array_is_noticed(tmp_path: Path) -> None:
    scop = scop_of("product")
    parameters = {p.name: 8 for p in scop.parameters}
    start = random_arrays(scop, parameters, np.random.default_rng(1))
    smaller = {key: value[:-1] if value.ndim > 1 else value for key, value in start.items()}
    main, data = driver(scop, parameters, smaller)
    text = print_c(lower(LegalSchedule(scop, original_schedule(scop))))
    (tmp_path / "program.c").write_text(text + main)
    (tmp_path / "in").write_bytes(data)
    build(tmp_path)
    ran = subprocess.run(["./program"], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode != 0
    assert "AddressSanitizer" in ran.stderr


# OpenMP for loops with static chunks, on threads that the sanitizer sees: it does not know what
# libgomp's own do, and would suspect them.
SHIM = """
#include <pthread.h>
typedef struct {{ void (*task)(void *); void *data; int id; }} polygym_start;
static int polygym_count = 1;
static __thread int polygym_id = 0;
static void *polygym_begin(void *argument)
{{
  polygym_start *start = argument;
  polygym_id = start->id;
  start->task(start->data);
  return 0;
}}
void GOMP_parallel(void (*task)(void *), void *data, unsigned count, unsigned flags)
{{
  pthread_t threads[64];
  polygym_start starts[64];
  polygym_count = count;
  for (int k = 0; k < (int)count; k++) {{
    starts[k] = (polygym_start){{task, data, k}};
    pthread_create(&threads[k], 0, polygym_begin, &starts[k]);
  }}
  for (int k = 0; k < (int)count; k++)
    pthread_join(threads[k], 0);
  polygym_count = 1;
}}
int omp_get_num_threads(void) {{ return polygym_count; }}
int omp_get_thread_num(void) {{ return polygym_id; }}
"""


def run_with_threads(name: str, mapping: Mapping, schedule: Schedule, folder: Path) -> str:
    """Run a program under ThreadSanitizer; return what it said."""
    scop = scop_of(name)
    parameters = {p.name: 21 + k for k, p in enumerate(scop.parameters)}
    start = random_arrays(scop, parameters, np.random.default_rng(3))
    text = print_c(lower(LegalSchedule(scop, schedule), mapping, parameters))
    return race_in(scop, text, parameters, start, folder)


def race_in(
    scop: Scop, text: str, parameters: dict[str, int], start: dict[str, np.ndarray], folder: Path
) -> str:
    main, data = driver(scop, parameters, start)
    (folder / "program.c").write_text(text + main + SHIM.format())
    (folder / "in").write_bytes(data)
    # The shim has what -fopenmp would link.
    build(folder, "-fsanitize=thread", "-foffload=disable", "-Wl,--allow-multiple-definition")
    # Where addresses are too random, the sanitizer finds no place for its own memory.
    setarch = shutil.which("setarch")
    command = [setarch, "-R", "./program"] if setarch else ["./program"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if "unexpected memory mapping" in ran.stderr or "setarch:" in ran.stderr:
        pytest.skip("ThreadSanitizer does not run here")
    return ran.stderr if ran.returncode else ""


@pytest.mark.rotates
@pytest.mark.skipif(GCC is None, reason="needs gcc")
@pytest.mark.parametrize("text", ["", "tile=8x16x4", "tile=off vector_bits=off"])
@pytest.mark.parametrize("name", ["product", "jacobi", "lu", "columns", "contraction", "seidel"])
def test_threads_do_not_race(name: str, text: str, tmp_path: Path) -> None:
    mapping = parse_mapping(f"threads=4 parallel=static {text}")
    schedule = isl_schedule(scop_of(name))
    assert run_with_threads(name, mapping, schedule, tmp_path) == ""


@pytest.mark.skipif(GCC is None, reason="needs gcc")
@pytest.mark.parametrize("tile", ["3x4x8", "4x3x5"])
def test_threads_with_skewed_copies_touch_nothing_of_each_others(
    tile: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "is_profitable", lambda *_: True)
    scop, parameters = scop_of("seidel"), {"t": 9, "n": 23}
    mapping = parse_mapping(f"threads=4 parallel=static tile={tile}")
    loops = lower(LegalSchedule(scop, isl_schedule(scop)), mapping, parameters)
    assert [array.name for array in loops.scop.arrays] == ["A", "A_skewed"]
    start = random_arrays(scop, parameters, np.random.default_rng(3))
    text = print_c(loops)
    assert "omp parallel" in text
    assert race_in(scop, text, parameters, start, tmp_path) == ""
    (tmp_path / "program.c").write_text(text + driver(scop, parameters, start)[0])
    build(tmp_path)
    ran = subprocess.run(["./program"], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr + text
    expected = {key: value.copy() for key, value in start.items()}
    run_in_order(scop, parameters, expected)
    assert (tmp_path / "out").read_bytes() == expected["A"].tobytes()


@pytest.mark.rotates
@pytest.mark.skipif(GCC is None, reason="needs gcc")
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", ["product", "jacobi", "lu", "statistics", "columns", "fields"])
def test_threads_of_random_schedules_do_not_race(name: str, seed: int, tmp_path: Path) -> None:
    generator = np.random.default_rng([seed, len(name), 99])
    schedule = random_legal_schedule(scop_of(name), generator, rows=2)
    mapping = replace(random_mapping(generator), threads=4, parallel=WorkSharing.STATIC)
    try:
        assert run_with_threads(name, mapping, schedule, tmp_path) == ""
    except LimitError:
        pytest.skip("too irregular for isl")


@pytest.mark.skipif(GCC is None, reason="needs gcc")
def test_a_race_is_noticed(tmp_path: Path) -> None:
    scop = scop_of("recurrence")
    parameters = {p.name: 21 for p in scop.parameters}
    start = random_arrays(scop, parameters, np.random.default_rng(3))
    text = print_c(
        lower(LegalSchedule(scop, original_schedule(scop)), SEQUENTIAL_MAPPING, parameters)
    )
    # The loop over j waits for itself; marked as parallel, it races.
    inner = text.index("for (", text.index("for (") + 1)
    pragma = "\n#pragma omp parallel for schedule(static) num_threads(4)\n"
    spoiled = text[:inner] + pragma + text[inner:]
    assert "data race" in race_in(scop, spoiled, parameters, start, tmp_path)
