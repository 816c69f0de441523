"""Room for tiles and private arrays: each function that uses some has them on its own stack."""

from __future__ import annotations

from math import prod
from typing import Any

from llvmlite import ir

from polygym.codegen.common.packing_candidates import CACHE_LINE
from polygym.codegen.llvm.core.types import LLVM_TYPE, POINTER
from polygym.codegen.loopir.ir import IndexConstant, LoopProgram
from polygym.ir.scop import StorageClass

STACK_STORAGE = frozenset({StorageClass.TILE, StorageClass.PRIVATE})
"""The arrays that every function has for itself."""


def allocate_stack_arrays(builder: ir.IRBuilder, program: LoopProgram) -> dict[str, Any]:
    """Return room on a function's stack for what is its own; unused room is no cost."""
    result = {}
    for array, extents in zip(program.scop.arrays, program.extents, strict=True):
        if array.storage_class in STACK_STORAGE:
            sizes = [extent.value for extent in extents if isinstance(extent, IndexConstant)]
            place = builder.alloca(LLVM_TYPE[array.type], prod(sizes), name=array.name)
            place.align = CACHE_LINE
            place.type = POINTER
            result[array.name] = place
    return result
