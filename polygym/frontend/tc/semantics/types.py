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

from enum import Enum
from typing import TypeAlias, assert_never

from polygym.errors import SourceError, SourceLocation
from polygym.frontend.tc.semantics.environment import NameEnvironment
from polygym.frontend.tc.semantics.functions import (
    MIN_MAX_FUNCTIONS,
    FunctionSignature,
    function_named,
    name_suggestion,
)
from polygym.frontend.tc.syntax import tree
from polygym.frontend.tc.syntax.printer import expression_text
from polygym.ir.expressions import MathFunction
from polygym.ir.types import ScalarType, common_type

SCALAR_TYPES = {
    tree.ElementType.BOOL: ScalarType.BOOL,
    tree.ElementType.INT8: ScalarType.BYTE,
    tree.ElementType.INT16: ScalarType.SHORT,
    tree.ElementType.INT32: ScalarType.INT,
    tree.ElementType.INT64: ScalarType.LONG,
    tree.ElementType.UINT8: ScalarType.UNSIGNED_BYTE,
    tree.ElementType.UINT16: ScalarType.UNSIGNED_SHORT,
    tree.ElementType.UINT32: ScalarType.UNSIGNED,
    tree.ElementType.UINT64: ScalarType.UNSIGNED_LONG,
    tree.ElementType.FLOAT16: ScalarType.HALF,
    tree.ElementType.BFLOAT16: ScalarType.BFLOAT,
    tree.ElementType.FLOAT: ScalarType.FLOAT,
    tree.ElementType.DOUBLE: ScalarType.DOUBLE,
}
ELEMENT_TYPES = {scalar: element_type for element_type, scalar in SCALAR_TYPES.items()}
_NAMES = {scalar: element_type.value for scalar, element_type in ELEMENT_TYPES.items()} | {
    ScalarType.INT: "int"
}


class UntypedKind(Enum):
    """What has no type of its own: literals, which give way to any other, and truth values."""

    INTEGER = "an integer"
    REAL = "a real number"
    TRUTH = "a truth value"


ValueType: TypeAlias = ScalarType | UntypedKind


def type_of(expression: tree.Expression, environment: NameEnvironment) -> ValueType:
    """Return the type of an expression.

    Raises:
        SourceError: an operand does not fit its operator, or a name means nothing.
    """
    match expression:
        case tree.NumberLiteral(value, text):
            return _type_of_literal(value, text)
        case tree.NameUse(name):
            if name in environment.tensors:
                return environment.tensors[name].type
            return ScalarType.INT  # an index or a size
        case tree.ElementOrCall(name):
            if name in environment.tensors:
                return environment.tensors[name].type
            return _type_of_call(expression, environment)
        case tree.ConvertExpression(scalar, operand):
            type_of(operand, environment)
            return SCALAR_TYPES[scalar]
        case tree.PrefixExpression(prefix, operand):
            value_type = type_of(operand, environment)
            is_negated = prefix is tree.PrefixOperator.NEGATE
            return promoted_type(value_type) if is_negated else UntypedKind.TRUTH
        case tree.InfixExpression(operator, left, right, place):
            first, second = type_of(left, environment), type_of(right, environment)
            if operator not in tree.ARITHMETIC:
                return UntypedKind.TRUTH
            value_type = promoted_type(unified_type(first, second))
            if operator is tree.InfixOperator.REMAINDER and not _is_integer(value_type):
                raise SourceError(
                    place,
                    f"% is for integers, found {type_text(value_type)}",
                    "fmod(x, y) is for others",
                )
            return value_type
        case tree.ConditionalExpression(condition, then, otherwise):
            type_of(condition, environment)
            return unified_type(type_of(then, environment), type_of(otherwise, environment))
        case _:
            assert_never(expression)


def promoted_type(value_type: ValueType) -> ValueType:
    """Return the type in which something is computed with; that of literals stays open."""
    match value_type:
        case UntypedKind.TRUTH:
            return ScalarType.INT
        case ScalarType():
            return value_type.promoted
        case _:
            return value_type


