"""Kernels printed as C, compiled and run on numpy arrays."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from polygym.codegen.c import kernel_prelude, print_kernel
from polygym.codegen.llvm.emit_module import caller_arrays
from polygym.codegen.loopir.ir import LoopProgram

WARNINGS = ("-Wall", "-Wextra", "-Werror")
FAST = ("-O3", "-march=native", "-fopenmp")
SANITIZED = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fopenmp")


def kernel_file(program: LoopProgram, name: str = "kernel") -> str:
    """Return a C file with one kernel that others can call."""
    return kernel_prelude([program]) + "\n" + print_kernel(program, name, static=False)


def compile_kernel(
    text: str, folder: Path, compiler: str = "gcc", flags: Sequence[str] = FAST
) -> ctypes.CDLL:
    """Return a C file as a library; the compiler must have nothing to say about it."""
    folder.mkdir(parents=True, exist_ok=True)
    source, library = folder / "kernel.c", folder / "kernel.so"
    source.write_text(text)
    command = [compiler, *WARNINGS, *flags, "-shared", "-fPIC", str(source), "-o", str(library)]
    done = subprocess.run([*command, "-lm"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:4000] + "\n" + text[:20000]
    return ctypes.CDLL(str(library))


def call_kernel(
    library: ctypes.CDLL,
    program: LoopProgram,
    parameters: Mapping[str, int],
    arrays: Mapping[str, np.ndarray],
    name: str = "kernel",
) -> int:
    """Run a kernel on the arrays in place, and return what it returns."""
    arguments: list[object] = [
        ctypes.c_void_p(arrays[array.name].ctypes.data) for array in caller_arrays(program.scop)
    ]
    arguments += [ctypes.c_long(parameters[own.name]) for own in program.scop.parameters]
    function = getattr(library, name)
    function.restype = ctypes.c_int
    return int(function(*arguments))
