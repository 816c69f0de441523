"""The types of expressions, which combine as in C.

Integers widen to floating types, float to double. A literal without a suffix has no type of its
own: ``0.5`` is float beside a float and double beside a double, ``2`` is what stands beside it.
Comparisons, ``&&``, ``||`` and ``!`` give an int.
"""

from __future__ import annotations

from enum import Enum
from typing import TypeAlias, assert_never

from polygym.errors import Place, SourceError
from polygym.ir.types import ScalarType, common_type
from polygym.tc.language.environment import Environment
from polygym.tc.language.functions import Callee, function_named, similar
from polygym.tc.language.printer import text_of
from polygym.tc.language.syntax import (
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

SCALARS = {
    Scalar.INT32: ScalarType.INT,
    Scalar.INT64: ScalarType.LONG,
    Scalar.FLOAT: ScalarType.FLOAT,
    Scalar.DOUBLE: ScalarType.DOUBLE,
}


class Weak(Enum):
    """The types of literals, which give way to any other."""

    INTEGER = "an integer"
    REAL = "a real number"


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
        case Convert(scalar, operand, place):
            type_of(operand, environment)
            return scalar_type(scalar, place)
        case Prefixed(prefix, operand):
            found = type_of(operand, environment)
            return found if prefix is Prefix.NEGATE else ScalarType.INT
        case Infix(operator, left, right, place):
            first, second = type_of(left, environment), type_of(right, environment)
            if operator not in _ARITHMETIC:
                return ScalarType.INT
            found = unified(first, second)
            if operator is Operator.REMAINDER and not _is_integer(found):
                raise SourceError(
                    place, f"% is for integers, found {_named(found)}", "fmod(x, y) is for others"
                )
            return found
        case Choice(condition, then, otherwise):
            type_of(condition, environment)
            return unified(type_of(then, environment), type_of(otherwise, environment))
        case _:
            assert_never(expression)


def scalar_type(scalar: Scalar, place: Place) -> ScalarType:
    """Return the type of elements; those that are not supported are refused."""
    if scalar not in SCALARS:
        known = ", ".join(one.value for one in SCALARS)
        raise SourceError(place, f"expected one of the types {known}, found {scalar.value}")
    return SCALARS[scalar]


def unified(first: Type, second: Type) -> Type:
    """Return the type in which two operands are combined."""
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
        case Weak.INTEGER:
            return ScalarType.INT
        case Weak.REAL:
            return ScalarType.DOUBLE
        case _:
            return found


def is_narrowing(found: Type, target: ScalarType) -> bool:
    """Whether values of a type may be lost in another one; literals fit where their kind does."""
    if isinstance(found, Weak):
        return found is Weak.REAL and target.is_integer
    return common_type(found, target) is not target


def _type_of_literal(value: int | float, text: str) -> Type:
    suffix = text[-1]
    if isinstance(value, float):
        return ScalarType.FLOAT if suffix in "fF" else Weak.REAL
    if suffix in "lL" or value >= 1 << 31:
        return ScalarType.LONG
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
                    f"{call.name}: expected {callee.type.value}, found {text_of(argument)}, which "
                    f"is {_named(found)}",
                    f"{call.name[:-1]} takes the type of its argument",
                )
        return callee.type
    found = types[0]
    for other in types[1:]:
        found = unified(found, other)
    if _is_integer(found) and not callee.on_integers:
        return Weak.REAL if found is Weak.INTEGER else ScalarType.DOUBLE
    return found


def _is_integer(found: Type) -> bool:
    return found is Weak.INTEGER or (isinstance(found, ScalarType) and found.is_integer)


def _named(found: Type) -> str:
    return str(found.value)
