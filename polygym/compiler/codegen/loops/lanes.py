"""Vectors: iterations of a loop as lanes, all executing one statement before the next.

::

    for j:                           for j by 8:
      S(j); T(j)            →          S(j .. j + 7); T(j .. j + 7)
                                     for the rest, by 8: the same, masked

Side condition: the iterations of the loop are independent. Loops inside stay loops, around vectors:
a reduction that runs inside the lanes keeps the order of each lane's sum, so the result is the same
bit for bit. With ``count`` above 1, so many vectors run together, as
:mod:`polygym.compiler.codegen.loops.jam` has it, which also explains what happens to inner loops
whose bounds depend on the lane.

A statement that cannot be computed in lanes (a division of integers traps, a call has no vector
form, a read needs its guard, a gather is made under a condition, a store may not happen) leaves its
loop as it is.
"""

from __future__ import annotations

from dataclasses import replace

from polygym.compiler.codegen.common.loop_annotation import SEQUENTIAL, Vector
from polygym.compiler.codegen.common.math_forms import has_vector_form
from polygym.compiler.codegen.loops.index import plus
from polygym.compiler.codegen.loops.ir import (
    IndexOperator,
    Loop,
    Node,
    Number,
    Operation,
    Variable,
    instances_in,
    rebuilt,
)
from polygym.compiler.codegen.loops.jam import Copies, main_and_rest, rest_start, together
from polygym.compiler.codegen.loops.linear import difference
from polygym.compiler.ir.expr import (
    Binary,
    BinaryOperator,
    Call,
    Cast,
    Conditional,
    Expression,
    Gather,
    IteratorValue,
    ParameterValue,
    Update,
    walk,
)
from polygym.compiler.ir.scop import Scop, Statement
from polygym.compiler.ir.types import ScalarType

_NO_LANES = frozenset(
    {BinaryOperator.REMAINDER, BinaryOperator.SHIFT_LEFT, BinaryOperator.SHIFT_RIGHT}
)


def vectorise(node: Node, scop: Scop, guarded: frozenset[str]) -> Node:
    """Carry out every :class:`~polygym.compiler.codegen.common.loop_annotation.Vector` annotation.

    ``guarded`` are statements with a read that is only made under a condition.
    """
    match node:
        case Loop(step=step, body=body, annotation=Vector(bits, count)):
            names = statements_in(body)
            able = step == 1 and names.isdisjoint(guarded)
            if able and all(is_vectorisable(scop.statement(name)) for name in names):
                width = bits // (8 * max(element_size(scop, name) for name in names))
                if width > 1:
                    maskable = not any(narrows(scop.statement(name)) for name in names)
                    return _vectors(node, width, count, is_maskable=maskable)
            return replace(node, body=vectorise(body, scop, guarded), annotation=SEQUENTIAL)
        case _:
            return rebuilt(node, lambda part: vectorise(part, scop, guarded))


def _vectors(loop: Loop, width: int, count: int, *, is_maskable: bool) -> Node:
    """Return the loop over whole blocks of vectors and the masked loop over the rest.

    What cannot be masked runs one by one in the rest.
    """
    name, block = loop.variable, width * count
    counter = Variable(name)
    copies = Copies(name, counter, tuple(range(0, block, width)), f"{name}_", width)
    main = Loop(name, loop.lower, plus(loop.upper, 1 - block), block, together(loop.body, copies))
    start = rest_start(loop, block)
    if not is_maskable:
        rest = Loop(name, start, loop.upper, 1, loop.body)
        return main_and_rest(loop, block, main, rest)
    last = difference(loop.upper, loop.lower)
    if last is None:
        left = plus(Operation(IndexOperator.SUBTRACT, (loop.upper, counter)), 1)
        masked = Copies(name, counter, (0,), f"{name}_", width, left)
        rest = Loop(name, start, loop.upper, width, together(loop.body, masked))
    else:
        # How many are left is known: they run together too, in as few vectors as will do.
        remaining = (last + 1) % block
        offsets = tuple(range(0, max(1, remaining), width))
        masked = Copies(name, counter, offsets, f"{name}_", width, Number(remaining))
        rest = Loop(name, start, loop.upper, block, together(loop.body, masked))
    return main_and_rest(loop, block, main, rest)


def statements_in(node: Node) -> frozenset[str]:
    """Return the names of the statements that run in a node."""
    return frozenset(instance.statement for instance in instances_in(node))


def element_size(scop: Scop, statement: str) -> int:
    """Return the bytes of the largest element that a statement handles."""
    body = scop.statement(statement).body
    return max(scop.widest((statement,)), *(node.type.size for node in walk(body)))


def narrows(statement: Statement) -> bool:
    """Whether something in the body makes integers of fewer bits of integers.

    LLVM 22 stores such vectors wrongly under a mask that leaves one lane: all bits of the wider
    integer, beyond the element.
    """
    for node in walk(statement.body):
        match node:
            case Cast(operand, type_):
                if type_.is_storage and not operand.type.is_storage:
                    return True  # the upper bits of an integer are cut off
                source, target = operand.type, type_
            case IteratorValue(_, type_) | ParameterValue(_, type_):
                source, target = ScalarType.LONG, type_
            case _:
                continue
        if source.is_integer and target.is_integer and source.size > target.size:
            return True
    return False


def is_vectorisable(statement: Statement) -> bool:
    """Whether the body can be computed in lanes."""
    return all(_has_lanes(node) for node in walk(statement.body))


def is_plain(statement: Statement) -> bool:
    """Whether a statement can be computed in lanes, under a mask too, and computes no subscript."""
    accesses = (statement.write, *statement.reads)
    return (
        is_vectorisable(statement)
        and not narrows(statement)
        and not any(access.gathered for access in accesses)
    )


def _has_lanes(node: Expression) -> bool:
    match node:
        case Binary(operator, _, _, type_):
            divides = operator is BinaryOperator.DIVIDE and type_.is_integer
            return operator not in _NO_LANES and not divides
        case Cast(operand, type_):
            return not (operand.type.is_floating and type_.is_integer)
        case Call(function):
            return has_vector_form(function)
        case Update():
            return False
        case Conditional(_, then, otherwise):
            return not any(
                isinstance(inner, Gather) for arm in (then, otherwise) for inner in walk(arm)
            )
        case _:
            return True
