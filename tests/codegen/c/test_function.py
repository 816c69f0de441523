"""The printed C against the machine code: both from one loop IR, the same bits from both."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from polygym.codegen.c import print_c
from polygym.codegen.pipeline import lower
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import original_schedule
from tests.c_programs import SMALL_PROGRAMS, kernel_scop, small_parameters
from tests.codegen.test_machine_code import KERNELS, SCOPS, observable, schedules
from tests.oracles.compiled_runs import random_arrays, run_loops

COMPILER = shutil.which("clang-19") or shutil.which("clang") or shutil.which("gcc")
# gcc does not know the pragma that forbids contraction, and has a flag in its place; and it warns
# of scalars that only its eyes see read before they are written.
GCC = (
    ("-Wno-unknown-pragmas", "-ffp-contract=off", "-Wno-maybe-uninitialized")
    if "clang" not in str(COMPILER)
    else ()
)
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="needs a C compiler")

C_TYPE = {
    "int": ctypes.c_int,
    "long": ctypes.c_long,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
}


def compile_c(text: str, folder: Path, name: str) -> ctypes.CDLL:
    assert COMPILER is not None
    source, library = folder / f"{name}.c", folder / f"{name}.so"
    source.write_text(text)
    command = [
        COMPILER,
        "-O0",  # quicker, and nothing is left out
        "-fwrapv",
        "-Wall",
        "-Werror",
        "-Wno-unused",
        *GCC,
        "-shared",
        "-fPIC",
    ]
    result = subprocess.run(
        [*command, str(source), "-o", str(library), "-lm"], capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr + text
    return ctypes.CDLL(str(library))


def call_c(
    library: ctypes.CDLL, scop: Scop, parameters: dict[str, int], arrays: dict[str, np.ndarray]
) -> None:
    types = {p.name: C_TYPE[p.type.value] for p in scop.parameters}
    by_value = {a.name: a for a in scop.arrays if a.storage_class.value == "value"}
    arguments: list[object] = []
    for name in scop.signature:
        if name in types:
            arguments.append(types[name](parameters[name]))
        elif name in by_value:
            arguments.append(C_TYPE[by_value[name].type.value](arrays[name].item()))
        else:
            arguments.append(ctypes.c_void_p(arrays[name].ctypes.data))
    getattr(library, scop.name)(*arguments)


def assert_c_equals_machine_code(
    scop: Scop, parameters: dict[str, int], folder: Path, count: int
) -> None:
    start = random_arrays(scop, parameters, np.random.default_rng(7))
    for position, schedule in enumerate(schedules(scop, count)):
        expected = {key: value.copy() for key, value in start.items()}
        program = lower(LegalSchedule(scop, schedule))
        run_loops(program, parameters, expected)
        text = print_c(program, str(schedule))
        library = compile_c(text, folder, f"{scop.name}{position}")
        arrays = {key: value.copy() for key, value in start.items()}
        call_c(library, scop, parameters, arrays)
        for array in observable(scop):
            # Without FMA instructions in this build of the C the last bits may differ.
            np.testing.assert_allclose(
                arrays[array], expected[array], rtol=1e-6, atol=1e-12, err_msg=text
            )


@needs_compiler
@pytest.mark.parametrize("name", SMALL_PROGRAMS)
def test_small_programs(name: str, tmp_path: Path) -> None:
    scop = SCOPS[name]
    assert_c_equals_machine_code(scop, {p.name: 6 for p in scop.parameters}, tmp_path, 4)


@pytest.mark.rotates
@needs_compiler
@pytest.mark.parametrize("name", KERNELS)
def test_kernels(name: str, tmp_path: Path) -> None:
    scop = kernel_scop(name)
    parameters = {key: value + 4 for key, value in small_parameters(scop).items()}
    assert_c_equals_machine_code(scop, parameters, tmp_path, 1)


def test_arguments_that_the_region_does_not_use_stay_in_the_signature() -> None:
    scop = parse_text(
        "void f(double *unused, int n, const int flags, double A[n], float B[n][3]) {\n"
        "#pragma scop\nfor (int i = 0; i < n; i++) A[i] = 1;\n#pragma endscop\n}\n"
    )
    text = print_c(lower(LegalSchedule(scop, original_schedule(scop))))
    assert "void f(double *unused, int n, const int flags, double A[n], float B[n][3])" in text
