"""Printed kernels against the source's own order: the same bits, and nothing for compilers to say.

Programs, schedules and mappings are those of :mod:`tests.codegen.mapped_programs`; a kernel is
compiled with -O3 in some seeds, with sanitizers of what C leaves undefined in others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from polybench import Dataset
from polygym.codegen.c import kernel_prelude, print_kernel
from polygym.codegen.loopir.ir import LoopProgram
from polygym.codegen.pipeline import lower
from polygym.errors import LimitError
from polygym.frontend.c import parse_text
from polygym.mapping.mapping import parse_mapping
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.programs import load_program
from tests.codegen.mapped_programs import PROGRAMS, SIZES, random_mapping, scop_of
from tests.openmp_compilers import links_openmp
from tests.oracles.c_kernels import FAST, call_kernel, compile_kernel, kernel_file
from tests.oracles.compiled_runs import random_arrays, run_in_order, run_loops
from tests.oracles.random_schedules import random_legal_schedule
from tests.oracles.threads import every_loop_shared

UNDEFINED = ("-O1", "-march=native", "-fopenmp", "-fsanitize=undefined", "-fno-sanitize-recover")
COMPILERS = [name for name in ("gcc", "clang-19", "clang") if links_openmp(name)]
pytestmark = pytest.mark.skipif(not COMPILERS, reason="needs a C compiler")


def programs_of(name: str, seeds: range) -> Iterator[tuple[LoopProgram, dict[str, int], int]]:
    """Yield loops of random schedules and mappings, with their sizes."""
    scop = scop_of(name)
    for seed in seeds:
        generator = np.random.default_rng([seed, len(name)])
        match generator.integers(3):
            case 0:
                schedule = original_schedule(scop)
            case 1:
                schedule = isl_schedule(scop)
            case _:
                schedule = random_legal_schedule(scop, generator, rows=2)
        sizes = {p.name: int(generator.choice(SIZES)) for p in scop.parameters}
        if name == "six_deep":
            sizes = {p.name: int(generator.integers(1, 4)) for p in scop.parameters}
        known = sizes if generator.random() < 0.5 else None
        try:
            yield (
                lower(LegalSchedule(scop, schedule), random_mapping(generator, scop), known),
                sizes,
                seed,
            )
        except LimitError:
            continue


def assert_same(program: LoopProgram, sizes: dict[str, int], text: str, library: Path) -> None:
    """Run a kernel and the source's order on the same data."""
    compiler = COMPILERS[len(text) // 2 % len(COMPILERS)]
    # Libraries that clang makes lack the sanitizer's functions.
    flags = UNDEFINED if compiler == "gcc" and len(text) % 2 else FAST
    arrays = random_arrays(program.scop, sizes, np.random.default_rng(3))
    expected = {key: array.copy() for key, array in arrays.items()}
    loaded = compile_kernel(text, library, compiler, flags)
    assert call_kernel(loaded, program, sizes, arrays) == 0
    run_loops(program, sizes, expected, is_for_users=True)
    for array in program.scop.arrays:
        if array.name in arrays and array.live_out:
            np.testing.assert_array_equal(arrays[array.name], expected[array.name], err_msg=text)


@pytest.mark.rotates
@pytest.mark.parametrize("name", PROGRAMS)
def test_random_mappings_of_random_schedules(name: str, tmp_path: Path) -> None:
    checked = 0
    with every_loop_shared():
        for program, sizes, seed in programs_of(name, range(2)):
            assert_same(program, sizes, kernel_file(program), tmp_path / str(seed))
            checked += 1
    assert checked


LAST = """
void f(int n, double a[n], double b[n], int c[n], double s[1]) {
#pragma scop
  for (int i = 0; i < n; i++)
    s[0] = c[i] != 0 && b[i] > s[0] ? a[i] : s[0];
#pragma endscop
}
"""
BYTES = """
void f(int n, unsigned char a[n], signed char b[n], short s[n], unsigned short u[n], float x[n],
       double y[n], int z[n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    s[i] = a[i] == b[i] ? s[i] * 3 + b[i] - 40000 : s[i];
  for (int i = 0; i < n; i++)
    u[i] = a[i] * 257 + u[i] * u[i];
  for (int i = 0; i < n; i++)
    a[i] = (u[i] ^ b[i]) & 77;
  for (int i = 0; i < n; i++)
    x[i] = a[i] + 0.5f * b[i];
  for (int i = 0; i < n; i++)
    y[i] = a[i] * 0.25 - b[i];
  for (int i = 0; i < n; i++)
    z[i] = u[i] == s[i] ? z[i] + 1 : u[i] - a[i];
  for (int i = 0; i < n; i++)
    b[i] = z[i];
#pragma endscop
}
"""
SOURCES = {
    "reduction": (
        """
void f(int n, double x[n], double s[1]) {
#pragma scop
  s[0] = 0.0;
  for (int i = 0; i < n; i++)
    s[0] += x[i] * x[i];
#pragma endscop
}
""",
        "default reassociate=on threads=2",
    ),
    "maximum": (
        """
void f(int n, int m, float x[n][m], float s[n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      s[i] = x[i][j] > s[i] ? x[i][j] : s[i];
#pragma endscop
}
""",
        "default reassociate=on",
    ),
    "last": (LAST, "default"),
    "bytes": (BYTES, "default"),
    "long_bytes": (BYTES, "vector_bits=512"),
    "integers": (
        """
void f(int n, int x[n], int y[n], long z[n]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    y[i] = y[i] * 2000000011 + (x[i] << 3);
    z[i] = z[i] * 4000000000000000037 - y[i] / (x[i] + 1);
  }
#pragma endscop
}
""",
        "default",
    ),
}


@pytest.mark.parametrize("name", SOURCES)
def test_sums_extremes_and_integers_that_wrap(name: str, tmp_path: Path) -> None:
    source, mapping = SOURCES[name]
    scop = parse_text(source)
    sizes = {parameter.name: 67 for parameter in scop.parameters}
    legal = LegalSchedule(scop, original_schedule(scop))
    with every_loop_shared():
        program = lower(legal, parse_mapping(mapping), sizes)
        assert_same(program, sizes, kernel_file(program), tmp_path)


def test_no_read_waits_for_a_condition() -> None:
    """Compilers make conditional moves, and vectors, of what is read in any case."""
    scop = parse_text(LAST)
    text = print_kernel(lower(LegalSchedule(scop, original_schedule(scop))), "last")
    (line,) = [line for line in text.splitlines() if " ? " in line and "=" in line]
    _, condition, selected = re.split("&&|[?]", line)
    assert "[" not in condition + selected, text


def test_bytes_are_widened_and_narrowed_step_by_step() -> None:
    """Lanes that are taken apart cost gcc twenty instructions: each step is by a factor of two."""
    scop = parse_text(BYTES)
    legal = LegalSchedule(scop, original_schedule(scop))
    text = print_kernel(lower(legal, parse_mapping("default")), "bytes")
    assert "ushort_x" in text
    assert re.search(r"convertvector\([^()]*char_x8[^()]*\), (int|float|double)_x8", text) is None


@pytest.mark.parametrize("name", ["durbin", "trisolv", "correlation"])
@pytest.mark.parametrize("mapping", ["reassociate=on", "reassociate=on vector_bits=256"])
def test_sums_in_another_order(name: str, mapping: str, tmp_path: Path) -> None:
    """Vectors of partial sums are folded: a shuffle has one vector for both of its operands."""
    loaded = load_program(name, dataset=Dataset.MINI)
    legal = LegalSchedule(loaded.scop, isl_schedule(loaded.scop))
    sizes = dict(loaded.parameters)
    program = lower(legal, parse_mapping(mapping), sizes)
    assert_same(program, sizes, kernel_file(program), tmp_path)


@pytest.mark.parametrize("bits", [128, 256])
@pytest.mark.parametrize("past", [0, 3])
def test_blocks_are_transposed_in_vectors_of_the_processor(
    bits: int, past: int, tmp_path: Path
) -> None:
    """Wider vectors, gcc takes apart element by element."""
    scop = load_program("gemm", dataset=Dataset.MEDIUM).scop
    sizes = {"ni": 200 + past, "nj": 220 + past, "nk": 240 + past}
    legal = LegalSchedule(scop, original_schedule(scop))
    program = lower(legal, parse_mapping(f"vector_bits={bits}"), sizes)
    text = kernel_file(program)
    lanes = re.findall(r"double_x(\d+)", text)
    assert "__builtin_shufflevector" in text
    assert max(map(int, lanes)) == bits // 64
    assert_same(program, sizes, text, tmp_path)


def test_a_file_has_several_kernels(tmp_path: Path) -> None:
    """The text before them defines what each needs, once."""
    programs = [
        lower(
            LegalSchedule(scop_of(name), original_schedule(scop_of(name))), parse_mapping("default")
        )
        for name in ("product", "jacobi", "convolution")
    ]
    texts = [print_kernel(own, f"kernel_{k}", static=False) for k, own in enumerate(programs)]
    text = kernel_prelude(programs) + "\n".join(texts)
    library = compile_kernel(text, tmp_path)
    for number, program in enumerate(programs):
        sizes = {parameter.name: 9 for parameter in program.scop.parameters}
        arrays = random_arrays(program.scop, sizes, np.random.default_rng(number))
        expected = {key: array.copy() for key, array in arrays.items()}
        assert call_kernel(library, program, sizes, arrays, f"kernel_{number}") == 0
        run_in_order(program.scop, sizes, expected)
        for array in program.scop.arrays:
            if array.live_out:
                np.testing.assert_array_equal(arrays[array.name], expected[array.name])


def test_the_signature_has_the_arrays_of_the_caller_and_the_parameters() -> None:
    scop = scop_of("product")
    program = lower(LegalSchedule(scop, original_schedule(scop)))
    text = " ".join(print_kernel(program, "product").split())
    head, _, rest = text.partition("int product(")
    parameters = rest.partition(")")[0].split(", ")
    pointers = [own for own in parameters if "*restrict" in own]
    assert head.endswith("static POLYGYM_APART ")
    assert pointers == [
        "double *restrict C",
        "const double *restrict beta",
        "const double *restrict A",
        "const double *restrict B",
    ]
    assert parameters[len(pointers) :] == ["long n", "long m", "long k"]
    assert "num_threads" not in text
