"""What the innermost loops of a program do, whatever things are called and in which order loops go.

Two programs that differ in names, sizes and factors, or in the order of their loops, make the same
code but for these. Who tests on a program what was learned from others wants to know whether one of
them was the same one.

A *body* is what stands together in an innermost loop, at the greatest depth of its nest. Of its
statements it has the planes that bound their instances, without parameters and constants, and of
every array by which subscripts it is read and written in which of them. Of all orders of the loops
the one with the smallest text counts. Operators and scalars are left out.

Example: ``C[i][j] += A[i][k] * B[k][j]`` in any order of the loops, and ``X[a][b] = 0.9 * X[a][b]
+ Y[c][b] * Z[a][c]``, have one body; with ``k <= i`` it is another one, and with ``A[k][i]``, too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import permutations
from typing import TypeAlias

import islpy as isl

from polygym.compiler.codegen.common.sizes import own_sizes
from polygym.compiler.ir.scop import Statement
from polygym.compiler.poly.baselines import original
from polygym.compiler.poly.isl_budget import bounded
from polygym.compiler.poly.isl_numbers import coefficients
from polygym.cost.reach import Work, reach
from polygym.cost.shape import Loop, loops_around
from polygym.programs import Program

Body: TypeAlias = str
"""The text of a body; equal ones do the same."""

_LEAST_DEPTH = 2  # copies and sums of vectors are in every program
_MOST_DEPTH = 6  # 720 orders

_Vector: TypeAlias = tuple[int, ...]
_Use: TypeAlias = tuple[int, bool, tuple[tuple[_Vector | None, int], ...]]
"""The number of a statement, whether it writes, and the rows and offsets of the subscripts."""


def bodies(program: Program) -> frozenset[Body]:
    """Return the bodies of a program's nests, those of at least two loops.

    Raises:
        LimitError: isl would take too long.
    """
    scop = program.scop
    works = {one.name: one for one in reach(scop, own_sizes(scop, dict(program.parameters)))}
    order = original(scop)
    nests: defaultdict[object, dict[Loop, list[Statement]]] = defaultdict(dict)
    for statement in scop.statements:
        if path := loops_around(order.rows(statement.name)):
            nests[path[0]].setdefault(path, []).append(statement)
    found = set()
    with bounded("looking at a program's innermost loops"):
        for nest in nests.values():
            depth = max(map(len, nest))
            if _LEAST_DEPTH <= depth <= _MOST_DEPTH:
                found |= {
                    _body(inside, [works[one.name] for one in inside])
                    for path, inside in nest.items()
                    if len(path) == depth
                }
    return frozenset(found)


def _body(statements: Sequence[Statement], works: Sequence[Work]) -> Body:
    """Return the text of what stands together, in that order of the loops in which it is least."""
    planes = [_planes(one) for one in statements]
    uses: defaultdict[str, set[_Use]] = defaultdict(set)
    for number, work in enumerate(works):
        for touch in work.touches:
            if touch.subscripts:
                rows = tuple(zip(touch.subscripts, touch.offsets, strict=True))
                uses[touch.array].add((number, touch.writes, rows))
    return min(
        _in_order(order, planes, list(uses.values()))
        for order in permutations(range(statements[0].depth))
    )


def _in_order(
    order: Sequence[int], planes: Sequence[frozenset[_Vector]], uses: Sequence[set[_Use]]
) -> Body:
    """Return the text with the loops in an order; statements are known by what they do."""

    def turned(row: _Vector | None) -> _Vector | None:
        return None if row is None else tuple(row[place] for place in order)

    bounds = [sorted(map(turned, one), key=repr) for one in planes]
    written = [
        sorted(
            repr([(turned(row), offset) for row, offset in rows])
            for array in uses
            for number, writes, rows in array
            if number == place and writes
        )
        for place in range(len(planes))
    ]
    names = [repr(one) for one in zip(bounds, written, strict=True)]
    arrays = sorted(
        sorted(
            repr((names[number], writes, [(turned(row), offset) for row, offset in rows]))
            for number, writes, rows in array
        )
        for array in uses
    )
    return repr((sorted(names), arrays))


def _planes(statement: Statement) -> frozenset[_Vector]:
    """Return the iterators' factors in the bounds of a statement's domain."""
    return frozenset(
        factors
        for piece in isl.Set(statement.domain).coalesce().get_basic_sets()
        for bound in piece.remove_redundancies().get_constraints()
        if any(factors := tuple(coefficients(bound, isl.dim_type.set)))
    )
