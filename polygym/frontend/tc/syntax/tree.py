"""The syntax tree of tensor comprehensions: what a text says, before any of it has a meaning.

A text is a sequence of definitions. A definition has parameters, outputs and statements; a
statement assigns an expression of indices to an element, for every value of the indices. Every node
that a message may be about has its place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeAlias, assert_never

from polygym.errors import SourceLocation
from polygym.frontend.tc.syntax import tree
from polygym.pickling import pickle_by_name


class ElementType(Enum):
    """The type of an element; the value is its usual name."""

    BOOL = "bool"
    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    UINT8 = "uint8"
    UINT16 = "uint16"
    UINT32 = "uint32"
    UINT64 = "uint64"
    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"
    FLOAT = "float"
    DOUBLE = "double"


TYPE_NAMES = {
    **{scalar.value: scalar for scalar in ElementType},
    "float32": ElementType.FLOAT,
    "float64": ElementType.DOUBLE,
    "int": ElementType.INT32,
    "byte": ElementType.UINT8,
}


class AssignKind(Enum):
    """How a statement stores: plainly, or combined with what is there; the value is its text."""

    SET = "="
    ADD = "+="
    MULTIPLY = "*="
    MINIMUM = "min="
    MAXIMUM = "max="


class InfixOperator(Enum):
    """Operators of two operands."""

    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    REMAINDER = "%"
    LESS = "<"
    LESS_EQUAL = "<="
    GREATER = ">"
    GREATER_EQUAL = ">="
    EQUAL = "=="
    NOT_EQUAL = "!="
    AND = "&&"
    OR = "||"


class PrefixOperator(Enum):
    """Operators of one operand."""

    NEGATE = "-"
    NOT = "!"


@dataclass(frozen=True, slots=True)
class NumberLiteral:
    """A literal; ``text`` is as it was written."""

    value: int | float
    text: str
    location: SourceLocation


@dataclass(frozen=True, slots=True)
class NameUse:
    """A name without subscripts: an index, a size, a scalar parameter, a ``where`` variable."""

    name: str
    location: SourceLocation


@dataclass(frozen=True, slots=True)
class ElementOrCall:
    """``A(i, j)``: an element of a tensor, or a call of a function; which, is known later."""

    name: str
    arguments: tuple[Expression, ...]
    location: SourceLocation


@dataclass(frozen=True, slots=True)
class ConvertExpression:
    """``float(x)``: a conversion."""

    type: ElementType
    operand: Expression
    location: SourceLocation


@dataclass(frozen=True, slots=True)
class PrefixExpression:
    """An operator before its operand."""

    operator: PrefixOperator
    operand: Expression
    location: SourceLocation


@dataclass(frozen=True, slots=True)
class InfixExpression:
    """An operator between its operands; its place is the operator's."""

    operator: InfixOperator
    left: Expression
    right: Expression
    location: SourceLocation


@dataclass(frozen=True, slots=True)
class ConditionalExpression:
    """``condition ? then : otherwise``; its place is the question mark's."""

    condition: Expression
    then: Expression
    otherwise: Expression
    location: SourceLocation


Expression: TypeAlias = (
    NumberLiteral
    | NameUse
    | ElementOrCall
    | ConvertExpression
    | PrefixExpression
    | InfixExpression
    | ConditionalExpression
)


def operands_of(expression: Expression) -> tuple[Expression, ...]:
    """Return the direct operands, from left to right."""
    match expression:
        case NumberLiteral() | NameUse():
            return ()
        case ElementOrCall(arguments=arguments):
            return arguments
        case ConvertExpression(operand=operand) | PrefixExpression(operand=operand):
            return (operand,)
        case InfixExpression(_, left, right):
            return (left, right)
        case ConditionalExpression(condition, then, otherwise):
            return (condition, then, otherwise)
        case _:
            assert_never(expression)


