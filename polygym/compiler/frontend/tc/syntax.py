"""The syntax tree of tensor comprehensions: what a text says, before any of it has a meaning.

A text is a sequence of definitions. A definition has parameters, outputs and statements; a
statement assigns an expression of indices to an element, for every value of the indices. Every node
that a message may be about has its place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeAlias, assert_never

from polygym.errors import Place
from polygym.pickles import pickled_by_name


class Scalar(Enum):
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
    **{scalar.value: scalar for scalar in Scalar},
    "float32": Scalar.FLOAT,
    "float64": Scalar.DOUBLE,
    "int": Scalar.INT32,
    "byte": Scalar.UINT8,
}


class Assign(Enum):
    """How a statement stores: plainly, or combined with what is there; the value is its text."""

    SET = "="
    ADD = "+="
    MULTIPLY = "*="
    MINIMUM = "min="
    MAXIMUM = "max="


class Operator(Enum):
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


class Prefix(Enum):
    """Operators of one operand."""

    NEGATE = "-"
    NOT = "!"


@dataclass(frozen=True, slots=True)
class Number:
    """A literal; ``text`` is as it was written."""

    value: int | float
    text: str
    place: Place


@dataclass(frozen=True, slots=True)
class Name:
    """A name without subscripts: an index, a size, a scalar parameter, a ``where`` variable."""

    name: str
    place: Place


@dataclass(frozen=True, slots=True)
class Element:
    """``A(i, j)``: an element of a tensor, or a call of a function; which, is known later."""

    name: str
    arguments: tuple[Expression, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Convert:
    """``float(x)``: a conversion."""

    type: Scalar
    operand: Expression
    place: Place


@dataclass(frozen=True, slots=True)
class Prefixed:
    """An operator before its operand."""

    operator: Prefix
    operand: Expression
    place: Place


@dataclass(frozen=True, slots=True)
class Infix:
    """An operator between its operands; its place is the operator's."""

    operator: Operator
    left: Expression
    right: Expression
    place: Place


@dataclass(frozen=True, slots=True)
class Choice:
    """``condition ? then : otherwise``; its place is the question mark's."""

    condition: Expression
    then: Expression
    otherwise: Expression
    place: Place


Expression: TypeAlias = Number | Name | Element | Convert | Prefixed | Infix | Choice


def children(expression: Expression) -> tuple[Expression, ...]:
    """Return the direct operands, from left to right."""
    match expression:
        case Number() | Name():
            return ()
        case Element(arguments=arguments):
            return arguments
        case Convert(operand=operand) | Prefixed(operand=operand):
            return (operand,)
        case Infix(_, left, right):
            return (left, right)
        case Choice(condition, then, otherwise):
            return (condition, then, otherwise)
        case _:
            assert_never(expression)


def with_children(expression: Expression, new: Callable[[Expression], Expression]) -> Expression:
    """Return an expression with something made of each direct operand in its place."""
    match expression:
        case Number() | Name():
            return expression
        case Element(arguments=arguments):
            return replace(expression, arguments=tuple(map(new, arguments)))
        case Convert(operand=operand) | Prefixed(operand=operand):
            return replace(expression, operand=new(operand))
        case Infix(_, left, right):
            return replace(expression, left=new(left), right=new(right))
        case Choice(condition, then, otherwise):
            return replace(
                expression, condition=new(condition), then=new(then), otherwise=new(otherwise)
            )
        case _:
            assert_never(expression)


@dataclass(frozen=True, slots=True)
class In:
    """``i in lower:upper``: the half-open range of an index."""

    name: str
    lower: Expression
    upper: Expression
    place: Place


@dataclass(frozen=True, slots=True)
class Let:
    """``x = expression``: a name for a value within the statement."""

    name: str
    value: Expression
    place: Place


@dataclass(frozen=True, slots=True)
class Exists:
    """``exists expression``: its accesses take part in range inference, and that is all."""

    expression: Expression
    place: Place


Where: TypeAlias = In | Let | Exists


@dataclass(frozen=True, slots=True)
class Statement:
    """``T(i, j / 2) +=! expression where ...``.

    ``left`` are the subscripts on the left, indices as a rule; ``initialises`` is the ``!``.
    """

    tensor: str
    left: tuple[Expression, ...]
    assign: Assign
    initialises: bool
    value: Expression
    where: tuple[Where, ...]
    place: Place

    @property
    def indices(self) -> tuple[Name, ...]:
        """The names on the left in their order, each once, with their places."""
        found: dict[str, Name] = {}
        parts = list(reversed(self.left))
        while parts:
            one = parts.pop()
            if isinstance(one, Name):
                found.setdefault(one.name, one)
            parts += reversed(children(one))
        return tuple(found.values())


@dataclass(frozen=True, slots=True)
class Parameter:
    """``float(M, 4) A``: a tensor, or a scalar where there are no sizes."""

    type: Scalar
    sizes: tuple[Name | Number, ...]
    name: str
    place: Place


@dataclass(frozen=True, slots=True)
class Output:
    """``C``, or ``float(M, N) C``: a tensor that is returned."""

    type: Scalar | None
    sizes: tuple[Name | Number, ...] | None
    name: str
    place: Place


@pickled_by_name
@dataclass(frozen=True, slots=True)
class Definition:
    """``def name(parameters) -> (outputs) { statements }``."""

    name: str
    parameters: tuple[Parameter, ...]
    outputs: tuple[Output, ...]
    statements: tuple[Statement, ...]
    place: Place
