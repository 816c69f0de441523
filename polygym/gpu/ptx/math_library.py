"""Functions of ``math.h`` on GPUs: those of libdevice, NVIDIA's library in LLVM's bitcode.

A call of ``expf`` becomes one of ``__nv_expf``, and the functions that are used are linked in.
libdevice is part of CUDA, of the package ``nvidia-cuda-nvcc-cu12`` and of Triton; it is looked for
where these have it, and never fetched. Its functions have errors of an ulp or two, as those of a C
library have; of which bits, the two do not agree. Without it ``exp`` alone can be had: polygym's
own (:mod:`polygym.codegen.common.exponential`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir

from polygym.codegen.llvm.expressions.math_functions import emit_exponential
from polygym.errors import InputError
from polygym.ir.expressions import MathFunction
from polygym.ir.types import ScalarType

_FILE = "libdevice.10.bc"
_FOLDERS = (
    "nvidia/cuda_nvcc/nvvm/libdevice",
    "nvidia/cu13/nvvm/libdevice",
    "triton/backends/nvidia/lib",
)
_EXPONENTIALS = {
    MathFunction.EXP.c_name(scalar): scalar for scalar in (ScalarType.FLOAT, ScalarType.DOUBLE)
}


def libdevice_path() -> Path | None:
    """Return where libdevice is, None where there is none."""
    for folder in _candidates():
        if (folder / _FILE).is_file():
            return folder / _FILE
    return None


def _candidates() -> Iterator[Path]:
    for name in ("CUDA_HOME", "CUDA_PATH"):
        if root := os.environ.get(name):
            yield Path(root, "nvvm", "libdevice")
    for entry in sys.path:
        yield from (Path(entry, folder) for folder in _FOLDERS)
    yield Path("/usr/local/cuda/nvvm/libdevice")


def resolve_math(module: ir.Module, library: Path | None) -> bool:
    """Give every function of C that a module calls a body or a name; whether libdevice is needed.

    Raises:
        InputError: there is no such function for GPUs, or not without libdevice.
    """
    needs_library = False
    known = frozenset() if library is None else _library_functions(library)
    for function in list(module.functions):
        if not function.is_declaration or function.name.startswith("llvm."):
            continue
        name = f"__nv_{function.name}"
        if name in known:
            _forward(module, function, name)
            needs_library = True
        elif library is None and function.name in _EXPONENTIALS:
            scalar = _EXPONENTIALS[function.name]
            builder = _body(function)
            builder.ret(emit_exponential(builder, scalar, function.args[0]))
        else:
            raise _unknown(function.name, library)
    return needs_library


def _unknown(name: str, library: Path | None) -> InputError:
    if library is None:
        return InputError(
            f"{name} on a GPU: expected NVIDIA's libdevice ({_FILE}), found none: "
            "pip install nvidia-cuda-nvcc-cu12, or set CUDA_HOME"
        )
    return InputError(f"{name}: expected a function that GPUs have, found none in {library}")


def _body(function: ir.Function) -> ir.IRBuilder:
    function.linkage = "internal"
    return ir.IRBuilder(function.append_basic_block("entry"))


def _forward(module: ir.Module, function: ir.Function, name: str) -> None:
    """Let a function call another one of the same type."""
    other = ir.Function(module, function.function_type, name)
    builder = _body(function)
    builder.ret(builder.call(other, function.args))


@lru_cache(maxsize=2)
def _library_functions(path: Path) -> frozenset[str]:
    module = llvm.parse_bitcode(path.read_bytes())
    return frozenset(own.name for own in module.functions if not own.is_declaration)


def link_library(module: Any, path: Path) -> None:
    """Put libdevice into a module, where what nobody calls will be deleted."""
    library = llvm.parse_bitcode(path.read_bytes())
    library.triple, library.data_layout = module.triple, module.data_layout
    module.link_in(library)
    for function in module.functions:
        if function.name in _library_functions(path):
            function.linkage = llvm.Linkage.internal