def with_operands(expression: Expression, new: Callable[[Expression], Expression]) -> Expression:
    """Return an expression with something made of each direct operand in its place."""
    match expression:
        case NumberLiteral() | NameUse():
            return expression
        case ElementOrCall(arguments=arguments):
            return replace(expression, arguments=tuple(map(new, arguments)))
        case ConvertExpression(operand=operand) | PrefixExpression(operand=operand):
            return replace(expression, operand=new(operand))
        case InfixExpression(_, left, right):
            return replace(expression, left=new(left), right=new(right))
        case ConditionalExpression(condition, then, otherwise):
            return replace(
                expression, condition=new(condition), then=new(then), otherwise=new(otherwise)
            )
        case _:
            assert_never(expression)


@dataclass(frozen=True, slots=True)
class WhereRange:
    """``i in lower:upper``: the half-open range of an index."""

    name: str
    lower: Expression
    upper: Expression
    location: SourceLocation


@dataclass(frozen=True, slots=True)
class WhereValue:
    """``x = expression``: a name for a value within the statement."""

    name: str
    value: Expression
    location: SourceLocation


@dataclass(frozen=True, slots=True)
class WhereExists:
    """``exists expression``: its accesses take part in range inference, and that is all."""

    expression: Expression
    location: SourceLocation


Where: TypeAlias = WhereRange | WhereValue | WhereExists


@dataclass(frozen=True, slots=True)
class TcStatement:
    """``T(i, j / 2) +=! expression where ...``.

    ``subscripts`` are the subscripts on the left, indices as a rule; ``initializes`` is the ``!``.
    """

    tensor: str
    subscripts: tuple[Expression, ...]
    assign: AssignKind
    initializes: bool
    value: Expression
    where: tuple[Where, ...]
    location: SourceLocation

    @property
    def indices(self) -> tuple[NameUse, ...]:
        """The names on the left in their order, each once, with their places."""
        names: dict[str, NameUse] = {}
        parts = list(reversed(self.subscripts))
        while parts:
            expression = parts.pop()
            if isinstance(expression, NameUse):
                names.setdefault(expression.name, expression)
            parts += reversed(operands_of(expression))
        return tuple(names.values())


@dataclass(frozen=True, slots=True)
class TcParameter:
    """``float(M, 4) A``: a tensor, or a scalar where there are no sizes."""

    type: ElementType
    sizes: tuple[NameUse | NumberLiteral, ...]
    name: str
    location: SourceLocation


@dataclass(frozen=True, slots=True)
class TcOutput:
    """``C``, or ``float(M, N) C``: a tensor that is returned."""

    type: ElementType | None
    sizes: tuple[NameUse | NumberLiteral, ...] | None
    name: str
    location: SourceLocation


@pickle_by_name
@dataclass(frozen=True, slots=True)
class TcDefinition:
    """``def name(parameters) -> (outputs) { statements }``."""

    name: str
    parameters: tuple[TcParameter, ...]
    outputs: tuple[TcOutput, ...]
    statements: tuple[TcStatement, ...]
    location: SourceLocation


def rename_statement(statement: tree.TcStatement, names: Mapping[str, str]) -> tree.TcStatement:
    """Return a statement with other names for tensors, sizes, indices and values.

    Names that are not listed stay, functions among them.
    """

    def new(expression: tree.Expression) -> tree.Expression:
        return _rename_expression(expression, names)

    def entry_of(entry: tree.Where) -> tree.Where:
        match entry:
            case tree.WhereRange(name, lower, upper):
                result = names.get(name, name)
                return replace(entry, name=result, lower=new(lower), upper=new(upper))
            case tree.WhereValue(name, value):
                return replace(entry, name=names.get(name, name), value=new(value))
            case tree.WhereExists(expression):
                return replace(entry, expression=new(expression))
            case _:
                assert_never(entry)

    return replace(
        statement,
        tensor=names.get(statement.tensor, statement.tensor),
        subscripts=tuple(map(new, statement.subscripts)),
        value=new(statement.value),
        where=tuple(map(entry_of, statement.where)),
    )


def _rename_expression(expression: tree.Expression, names: Mapping[str, str]) -> tree.Expression:
    if isinstance(expression, tree.NameUse | tree.ElementOrCall):
        expression = replace(expression, name=names.get(expression.name, expression.name))
    return tree.with_operands(expression, lambda part: _rename_expression(part, names))
