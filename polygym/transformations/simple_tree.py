"""Loop trees in a simple form: no loop that orders nothing, and counters that begin alike.

:func:`simplified_body` leaves loops out whose counter is known from the loops around them. Where
it is known up to a constant for each statement, the constants order the nodes instead::

    L1 (S: i, T: i)                          L1 (S: i, T: i)
      L2 (S: i + 1, T: i)          →           T
        S; T                                   S

:func:`simple_shape` leaves out names, and offsets that all statements of a loop share.
"""

from __future__ import annotations

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
        if known is None:
            inner = simplified_body(node.body, algebra, (*around, node))
            result.append(with_loop_body(node, inner))
        elif known.is_uniform:
            result += simplified_body(node.body, algebra, around)
        elif len({offset[:-1] for offset in known.offsets}) == 1:
            for value in sorted({offset[-1] for offset in known.offsets}):
                own = {
                    name
                    for name, offset in zip(node.statements, known.offsets, strict=True)
                    if offset[-1] == value
                }
                result += simplified_body(restricted(node.body, own), algebra, around)
        else:
            inner = simplified_body(node.body, algebra, (*around, node))
            result.append(with_loop_body(node, inner))
    return tuple(result)


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
