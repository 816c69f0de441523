"""Text above the C function: headers, prototypes, and definitions that it needs.

The functions that the C library has not, as C: one statement for every operation.
"""

from collections.abc import Iterator
from typing import assert_never

from polygym.codegen.c.index_text import macro_definitions
from polygym.codegen.common.exponential import EXPONENTIALS, exponential_c_code
from polygym.codegen.common.math_support import MIN_MAX_OPERATORS, NAN_PROPAGATING
from polygym.codegen.common.special_functions import operations
from polygym.codegen.common.special_functions.definitions import SPECIAL_FUNCTIONS, operations_of
from polygym.ir.expressions import Call, MathFunction, walk
from polygym.ir.foreign_functions import ForeignFunction
from polygym.ir.gathers import computed_subscripts
from polygym.ir.scop import Scop
from polygym.ir.types import ScalarType

_SUBSCRIPT_CHECK = """static long polygym_in(long subscript, long size, const char *access)
{
  if (subscript < 0 || subscript >= size) {
    fprintf(stderr, "%s: expected a subscript from 0 to %ld, found %ld\\n", access, size - 1,
            subscript);
    exit(1);
  }
  return subscript;
}"""

_BFLOAT_CONVERSIONS = """typedef uint16_t polygym_bfloat16;
static inline float polygym_from_bfloat16(polygym_bfloat16 x)
{
  union { uint32_t bits; float value; } found = { (uint32_t)x << 16 };
  return found.value;
}
static inline polygym_bfloat16 polygym_to_bfloat16(double x)
{
  union { float value; uint32_t bits; } found = { (float)x };
  double back = found.value;
  if (x != x)
    return (polygym_bfloat16)(found.bits >> 16 | 0x40);
  /* What is lost shows in the last bit, so that it is rounded once. */
  found.bits -= __builtin_fabs(back) > __builtin_fabs(x);
  found.bits |= back != x;
  return (polygym_bfloat16)((found.bits + 0x7fff + (found.bits >> 16 & 1)) >> 16);
}"""


def prelude_lines(scop: Scop, text: str) -> Iterator[str]:
    """Yield what a function of a program needs whose body has this text."""
    yield from _headers(scop)
    yield from library_prototypes(scop)
    if ScalarType.BFLOAT in _scalar_types(scop):
        yield _BFLOAT_CONVERSIONS
    if not scop.contraction:
        yield "#pragma STDC FP_CONTRACT OFF"
    yield from macro_definitions(text)
    yield from math_definitions(scop, text)
    if computed_subscripts(scop):
        yield _SUBSCRIPT_CHECK


def math_definitions(scop: Scop, text: str) -> Iterator[str]:
    """Yield the definitions of functions that are not the C library's and that a text calls."""
    for scalar in EXPONENTIALS:
        name = MathFunction.EXPONENTIAL.c_name(scalar)
        if f"{name}(" in text:
            yield exponential_c_code(scalar, name)
    for function in NAN_PROPAGATING:
        for scalar in (ScalarType.FLOAT, ScalarType.DOUBLE):
            name, kind = function.c_name(scalar), scalar.value
            if f"{name}(" in text:
                test = f"x {MIN_MAX_OPERATORS[function]} y || x != x ? x : y"
                yield f"static inline {kind} {name}({kind} x, {kind} y) {{ return {test}; }}"
    for function in sorted(SPECIAL_FUNCTIONS, key=lambda math_function: math_function.value):
        single = function.c_name(ScalarType.FLOAT) + "(" in text
        if single or function.c_name(ScalarType.DOUBLE) + "(" in text:
            yield special_function_c_code(function, single=single)


def _scalar_types(scop: Scop) -> frozenset[ScalarType]:
    """Return the types of arrays and of what is computed."""
    computed = {node.type for s in scop.statements for node in walk(s.body)}
    return frozenset(computed | {array.type for array in scop.arrays})


def _headers(scop: Scop) -> Iterator[str]:
    """Yield the lines that include what the function uses."""
    types = _scalar_types(scop)
    if ScalarType.BFLOAT in types or any(scalar_type.is_fixed_width for scalar_type in types):
        yield "#include <stdint.h>"
    calls = _library_calls(scop)
    checks = bool(computed_subscripts(scop))
    if calls:
        yield "#include <math.h>"
    if any(call.function.value in ("toupper", "tolower") for call in calls):
        yield "#include <ctype.h>"
    if checks:
        yield "#include <stdio.h>"
    if checks or any(call.function is MathFunction.ABS for call in calls):
        yield "#include <stdlib.h>"


def library_prototypes(scop: Scop) -> list[str]:
    """Return the declarations of the functions of a user's library."""
    result = {}
    for call in _library_calls(scop):
        if isinstance(call.function, ForeignFunction) and call.function.library:
            name = call.function.name
            takes = ", ".join(kind.value for kind in call.function.parameter_types) or "void"
            result[name] = f"{call.type.value} {name}({takes}) __attribute__((const));"
    return list(result.values())


def _library_calls(scop: Scop) -> list[Call]:
    return [node for s in scop.statements for node in walk(s.body) if isinstance(node, Call)]


def special_function_c_code(function: MathFunction, *, single: bool) -> str:
    """Return the C function of doubles, and behind it that of floats if one is wanted.

    >>> print(special_function_c_code(MathFunction.EXP10, single=True))
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


def _operation_text(step: operations.SpecialOperation) -> str:
    match step:
        case operations.ConstantOperation(value):
            return "HUGE_VAL" if value == float("inf") else repr(value)
        case operations.BinaryOperation(operator, first, second):
            return f"{_variable_name(first)} {operator} {_variable_name(second)}"
        case operations.SelectOperation(first, second, then, otherwise):
            names = (_variable_name(value) for value in (first, second, then, otherwise))
            return "{} < {} ? {} : {}".format(*names)
        case operations.CallOperation(function, arguments):
            called = function.c_name(ScalarType.DOUBLE)
            return f"{called}({', '.join(_variable_name(argument) for argument in arguments)})"
        case _:
            assert_never(step)
