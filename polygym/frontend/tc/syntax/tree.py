"""The syntax tree of tensor comprehensions: what a text says, before any of it has a meaning.

A text is a sequence of definitions. A definition has parameters, outputs and statements; a
statement assigns an expression of indices to an element, for every value of the indices. Every node
that a message may be about has its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, TypeAlias, TypeVar

from polygym.errors import SourceLocation
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


ARITHMETIC = frozenset(map(InfixOperator, "+-*/%"))
COMPARISONS = frozenset(map(InfixOperator, ("<", "<=", ">", ">=", "==", "!=")))

CONDITIONS = COMPARISONS | {InfixOperator.AND, InfixOperator.OR}

# From the loosest to the tightest; operators of one row associate to the left.
PRECEDENCE = (("||",), ("&&",), ("==", "!="), ("<", "<=", ">", ">="), ("+", "-"), ("*", "/", "%"))


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


@dataclass(frozen=True, slots=True)
class WhereCondition:
    """A condition, ``i >= j``: the statement runs only where it holds."""

    condition: Expression
    location: SourceLocation


Where: TypeAlias = WhereRange | WhereValue | WhereExists | WhereCondition

_Node = TypeVar("_Node", bound=Expression | Where)

# Where a node keeps its operands, from left to right; those of an element are its arguments.
_OPERANDS: dict[type, tuple[str, ...]] = {
    ConvertExpression: ("operand",),
    PrefixExpression: ("operand",),
    InfixExpression: ("left", "right"),
    ConditionalExpression: ("condition", "then", "otherwise"),
    WhereRange: ("lower", "upper"),
    WhereValue: ("value",),
    WhereExists: ("expression",),
    WhereCondition: ("condition",),
}


def operands_of(node: Expression | Where) -> tuple[Expression, ...]:
    """Return the direct operands, from left to right."""
    if isinstance(node, ElementOrCall):
        return node.arguments
    return tuple(getattr(node, name) for name in _OPERANDS.get(type(node), ()))


def with_operands(node: _Node, new: Callable[[Expression], Expression]) -> _Node:
    """Return a node with something made of each direct operand in its place."""
    parts: dict[str, Any] = {
        name: new(getattr(node, name)) for name in _OPERANDS.get(type(node), ())
    }
    if isinstance(node, ElementOrCall):
        parts = {"arguments": tuple(map(new, node.arguments))}
    return replace(node, **parts) if parts else node


def parts_of(*expressions: Expression) -> Iterator[Expression]:
    """Yield expressions and all that they consist of, the whole first, from left to right."""
    left = list(reversed(expressions))
    while left:
        part = left.pop()
        yield part
        left += reversed(operands_of(part))


def is_condition(expression: Expression) -> bool:
    """Whether an expression is a comparison, or made of some."""
    match expression:
        case InfixExpression(operator):
            return operator in CONDITIONS
        case PrefixExpression(operator):
            return operator is PrefixOperator.NOT
        case _:
            return False


def names_of_expression(expression: Expression) -> Iterator[NameUse | ElementOrCall]:
    """Yield every name that stands in an expression, from left to right."""
    return (part for part in parts_of(expression) if isinstance(part, NameUse | ElementOrCall))


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
        for part in parts_of(*self.subscripts):
            if isinstance(part, NameUse):
                names.setdefault(part.name, part)
        return tuple(names.values())

    @property
    def expressions(self) -> list[Expression]:
        """Every expression of the statement."""
        parts = [*self.subscripts, self.value]
        return parts + [part for entry in self.where for part in operands_of(entry)]

    @property
    def local_names(self) -> list[str]:
        """The names without subscripts, each once: indices, values, sizes, scalars."""
        names = [index.name for index in self.indices]
        names += [e.name for e in self.where if isinstance(e, WhereRange | WhereValue)]
        names += [part.name for part in parts_of(*self.expressions) if isinstance(part, NameUse)]
        return list(dict.fromkeys(names))

    def with_expressions(self, new: Callable[[Expression], Expression]) -> TcStatement:
        """Return the statement with something made of each expression in its place."""
        subscripts = tuple(map(new, self.subscripts))
        where = tuple(with_operands(entry, new) for entry in self.where)
        return replace(self, subscripts=subscripts, value=new(self.value), where=where)


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


Declaration: TypeAlias = TcParameter | TcOutput


@pickle_by_name
@dataclass(frozen=True, slots=True)
class TcDefinition:
    """``def name(parameters) -> (outputs) { statements }``."""

    name: str
    parameters: tuple[TcParameter, ...]
    outputs: tuple[TcOutput, ...]
    statements: tuple[TcStatement, ...]
    location: SourceLocation


def names_read(*expressions: Expression) -> set[str]:
    """Return the names in expressions, with subscripts or without, those of functions too."""
    parts = parts_of(*expressions)
    return {part.name for part in parts if isinstance(part, NameUse | ElementOrCall)}


def renamed(expression: Expression, names: Mapping[str, str]) -> Expression:
    """Return an expression with other names; those that are not listed stay."""
    if isinstance(expression, NameUse | ElementOrCall):
        expression = replace(expression, name=names.get(expression.name, expression.name))
    return with_operands(expression, lambda part: renamed(part, names))


def rename_statement(statement: TcStatement, names: Mapping[str, str]) -> TcStatement:
    """Return a statement with other names for tensors, sizes, indices and values.

    Names that are not listed stay, functions among them.
    """
    where = tuple(
        replace(entry, name=names.get(entry.name, entry.name))
        if isinstance(entry, WhereRange | WhereValue)
        else entry
        for entry in statement.where
    )
    tensor = names.get(statement.tensor, statement.tensor)
    return replace(statement, tensor=tensor, where=where).with_expressions(
        lambda expression: renamed(expression, names)
    )
