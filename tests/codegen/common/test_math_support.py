"""What loops take to have a vector form, code can be made of in lanes."""

import llvmlite.binding as llvm
import pytest
from llvmlite import ir

from polygym.codegen.common.math_support import has_vector_form
from polygym.codegen.common.special_functions.definitions import SPECIAL_FUNCTIONS
from polygym.codegen.llvm.core.types import I32, LaneType
from polygym.codegen.llvm.expressions.math_functions import emit_math_call
from polygym.ir.expressions import MathFunction
from polygym.ir.types import ScalarType


@pytest.mark.parametrize(
    "function",
    [math_function for math_function in MathFunction if math_function not in SPECIAL_FUNCTIONS],
)
def test_lanes_need_no_function_of_the_library(function: MathFunction) -> None:
    is_whole = function is MathFunction.ABS
    kind = LaneType(I32 if is_whole else ir.DoubleType(), 4)
    module = ir.Module()
    holder = ir.Function(module, ir.FunctionType(kind, [kind] * function.arity), "f")
    builder = ir.IRBuilder(holder.append_basic_block())
    scalar = ScalarType.INT if is_whole else ScalarType.DOUBLE
    builder.ret(emit_math_call(module, builder, function, scalar, list(holder.args)))
    called = [name for name in module.globals if name != "f" and not name.startswith("llvm.")]
    assert (called == []) == (has_vector_form(function))
    if not called:
        llvm.parse_assembly(str(module)).verify()


def test_what_the_library_has_not_is_computed_one_by_one() -> None:
    assert not any(has_vector_form(function) for function in SPECIAL_FUNCTIONS)
