"""Room for tiles and private arrays: each function that uses some has them on its own stack."""

from __future__ import annotations

from math import prod
from typing import Any

from llvmlite import ir

from polygym.compiler.codegen.common.packable import LINE
from polygym.compiler.codegen.llvm.kinds import LLVM_TYPE, POINTER
from polygym.compiler.codegen.loops.ir import LoopProgram, Number
from polygym.compiler.ir.scop import Storage

ON_STACK = frozenset({Storage.TILE, Storage.PRIVATE})
"""The arrays that every function has for itself."""


def tiles(builder: ir.IRBuilder, program: LoopProgram) -> dict[str, Any]:
    """Return room on a function's stack for what is its own; unused room is no cost."""
    found = {}
    for array, extents in zip(program.scop.arrays, program.extents, strict=True):
        if array.storage in ON_STACK:
            sizes = [extent.value for extent in extents if isinstance(extent, Number)]
            place = builder.alloca(LLVM_TYPE[array.type], prod(sizes), name=array.name)
            place.align = LINE
            place.type = POINTER
            found[array.name] = place
    return found
