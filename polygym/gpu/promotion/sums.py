"""Elements that stay in registers: one for each point of a thread.

Side condition: all accesses of the points' body to the array have the same subscripts, which do not
change in its loops, and which each counter of the points has a part in: so a point has one element,
and since points are independent, no other point has it. Every point accesses it, whatever the
conditions: else the element might be none of the array's, or of another point.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import assert_never

from polygym.codegen.loopir import ir
from polygym.codegen.loopir.index_arithmetic import (
    coefficient,
    depends_on,
    min_max_operands,
)
from polygym.codegen.loopir.linear_sums import constant_difference
from polygym.gpu.promotion.copies import Subscripts
from polygym.gpu.promotion.points import PointNest
from polygym.ir.expressions import Access, Update
from polygym.ir.scop import Statement


@dataclass(frozen=True, slots=True)
class HeldElement:
    """An array with its subscripts at a point.

    ``is_loaded`` says whether its first value is the array's.
    """

    array: str
    subscripts: Subscripts
    is_loaded: bool


def accesses_in(
    node: ir.Node, statements: Mapping[str, Statement]
) -> Iterator[tuple[Statement, int, Access, Subscripts]]:
    """Yield the accesses of a node: the statement, the number of the read or -1, subscripts."""
    for instance in ir.instances_in(node):
        statement = statements[instance.statement]
        yield statement, -1, statement.write, instance.write
        for number, access in enumerate(statement.reads):
            yield statement, number, access, instance.reads[number]


def held_elements(
    nest: PointNest, statements: Mapping[str, Statement], unproved: frozenset[tuple[str, int]]
) -> tuple[HeldElement, ...]:
    """Return what may stay in registers, and is used in a loop of the body."""
    written = {
        statements[instance.statement].write.array for instance in ir.instances_in(nest.body)
    }
    in_loops = {
        access.array
        for loop in ir.loops_in(nest.body)
        for _, _, access, _ in accesses_in(loop, statements)
    }
    result = []
    for array in sorted(written & in_loops):
        own = [row for row in accesses_in(nest.body, statements) if row[2].array == array]
        element = own[0][3]
        if (
            all(subscripts == element for *_, subscripts in own)
            and not any((statement.name, number) in unproved for statement, number, *_ in own)
            and not any(access.gathered for _, _, access, _ in own)
            and not any(isinstance(statement.body, Update) for statement, *_ in own)
            and _is_of_the_point(nest, element)
            and _surely_accesses(nest.body, array, statements)
        ):
            result.append(HeldElement(array, element, _needs_value(nest, array, statements)))
    return tuple(result)


def _is_of_the_point(nest: PointNest, element: Subscripts) -> bool:
    inner = {loop.variable for loop in ir.loops_in(nest.body)}
    if any(depends_on(subscript, name) for subscript in element for name in inner):
        return False
    return all(
        any(coefficient(subscript, axis.variable) not in (0, None) for subscript in element)
        for axis in nest.axes
    )


def _surely_accesses(node: ir.Node, array: str, statements: Mapping[str, Statement]) -> bool:
    """Whether an instance of a node accesses an array whenever the node runs."""
    match node:
        case ir.Instance():
            statement = statements[node.statement]
            return array in {access.array for access in (statement.write, *statement.reads)}
        case ir.Block(children):
            return any(_surely_accesses(child, array, statements) for child in children)
        case ir.Guard(_, then, otherwise):
            return otherwise is not None and all(
                _surely_accesses(part, array, statements) for part in (then, otherwise)
            )
        case ir.Loop(_, lower, upper, _, body):
            lengths = [
                constant_difference(last, first)
                for first in min_max_operands(lower, ir.IndexOperator.MAXIMUM)
                for last in min_max_operands(upper, ir.IndexOperator.MINIMUM)
            ]
            runs = all(length is not None and length >= 0 for length in lengths)
            return runs and _surely_accesses(body, array, statements)
        case _:
            assert_never(node)


def _needs_value(nest: PointNest, array: str, statements: Mapping[str, Statement]) -> bool:
    """Whether something may use the value that the array has before."""
    first = nest.body.children[0] if isinstance(nest.body, ir.Block) else nest.body
    if not isinstance(first, ir.Instance):
        return True
    statement = statements[first.statement]
    is_set = statement.write.array == array
    return not is_set or any(access.array == array for access in statement.reads)
