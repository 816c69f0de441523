"""Loop trees in a simple form: no loop that orders nothing, and counters that begin alike.

:func:`simplified_body` leaves loops out whose counter is known from the loops around them. Where
it is known up to a constant for each statement, the constants order the nodes instead::

    L1 (S: i, T: i)                          L1 (S: i, T: i)
      L2 (S: i + 1, T: i)          →           T
        S; T                                   S

A factor of all rows of a loop is left out. :func:`simple_shape` leaves out names, and offsets that
all statements of a loop share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import gcd

from polygym.poly.row_combinations import RowAlgebra
from polygym.poly.schedule import ScheduleRow
from polygym.transformations.loop_tree import (
    Body,
    Loop,
    Node,
    StatementNode,
    restricted,
    with_loop_body,
)


def simplified_body(body: Body, algebra: RowAlgebra, around: tuple[Loop, ...] = ()) -> Body:
    """Return a body without loops that order nothing."""
    result: list[Node] = []
    for node in body:
        if isinstance(node, StatementNode):
            result.append(node)
            continue
        known = algebra.combination(
            node.statements,
            node.rows,
            [[loop.row(name) for name in node.statements] for loop in around],
        )
        if known is not None and len({offset[:-1] for offset in known.offsets}) == 1:
            constants = [offset[-1] for offset in known.offsets]
            result += simplified_body(_in_order(node, constants), algebra, around)
            continue
        node = _without_factor(node)
        inner = simplified_body(node.body, algebra, (*around, node))
        result.append(with_loop_body(node, inner))
    return tuple(result)


def _in_order(loop: Loop, constants: Sequence[int]) -> Body:
    """Return the body of a loop in the order of a constant for each statement."""
    values = dict(zip(loop.statements, constants, strict=True))
    return tuple(
        node
        for value in sorted(set(constants))
        for node in restricted(loop.body, {name for name in values if values[name] == value})
    )


def _without_factor(loop: Loop) -> Loop:
    """Return a loop with smaller rows: g·q + c orders instances as q + ⌊c / g⌋, then c mod g.

    Example: S: 2i, T: 2i + 1 is a loop with S: i, T: i, in which S stands before T.
    """
    factor = gcd(*(v for row in loop.rows for v in (*row.iterators, *row.parameters)))
    if factor < 2:
        return loop
    rows = tuple(
        ScheduleRow(
            tuple(value // factor for value in row.iterators),
            tuple(value // factor for value in row.parameters),
            row.constant // factor,
        )
        for row in loop.rows
    )
    smaller = replace(loop, rows=rows)
    return with_loop_body(smaller, _in_order(loop, [row.constant % factor for row in loop.rows]))


def simple_shape(body: Body, algebra: RowAlgebra | None = None) -> tuple[object, ...]:
    """Return a body without names and common offsets; ``algebra`` knows which rows are equal."""
    return tuple(
        node.name
        if isinstance(node, StatementNode)
        else (node.statements, _relative(node, algebra), simple_shape(node.body, algebra))
        for node in body
    )


def _relative(loop: Loop, algebra: RowAlgebra | None) -> tuple[ScheduleRow, ...]:
    rows = loop.rows
    if algebra is not None:
        rows = tuple(map(algebra.reduced, loop.statements, rows))
    first = rows[0]
    return tuple(
        ScheduleRow(
            row.iterators,
            tuple(a - b for a, b in zip(row.parameters, first.parameters, strict=True)),
            row.constant - first.constant,
        )
        for row in rows
    )
