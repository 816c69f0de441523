"""Calls of functions that others have compiled: declared as pure, and named for the loader.

Like those of ``math.h`` they are taken to touch no memory that anybody else sees, and to return.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from polygym.codegen.llvm.core.binary_interface import foreign_symbol, library_text
from polygym.codegen.llvm.core.declarations import declare_function
from polygym.codegen.llvm.core.types import I8, LLVM_TYPE
from polygym.ir.foreign_functions import ForeignFunction
from polygym.ir.types import ScalarType


def emit_foreign(
    module: ir.Module,
    builder: ir.IRBuilder,
    function: ForeignFunction,
    type_: ScalarType,
    arguments: list[Any],
) -> Any:
    """Return the value of a call."""
    name = function.name
    if function.library:
        name = foreign_symbol(function.digest, name)
        _reference_library(module, function)
    kind = ir.FunctionType(
        LLVM_TYPE[type_], [LLVM_TYPE[scalar_type] for scalar_type in function.parameter_types]
    )
    return builder.call(declare_function(module, name, kind, "nounwind", "readnone"), arguments)


def _reference_library(module: ir.Module, function: ForeignFunction) -> None:
    """Put the library of a function into the code, once."""
    name = f"polygym_library_{function.digest[:16]}"
    if name in module.globals:
        return
    text = library_text(function.digest, function.library)
    kind = ir.ArrayType(I8, len(text))
    place = ir.GlobalVariable(module, kind, name)
    place.global_constant = True
    place.initializer = ir.Constant(kind, bytearray(text))
