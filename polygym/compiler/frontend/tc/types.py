"""The types of expressions, which combine as in C.

What is computed with integers of less than 32 bits, or with bool, is computed in int; of two
others, the wider type counts, and of two that are as wide the unsigned one. Integers widen to
floating types, float to double. With float16 and bfloat16 is computed in float. What is not
computed with keeps its type: elements, and what ``?:``, ``min`` and ``max`` choose between two of
one type.

A literal without a suffix has no type of its own: ``0.5`` is float beside a float and double beside
a double, ``2`` is what stands beside it. Comparisons, ``&&``, ``||`` and ``!`` give a truth value:
an int, but one that may be assigned to a bool.
"""

from __future__ import annotations

from enum import Enum
from typing import TypeAlias, assert_never

from polygym.compiler.frontend.tc.environment import Environment
from polygym.compiler.frontend.tc.functions import Callee, function_named, similar
from polygym.compiler.frontend.tc.printer import text_of
from polygym.compiler.frontend.tc.syntax import (
    Choice,
    Convert,
    Element,
    Expression,
    Infix,
    Name,
    Number,
    Operator,
    Prefix,
    Prefixed,
    Scalar,
)
from polygym.compiler.ir.expr import MathFunction
from polygym.compiler.ir.types import ScalarType, common_type
from polygym.errors import Place, SourceError

SCALARS = {
    Scalar.BOOL: ScalarType.BOOL,
    Scalar.INT8: ScalarType.BYTE,
    Scalar.INT16: ScalarType.SHORT,
    Scalar.INT32: ScalarType.INT,
    Scalar.INT64: ScalarType.LONG,
    Scalar.UINT8: ScalarType.UNSIGNED_BYTE,
    Scalar.UINT16: ScalarType.UNSIGNED_SHORT,
    Scalar.UINT32: ScalarType.UNSIGNED,
    Scalar.UINT64: ScalarType.UNSIGNED_LONG,
    Scalar.FLOAT16: ScalarType.HALF,
    Scalar.BFLOAT16: ScalarType.BFLOAT,
    Scalar.FLOAT: ScalarType.FLOAT,
    Scalar.DOUBLE: ScalarType.DOUBLE,
}
_NAMES = {scalar: one.value for one, scalar in SCALARS.items()} | {ScalarType.INT: "int"}


class Weak(Enum):
    """What has no type of its own: literals, which give way to any other, and truth values."""

    INTEGER = "an integer"
    REAL = "a real number"
    TRUTH = "a truth value"


Type: TypeAlias = ScalarType | Weak


_ARITHMETIC = frozenset(
    {
        Operator.ADD,
        Operator.SUBTRACT,
        Operator.MULTIPLY,
        Operator.DIVIDE,
        Operator.REMAINDER,
    }
)


def type_of(expression: Expression, environment: Environment) -> Type:
    """Return the type of an expression.

    Raises:
        SourceError: an operand does not fit its operator, or a name means nothing.
    """
    match expression:
        case Number(value, text):
            return _type_of_literal(value, text)
        case Name(name):
            if name in environment.tensors:
                return environment.tensors[name].type
            return ScalarType.INT  # an index or a size
        case Element(name):
            if name in environment.tensors:
                return environment.tensors[name].type
            return _type_of_call(expression, environment)
        case Convert(scalar, operand):
            type_of(operand, environment)
            return SCALARS[scalar]
        case Prefixed(prefix, operand):
            found = type_of(operand, environment)
            return promoted(found) if prefix is Prefix.NEGATE else Weak.TRUTH
        case Infix(operator, left, right, place):
            first, second = type_of(left, environment), type_of(right, environment)
            if operator not in _ARITHMETIC:
                return Weak.TRUTH
            found = promoted(unified(first, second))
            if operator is Operator.REMAINDER and not _is_integer(found):
                raise SourceError(
                    place, f"% is for integers, found {named(found)}", "fmod(x, y) is for others"
                )
            return found
        case Choice(condition, then, otherwise):
            type_of(condition, environment)
            return unified(type_of(then, environment), type_of(otherwise, environment))
        case _:
            assert_never(expression)