def unified_type(first: ValueType, second: ValueType) -> ValueType:
    """Return the type of either of two operands; what is computed with them is promoted."""
    if first is second:
        return first
    first, second = (
        ScalarType.INT if value_type is UntypedKind.TRUTH else value_type
        for value_type in (first, second)
    )
    match first, second:
        case ScalarType(), ScalarType():
            return common_type(first, second)
        case UntypedKind(), UntypedKind():
            return first if first is UntypedKind.REAL else second
        case (ScalarType() as strong, UntypedKind() as weak) | (
            UntypedKind() as weak,
            ScalarType() as strong,
        ):
            is_real = weak is UntypedKind.REAL and strong.is_integer
            return ScalarType.DOUBLE if is_real else strong
        case _:
            raise AssertionError


def default_type(value_type: ValueType) -> ScalarType:
    """Return the type that something has by itself."""
    match value_type:
        case UntypedKind.INTEGER | UntypedKind.TRUTH:
            return ScalarType.INT
        case UntypedKind.REAL:
            return ScalarType.DOUBLE
        case _:
            return value_type


def is_narrowing(value_type: ValueType, target: ScalarType) -> bool:
    """Whether values of a type may be lost in another one; literals fit where their kind does.

    That the value of a literal fits is seen when it is translated.
    """
    match value_type:
        case UntypedKind.REAL:
            return target.is_integer
        case UntypedKind.INTEGER | UntypedKind.TRUTH:
            return False
        case _:
            return not target.can_represent(value_type)


def check_fits(value: int, what: str, scalar: ScalarType, place: SourceLocation) -> None:
    """Refuse a number that is none of an integer type; floating types take any."""
    if scalar.is_integer and not scalar.lowest <= value <= scalar.highest:
        raise SourceError(
            place,
            f"{what} does not fit {type_text(scalar)}, which holds {scalar.lowest} to "
            f"{scalar.highest}",
        )


def type_text(value_type: ValueType) -> str:
    """Return a type as the language has it.

    >>> type_text(ScalarType.LONG), type_text(UntypedKind.REAL)
    ('int64', 'a real number')
    """
    return value_type.value if isinstance(value_type, UntypedKind) else _NAMES[value_type]


def _type_of_literal(value: int | float, text: str) -> ValueType:
    suffix = text[-1]
    if isinstance(value, float):
        return ScalarType.FLOAT if suffix in "fF" else UntypedKind.REAL
    if suffix in "lL" or not -(1 << 31) <= value < 1 << 31:
        return ScalarType.LONG if value < 1 << 63 else ScalarType.UNSIGNED_LONG
    return UntypedKind.INTEGER


def callee_of(call: tree.ElementOrCall, environment: NameEnvironment) -> FunctionSignature:
    """Return the function that is called.

    Raises:
        SourceError: there is none of that name, or it takes another number of arguments.
    """
    signature = function_named(call.name)
    if signature is None:
        hint = name_suggestion(call.name, list(environment.tensors))
        raise SourceError(call.location, f"{call.name} is neither a tensor nor a function", hint)
    if len(call.arguments) != signature.arity:
        raise SourceError(
            call.location,
            f"{call.name}: expected {signature.arity} argument(s), found {len(call.arguments)}",
        )
    return signature


def _type_of_call(call: tree.ElementOrCall, environment: NameEnvironment) -> ValueType:
    callee = callee_of(call, environment)
    types = [type_of(argument, environment) for argument in call.arguments]
    if callee.result_type is not None:
        for argument, value_type in zip(call.arguments, types, strict=True):
            if is_narrowing(value_type, callee.result_type):
                raise SourceError(
                    call.location,
                    f"{call.name}: expected {type_text(callee.result_type)}, found "
                    f"{expression_text(argument)}, which is {type_text(value_type)}",
                    f"{call.name[:-1]} takes the type of its argument",
                )
        return callee.result_type
    value_type = types[0]
    for other in types[1:]:
        value_type = unified_type(value_type, other)
    if _is_integer(value_type) and not callee.is_integer:
        return UntypedKind.REAL if value_type is UntypedKind.INTEGER else ScalarType.DOUBLE
    chooses = callee.function in MIN_MAX_FUNCTIONS
    is_stored = isinstance(value_type, ScalarType) and value_type.is_storage_only
    # The absolute value of the least number does not fit its type.
    is_open = callee.function is MathFunction.FABS or (is_stored and not chooses)
    return promoted_type(value_type) if is_open else value_type


def _is_integer(value_type: ValueType) -> bool:
    if isinstance(value_type, UntypedKind):
        return value_type is not UntypedKind.REAL
    return value_type.is_integer
