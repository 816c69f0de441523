"""The functions that the C library has not, as C: one statement for every operation."""

from __future__ import annotations

from typing import assert_never

from polygym.compiler.codegen.common.special.definitions import steps_of
from polygym.compiler.codegen.common.special.steps import (
    Arithmetic,
    Constant,
    Library,
    Selection,
    Step,
)
from polygym.compiler.ir.expr import MathFunction
from polygym.compiler.ir.types import ScalarType


def special_in_c(function: MathFunction, *, single: bool) -> str:
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
    steps, result = steps_of(function)
    lines = [f"static inline double {name}(double x)", "{"]
    lines += [f"  double t{number} = {_text(step)};" for number, step in enumerate(steps)]
    lines += [f"  return {_name(result)};", "}"]
    if single:
        lines.append(f"static inline float {name}f(float x) {{ return (float){name}(x); }}")
    return "\n".join(lines)


def _name(number: int) -> str:
    return "x" if number < 0 else f"t{number}"


def _text(step: Step) -> str:
    match step:
        case Constant(value):
            return "HUGE_VAL" if value == float("inf") else repr(value)
        case Arithmetic(operator, first, second):
            return f"{_name(first)} {operator} {_name(second)}"
        case Selection(first, second, then, otherwise):
            return f"{_name(first)} < {_name(second)} ? {_name(then)} : {_name(otherwise)}"
        case Library(function, arguments):
            called = function.c_name(ScalarType.DOUBLE)
            return f"{called}({', '.join(_name(one) for one in arguments)})"
        case _:
            assert_never(step)
