"""The oracle: what the front end understood against what a C compiler's program does.

Every program runs as C, printing each statement it executes and, at the end, every array in
hexadecimal. The Scop's instances in schedule order must be the same trace, and the interpreter,
given the same initial arrays, must leave the same bits.
"""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from polygym.frontend.c import parse_text
from polygym.ir.scop import Array, Scop
from polygym.ir.types import ScalarType
from tests.frontend.c.gcc_results import Result, gcc_result
from tests.frontend.c.programs import MACROS, PROGRAMS
from tests.oracles.interpreter import allocate, interpret, trace

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")

CASES = [(name, number) for name, p in PROGRAMS.items() for number in range(len(p.values))]


@cache
def scop_of(name: str) -> Scop:
    return parse_text(MACROS + "#include <math.h>\n" + PROGRAMS[name].text(), file=f"{name}.c")


def filled(scop: Scop, values: dict[str, int]) -> dict[str, np.ndarray]:
    """Return arrays with small values of both signs, the same as the C program's."""
    arrays = {}
    for array in scop.arrays:
        if array.name not in scop.signature:
            continue
        data = allocate(scop, array, values)
        numbers = (np.arange(data.size) * 7 + 3) % 11 - 5
        scale = 0.25 if array.type.is_floating else 1
        arrays[array.name] = (numbers * scale).astype(data.dtype).reshape(data.shape)
    return arrays


def c_call(scop: Scop, function: str, values: dict[str, int]) -> str:
    """Return C code that fills the arrays, calls a function and prints the arrays."""
    lines, arguments, prints = [], [], []
    by_name = {array.name: array for array in scop.arrays}
    for name in scop.signature:
        if name in values:
            arguments.append(str(values[name]))
            continue
        array = by_name[name]
        size = allocate(scop, array, values).size
        scale = "* 0.25" if array.type.is_floating else ""
        lines.append(f"static {array.type.value} {name}[{size}];")
        lines.append(
            f"for (long k = 0; k < {size}; k++) {name}[k] = ((k * 7 + 3) % 11 - 5) {scale};"
        )
        arguments.append(f"(void *){name}" if array.rank else f"{name}[0]")
        if array.live_out:
            prints.append(c_print(array, size))
    call = f"{function}({', '.join(arguments)});"
    return "{\n" + "\n".join([*lines, f'printf("== {function}\\n");', call, *prints]) + "\n}\n"


def c_print(array: Array, size: int) -> str:
    """Return C code that prints an array exactly."""
    form = {ScalarType.INT: "%d", ScalarType.LONG: "%ld"}.get(array.type, "%a")
    body = f'printf("= {array.name} {form}\\n", {array.name}[k])'
    return f"for (long k = 0; k < {size}; k++) {body};"


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], list[str]]:
    """Compile and run all programs at once; return the lines that each one printed."""
    folder: Path = tmp_path_factory.mktemp("programs")
    functions, calls = [], []
    for name, number in CASES:
        program = PROGRAMS[name]
        function = f"f_{name}_{number}"
        outside = program.outside if number == 0 else ""
        functions.append(outside + program.traced(function).removeprefix(program.outside))
        calls.append(c_call(scop_of(name), function, program.values[number]))
    text = "#include <stdio.h>\n#include <stdlib.h>\n#include <math.h>\n" + MACROS
    text += "\n".join(functions) + "\nint main(void) {\n" + "".join(calls) + "return 0;\n}\n"
    options = ["-std=gnu11", "-O1", "-fwrapv", "-ffp-contract=off", "-fno-builtin", "-w"]

    def compute() -> Result:
        (folder / "all.c").write_text(text)
        command = ["gcc", *options, "-o", folder / "all", folder / "all.c", "-lm"]
        subprocess.run(command, check=True, timeout=60)
        run = subprocess.run([folder / "all"], check=True, capture_output=True, timeout=60)
        return {"output": run.stdout}

    output = gcc_result((" ".join(options), text), compute)["output"].decode()
    parts = output.split("== ")[1:]
    return {case: part.splitlines()[1:] for case, part in zip(CASES, parts, strict=True)}


@pytest.mark.parametrize(("name", "number"), CASES)
def test_statements_run_in_the_order_of_the_c_program(
    name: str, number: int, outputs: dict[tuple[str, int], list[str]]
) -> None:
    expected = [line for line in outputs[name, number] if not line.startswith("=")]
    lines = [
        " ".join([statement, *map(str, instance)])
        for statement, instance in trace(scop_of(name), PROGRAMS[name].values[number])
    ]
    assert lines == expected


@pytest.mark.parametrize(("name", "number"), CASES)
def test_the_interpreter_leaves_the_values_of_the_c_program(
    name: str, number: int, outputs: dict[tuple[str, int], list[str]]
) -> None:
    scop, values = scop_of(name), PROGRAMS[name].values[number]
    arrays = filled(scop, values)
    interpret(scop, values, arrays)
    expected: dict[str, list[float]] = {}
    for line in outputs[name, number]:
        if line.startswith("="):
            _, array, text = line.split()
            value = float.fromhex(text) if scop.array(array).type.is_floating else int(text)
            expected.setdefault(array, []).append(value)
    live = {array.name for array in scop.arrays if array.live_out}
    assert set(expected) == live
    for array in live:
        np.testing.assert_array_equal(arrays[array].ravel(), np.array(expected[array]))


def test_any_order_can_be_interpreted() -> None:
    scop = parse_text(
        "void f(int n, double x[n]) {\n#pragma scop\nfor (int i = 1; i < n; i++)\n"
        "  x[i] += x[i - 1];\n#pragma endscop\n}"
    )
    forward, backward = np.ones(5), np.ones(5)
    interpret(scop, {"n": 5}, {"x": forward})
    interpret(scop, {"n": 5}, {"x": backward}, "{ S0[i] -> [-i] }")
    assert forward.tolist() == [1, 2, 3, 4, 5]
    assert backward.tolist() == [1, 2, 2, 2, 2]
