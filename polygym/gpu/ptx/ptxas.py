"""NVIDIA's assembler ``ptxas``: PTX → machine code (a *cubin*), with the resources of each kernel.

It needs no GPU. It is part of CUDA, of the package ``nvidia-cuda-nvcc-cu12`` and of Triton, and is
looked for there and on the PATH. Nothing at run time needs it: the driver has an assembler, too.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from polygym.errors import InputError, InternalError
from polygym.gpu.ptx.compile_ptx import DeviceCode
from polygym.pickling import pickle_by_name

_PLACES = (
    "nvidia/cuda_nvcc/bin/ptxas",
    "nvidia/cu13/bin/ptxas",
    "triton/backends/nvidia/bin/ptxas",
)
_SECONDS = 120.0
_ENTRY = re.compile(r"Compiling entry function '(\w+)' for '\w+'")
_SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_REGISTERS = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")


@pickle_by_name
@dataclass(frozen=True, slots=True)
class KernelResources:
    """The resources of a thread or a block of a kernel, in registers and in bytes."""

    registers: int
    stack: int
    spill_stores: int
    spill_loads: int
    static_shared: int


@pickle_by_name
@dataclass(frozen=True, slots=True)
class AssembledCode:
    """Machine code, and the resources of its kernels by name."""

    cubin: bytes
    resources: tuple[tuple[str, KernelResources], ...]


def find_ptxas() -> Path | None:
    """Return where the assembler is; None where there is none."""
    for name in ("CUDA_HOME", "CUDA_PATH"):
        path = Path(os.environ.get(name, "/none"), "bin", "ptxas")
        if os.access(path, os.X_OK):
            return path
    for entry in sys.path:
        for place in _PLACES:
            if os.access(path := Path(entry, place), os.X_OK):
                return path
    known = shutil.which("ptxas")
    return None if known is None else Path(known)


def assemble(code: DeviceCode, architecture: str | None = None) -> AssembledCode:
    """Return the machine code of kernels for their architecture, or for a later one.

    Raises:
        InputError: there is no assembler here.
        InternalError: it refuses the code.
    """
    path = find_ptxas()
    if path is None:
        raise InputError(
            "machine code for a GPU: expected NVIDIA's assembler ptxas, found none: "
            "pip install nvidia-cuda-nvcc-cu12, or set CUDA_HOME"
        )
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "code.ptx"), Path(folder, "code.cubin")
        source.write_text(code.ptx, encoding="ascii")
        command = [path, "-v", f"-arch={architecture or code.architecture}", source, "-o", target]
        done = subprocess.run(
            list(map(str, command)), capture_output=True, text=True, timeout=_SECONDS, check=False
        )
        if done.returncode:
            raise InternalError(f"ptxas refuses the generated code: {done.stderr.strip()}")
        return AssembledCode(target.read_bytes(), parse_resources(done.stderr))


def parse_resources(report: str) -> tuple[tuple[str, KernelResources], ...]:
    """Return the resources of kernels from what ``ptxas -v`` says.

    >>> parse_resources('''ptxas info : Compiling entry function 'f' for 'sm_90'
    ... ptxas info : Function properties for f
    ...     8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads
    ... ptxas info : Used 32 registers, 1024 bytes smem''')[0][1]
    KernelResources(registers=32, stack=8, spill_stores=4, spill_loads=12, static_shared=1024)
    """
    # Before each entry stands its name; what follows is about it, its own properties first.
    pieces = _ENTRY.split(report)[1:]
    return tuple(
        (name, _resources_of(text)) for name, text in zip(pieces[::2], pieces[1::2], strict=True)
    )


def _resources_of(text: str) -> KernelResources:
    spills, registers, shared = (pattern.search(text) for pattern in (_SPILLS, _REGISTERS, _SHARED))
    stack, stores, loads = map(int, spills.groups()) if spills else (0, 0, 0)
    return KernelResources(
        int(registers[1]) if registers else 0,
        stack,
        stores,
        loads,
        int(shared[1]) if shared else 0,
    )
