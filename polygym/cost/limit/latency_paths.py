"""Latency path of a value, from its read in a statement to its write.

Only operations on floating numbers are steps: in the bit-exact order each waits for the one before.
Integers may be added in any order, and a processor that guesses a branch does not wait for its
condition, so a path that goes through either, or through a function that LLVM may turn into a
comparison, is none. A product that is added right away may be a multiply-add: a step of its own.

Example: in ``s = s * a + b`` the path of s is one multiply-add, in ``s = s + a * b`` one addition,
in ``x = (x - l * y) / d`` that of x an addition (a subtraction) and a division, and that of y a
multiply-add and a division.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from polygym.cost.limit.operation_kinds import ArithmeticKind, kinds_of, lane_type
from polygym.ir.expressions import (
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
from polygym.ir.scop import Scop, Statement
from polygym.ir.types import ScalarType
from polygym.pickling import pickle_by_name


class LatencyStep(Enum):
    """What a value waits for; the value is how tables and JSON call it."""

    ADD = "addition"
    MULTIPLY = "multiplication"
    MULTIPLY_ADD = "multiply-add"
    ANY = "addition or multiplication"
    DIVIDE = "division"
    ROOT = "square root"


@pickle_by_name
@dataclass(frozen=True, slots=True)
class LatencyTerm:
    """A step on numbers of a type."""

    step: LatencyStep
    type: ScalarType


_LATENCY_STEPS = {
    ArithmeticKind.ADD: LatencyStep.ADD,
    ArithmeticKind.MULTIPLY: LatencyStep.MULTIPLY,
    ArithmeticKind.ANY: LatencyStep.ANY,
    ArithmeticKind.DIVIDE: LatencyStep.DIVIDE,
    ArithmeticKind.ROOT: LatencyStep.ROOT,
}


def latency_path(
    scop: Scop, statement: Statement, access: Access
) -> tuple[LatencyTerm, ...] | None:
    """Return the steps of a value that is read there; None where there is no path."""
    if not scop.array(statement.write.array).type.is_floating:
        return None
    steps = list(_latency_paths(statement.body, access))
    if not steps:
        return None
    scalar = lane_type(scop, statement, floating=True)
    longest = max(steps, key=len)
    return tuple(LatencyTerm(step, scalar) for step in longest)


def _latency_paths(node: Expression, access: Access) -> Iterator[tuple[LatencyStep, ...]]:
    """Yield the steps of every way from a read to a node."""
    if not node.type.is_floating:
        return
    match node:
        case Load(found):
            if found == access:
                yield ()
        case Cast(operand) | Unary(UnaryOperator.NEGATE, operand):
            yield from _latency_paths(operand, access)
        case Binary(operator, left, right):
            for operand in (left, right):
                for path in _latency_paths(operand, access):
                    yield _extend_path(operator, path, operand, _latency_step(node))
        case Call(MathFunction.SQRT, (operand,)):
            for path in _latency_paths(operand, access):
                yield (*path, LatencyStep.ROOT)
        case Call(MathFunction.FMA, (first, second, third)):
            for factor in (first, second):
                for path in _latency_paths(factor, access):
                    yield (*path, LatencyStep.MULTIPLY_ADD)
            for path in _latency_paths(third, access):
                yield (*path, LatencyStep.ADD)
        case _:
            return


def _latency_step(node: Binary) -> LatencyStep | None:
    kinds = kinds_of(node)
    return _LATENCY_STEPS[kinds[0]] if kinds else None


def _extend_path(
    operator: BinaryOperator,
    path: tuple[LatencyStep, ...],
    operand: Expression,
    step: LatencyStep | None,
) -> tuple[LatencyStep, ...]:
    """Return a path with one more step; a product becomes part of the sum that it is added to."""
    if step is None:
        return path
    is_sum = operator in (BinaryOperator.ADD, BinaryOperator.SUBTRACT)
    if (
        is_sum
        and path
        and _is_product(operand)
        and path[-1] in (LatencyStep.MULTIPLY, LatencyStep.ANY)
    ):
        return (*path[:-1], LatencyStep.MULTIPLY_ADD)
    return (*path, step)


def _is_product(node: Expression) -> bool:
    """Whether a node is a product, or the negative of one."""
    if isinstance(node, Unary):
        return _is_product(node.operand)
    return isinstance(node, Binary) and node.operator is BinaryOperator.MULTIPLY
