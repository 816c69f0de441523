"""What a value goes through from where a statement reads it to where it is written.

Only operations on floating numbers are steps: in the bit-exact order each waits for the one before.
Integers may be added in any order, and a processor that guesses a branch does not wait for its
condition, so a path that goes through either, or through a function that LLVM may turn into a
comparison, is none. A product that is added right away may be a multiply-add: a step of its own.

Example: in ``s = s * a + b`` the path of s is one multiply-add, in ``s = s + a * b`` one addition,
in ``x = (x - l * y) / d`` that of x an addition (a subtraction) and a division, and that of y a
multiply-add and a division.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from polygym.compiler.ir.expr import (
    Access,
    Binary,
    BinaryOperator,
    Call,
    Cast,
    Expression,
    Load,
    MathFunction,
    Unary,
    UnaryOperator,
)
from polygym.compiler.ir.scop import Scop, Statement
from polygym.compiler.ir.types import ScalarType
from polygym.cost.limit.operators import Kind, kinds_of, lanes_of
from polygym.pickles import pickled_by_name


class Step(Enum):
    """What a value waits for; the value is how tables and JSON call it."""

    ADD = "addition"
    MULTIPLY = "multiplication"
    MULTIPLY_ADD = "multiply-add"
    ANY = "addition or multiplication"
    DIVIDE = "division"
    ROOT = "square root"


@pickled_by_name
@dataclass(frozen=True, slots=True)
class Wait:
    """A step on numbers of a type."""

    step: Step
    type: ScalarType


_STEPS = {
    Kind.ADD: Step.ADD,
    Kind.MULTIPLY: Step.MULTIPLY,
    Kind.ANY: Step.ANY,
    Kind.DIVIDE: Step.DIVIDE,
    Kind.ROOT: Step.ROOT,
}


def path_of(scop: Scop, statement: Statement, access: Access) -> tuple[Wait, ...] | None:
    """Return the steps of a value that is read there; None where there is no path."""
    if not scop.array(statement.write.array).type.is_floating:
        return None
    found = list(_paths(statement.body, access))
    if not found:
        return None
    scalar = lanes_of(scop, statement, floating=True)
    longest = max(found, key=len)
    return tuple(Wait(step, scalar) for step in longest)


def _paths(node: Expression, access: Access) -> Iterator[tuple[Step, ...]]:
    """Yield the steps of every way from a read to a node."""
    if not node.type.is_floating:
        return
    match node:
        case Load(found):
            if found == access:
                yield ()
        case Cast(operand) | Unary(UnaryOperator.NEGATE, operand):
            yield from _paths(operand, access)
        case Binary(operator, left, right):
            for operand in (left, right):
                for path in _paths(operand, access):
                    yield _joined(operator, path, operand, _step(node))
        case Call(MathFunction.SQRT, (operand,)):
            for path in _paths(operand, access):
                yield (*path, Step.ROOT)
        case Call(MathFunction.FMA, (first, second, third)):
            for factor in (first, second):
                for path in _paths(factor, access):
                    yield (*path, Step.MULTIPLY_ADD)
            for path in _paths(third, access):
                yield (*path, Step.ADD)
        case _:
            return


def _step(node: Binary) -> Step | None:
    kinds = kinds_of(node)
    return _STEPS[kinds[0]] if kinds else None


def _joined(
    operator: BinaryOperator, path: tuple[Step, ...], operand: Expression, step: Step | None
) -> tuple[Step, ...]:
    """Return a path with one more step; a product becomes part of the sum that it is added to."""
    if step is None:
        return path
    is_sum = operator in (BinaryOperator.ADD, BinaryOperator.SUBTRACT)
    if is_sum and path and _is_product(operand) and path[-1] in (Step.MULTIPLY, Step.ANY):
        return (*path[:-1], Step.MULTIPLY_ADD)
    return (*path, step)


def _is_product(node: Expression) -> bool:
    """Whether a node is a product, or the negative of one."""
    if isinstance(node, Unary):
        return _is_product(node.operand)
    return isinstance(node, Binary) and node.operator is BinaryOperator.MULTIPLY
