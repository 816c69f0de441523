"""The functions that the C library has not, as C: one statement for every operation."""

from __future__ import annotations

from typing import assert_never

from polygym.codegen.common.special_functions.definitions import operations_of
from polygym.codegen.common.special_functions.operations import (
    BinaryOperation,
    CallOperation,
    ConstantOperation,
    SelectOperation,
    SpecialOperation,
)
from polygym.ir.expressions import MathFunction
from polygym.ir.types import ScalarType


def special_function_c_code(function: MathFunction, *, single: bool) -> str:
    """Return the C function of doubles, and behind it that of floats if one is wanted.

    >>> print(special_in_c(MathFunction.EXP10, single=True))
    static inline double polygym_exp10(double x)
    {
      double t0 = 10.0;
      double t1 = pow(t0, x);
      return t1;
    }
    static inline float polygym_exp10f(float x) { return (float)polygym_exp10(x); }
    """
    name = function.c_name(ScalarType.DOUBLE)
    steps, result = operations_of(function)
    lines = [f"static inline double {name}(double x)", "{"]
    lines += [f"  double t{number} = {_operation_text(step)};" for number, step in enumerate(steps)]
    lines += [f"  return {_variable_name(result)};", "}"]
    if single:
        lines.append(f"static inline float {name}f(float x) {{ return (float){name}(x); }}")
    return "\n".join(lines)


def _variable_name(number: int) -> str:
    return "x" if number < 0 else f"t{number}"


def _operation_text(step: SpecialOperation) -> str:
    match step:
        case ConstantOperation(value):
            return "HUGE_VAL" if value == float("inf") else repr(value)
        case BinaryOperation(operator, first, second):
            return f"{_variable_name(first)} {operator} {_variable_name(second)}"
        case SelectOperation(first, second, then, otherwise):
            names = (_variable_name(value) for value in (first, second, then, otherwise))
            return "{} < {} ? {} : {}".format(*names)
        case CallOperation(function, arguments):
            called = function.c_name(ScalarType.DOUBLE)
            return f"{called}({', '.join(_variable_name(argument) for argument in arguments)})"
        case _:
            assert_never(step)
