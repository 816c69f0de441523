"""A plain C compiler as the judge of the kernels: build, run, and read back the live-out arrays.

For every kernel a main program is written from the signatures in its file. It takes the sizes as
arguments, fills all arrays with bytes of ones (not-a-number in floating point, -1 in integers, so
that an element which is read before it is written shows in the result), calls the init function
and the kernel, and writes the arrays that are asked for to standard output as raw bytes.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from polybench import Dataset, DataType, PolybenchKernel

COMPILER = next((path for name in ("gcc", "clang", "cc") if (path := shutil.which(name))), None)

_ARGUMENT = re.compile(r"(?P<type>\w+) (?P<pointer>\*?)(?P<name>\w+)(?P<extents>(\[\w+\])*)")

_NUMPY_TYPE: dict[DataType, type[np.generic]] = {
    DataType.DOUBLE: np.float64,
    DataType.FLOAT: np.float32,
    DataType.INT: np.int32,
}


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a C function; no extents for a scalar or a pointer to one."""

    type: str
    name: str
    is_pointer: bool
    extents: tuple[str, ...]


def signature(text: str, function: str) -> tuple[Argument, ...]:
    """Return the arguments of a function that a C text defines."""
    match = re.search(rf"\bvoid {function}\(([^)]*)\)", text)
    assert match is not None, f"expected a definition of {function}"
    arguments = []
    for written in match.group(1).split(","):
        parts = _ARGUMENT.fullmatch(" ".join(written.split()))
        assert parts is not None, f"{function}: unexpected form of an argument: {written}"
        extents = tuple(re.findall(r"\[(\w+)\]", parts["extents"]))
        arguments.append(Argument(parts["type"], parts["name"], bool(parts["pointer"]), extents))
    return tuple(arguments)


def driver(kernel: PolybenchKernel) -> str:
    """Return the text of the main program."""
    text = kernel.path.read_text()
    before, inside = (signature(text, name) for name in (kernel.init_function, kernel.function))
    arguments = {argument.name: argument for argument in (*inside, *before)}
    lines = ["#include <stdio.h>", "#include <stdlib.h>", "#include <string.h>"]
    lines += [f'#include "{kernel.path}"', "int main(int count, char **words)", "{"]
    lines.append(f"  if (count != {1 + len(kernel.parameter_names)}) return 2;")
    for position, name in enumerate(kernel.parameter_names, start=1):
        lines.append(f"  int {name} = atoi(words[{position}]);")
    for argument in arguments.values():
        lines += _declaration(argument, kernel)
    lines.append(f"  {kernel.init_function}({_actuals(before)});")
    lines.append(f"  {kernel.function}({_actuals(inside)});")
    for live_out in kernel.live_out:
        size = _bytes(arguments[live_out.array])
        lines.append(f"  if (fwrite({live_out.array}, {size}, 1, stdout) != 1) return 3;")
    return "\n".join([*lines, "  return 0;", "}", ""])


def build(kernel: PolybenchKernel, folder: Path) -> Path:
    """Compile a kernel with its main program, unless that was done, and return the executable."""
    executable = folder / kernel.name
    return executable if executable.exists() else compile_text(driver(kernel), executable)


def compile_text(text: str, executable: Path) -> Path:
    """Compile a C text as it stands: no contraction of a * b + c, no reassociation."""
    assert COMPILER is not None
    source = executable.with_name(f"{executable.name}-main.c")
    source.write_text(text)
    options = ["-std=gnu99", "-O1", "-ffp-contract=off", "-Wno-unknown-pragmas"]
    subprocess.run([COMPILER, *options, source, "-o", executable, "-lm"], check=True)
    return executable


def run(kernel: PolybenchKernel, executable: Path, dataset: Dataset) -> dict[str, npt.NDArray[Any]]:
    """Run a built kernel and return its live-out arrays by name."""
    parameters = kernel.parameters(dataset)
    words = [str(value) for value in parameters.values()]
    output = subprocess.run([executable, *words], check=True, stdout=subprocess.PIPE).stdout
    values = np.frombuffer(output, dtype=_NUMPY_TYPE[kernel.dtype])
    shapes = {
        argument.name: tuple(parameters[extent] for extent in argument.extents)
        for argument in signature(kernel.path.read_text(), kernel.function)
    }
    arrays = {}
    for live_out in kernel.live_out:
        shape = shapes[live_out.array]
        count = int(np.prod(shape))
        arrays[live_out.array], values = values[:count].reshape(shape), values[count:]
    assert values.size == 0, "the program wrote more than its live-out arrays"
    return arrays


def _declaration(argument: Argument, kernel: PolybenchKernel) -> list[str]:
    """Declare a scalar, or allocate an array and fill it with bytes of ones."""
    if argument.name in kernel.parameter_names:
        return []
    if not argument.extents:
        return [f"  {argument.type} {argument.name};"]
    name, inner = argument.name, "".join(f"[{extent}]" for extent in argument.extents[1:])
    pointer = f"(*{name}){inner}" if inner else f"*{name}"
    return [
        f"  {argument.type} {pointer} = malloc({_bytes(argument)});",
        f"  memset({name}, 0xff, {_bytes(argument)});",
    ]


def _bytes(argument: Argument) -> str:
    return " * ".join([f"sizeof({argument.type})", *argument.extents])


def _actuals(arguments: tuple[Argument, ...]) -> str:
    return ", ".join(f"{'&' * argument.is_pointer}{argument.name}" for argument in arguments)