def promoted(found: Type) -> Type:
    """Return the type in which something is computed with; that of literals stays open."""
    match found:
        case Weak.TRUTH:
            return ScalarType.INT
        case ScalarType():
            return found.promoted
        case _:
            return found


def unified(first: Type, second: Type) -> Type:
    """Return the type of either of two operands; what is computed with them is promoted."""
    if first is second:
        return first
    first, second = (ScalarType.INT if one is Weak.TRUTH else one for one in (first, second))
    match first, second:
        case ScalarType(), ScalarType():
            return common_type(first, second)
        case Weak(), Weak():
            return first if first is Weak.REAL else second
        case (ScalarType() as strong, Weak() as weak) | (Weak() as weak, ScalarType() as strong):
            is_real = weak is Weak.REAL and strong.is_integer
            return ScalarType.DOUBLE if is_real else strong
        case _:
            raise AssertionError


def settled(found: Type) -> ScalarType:
    """Return the type that something has by itself."""
    match found:
        case Weak.INTEGER | Weak.TRUTH:
            return ScalarType.INT
        case Weak.REAL:
            return ScalarType.DOUBLE
        case _:
            return found


def is_narrowing(found: Type, target: ScalarType) -> bool:
    """Whether values of a type may be lost in another one; literals fit where their kind does.

    That the value of a literal fits is seen when it is translated.
    """
    match found:
        case Weak.REAL:
            return target.is_integer
        case Weak.INTEGER | Weak.TRUTH:
            return False
        case _:
            return not target.holds(found)


def check_fits(value: int, what: str, scalar: ScalarType, place: Place) -> None:
    """Refuse a number that is none of an integer type; floating types take any."""
    if scalar.is_integer and not scalar.lowest <= value <= scalar.highest:
        raise SourceError(
            place,
            f"{what} does not fit {named(scalar)}, which holds {scalar.lowest} to {scalar.highest}",
        )


def named(found: Type) -> str:
    """Return a type as the language has it.

    >>> named(ScalarType.LONG), named(Weak.REAL)
    ('int64', 'a real number')
    """
    return found.value if isinstance(found, Weak) else _NAMES[found]


def _type_of_literal(value: int | float, text: str) -> Type:
    suffix = text[-1]
    if isinstance(value, float):
        return ScalarType.FLOAT if suffix in "fF" else Weak.REAL
    if suffix in "lL" or not -(1 << 31) <= value < 1 << 31:
        return ScalarType.LONG if value < 1 << 63 else ScalarType.UNSIGNED_LONG
    return Weak.INTEGER


def callee_of(call: Element, environment: Environment) -> Callee:
    """Return the function that is called.

    Raises:
        SourceError: there is none of that name, or it takes another number of arguments.
    """
    found = function_named(call.name)
    if found is None:
        hint = similar(call.name, list(environment.tensors))
        raise SourceError(call.place, f"{call.name} is neither a tensor nor a function", hint)
    if len(call.arguments) != found.arity:
        raise SourceError(
            call.place,
            f"{call.name}: expected {found.arity} argument(s), found {len(call.arguments)}",
        )
    return found


def _type_of_call(call: Element, environment: Environment) -> Type:
    callee = callee_of(call, environment)
    types = [type_of(argument, environment) for argument in call.arguments]
    if callee.type is not None:
        for argument, found in zip(call.arguments, types, strict=True):
            if is_narrowing(found, callee.type):
                raise SourceError(
                    call.place,
                    f"{call.name}: expected {named(callee.type)}, found {text_of(argument)}, which "
                    f"is {named(found)}",
                    f"{call.name[:-1]} takes the type of its argument",
                )
        return callee.type
    found = types[0]
    for other in types[1:]:
        found = unified(found, other)
    if _is_integer(found) and not callee.on_integers:
        return Weak.REAL if found is Weak.INTEGER else ScalarType.DOUBLE
    chooses = callee.function in (MathFunction.FMIN, MathFunction.FMAX)
    is_stored = isinstance(found, ScalarType) and found.is_storage
    # The absolute value of the least number does not fit its type.
    is_open = callee.function is MathFunction.FABS or (is_stored and not chooses)
    return promoted(found) if is_open else found


def _is_integer(found: Type) -> bool:
    if isinstance(found, Weak):
        return found is not Weak.REAL
    return found.is_integer
