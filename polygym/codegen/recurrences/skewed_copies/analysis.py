"""Diagonals that may run in vectors: where copies of arrays can have a diagonal as a row.

Along the diagonals of ``A[i][j] = f(A[i - 1][j], A[i][j - 1], A[i][j + 1], ...)`` points are
independent, and when a loop goes from one to the next, every access to A moves by the same vector,
(1, -1) here, (1, -2) where a point needs A[i - 1][j + 1]. No two are neighbours in memory. In a
copy B[j + 2i][i] they are: (1, -2) becomes (0, 1).

It can be where all accesses to an array move by one vector, some entry of which is 1 or -1, or, to
read, stand still; and some array is not contiguous anyway. Whether there is room for the copies,
and whether they pay, is seen when there are loops
(:mod:`polygym.codegen.recurrences.skewed_copies.plan`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from polygym.codegen.tree.analysis.access_strides import displacements
from polygym.codegen.tree.analysis.planner_context import PlannerContext
from polygym.codegen.tree.analysis.statement_group import StatementGroup
from polygym.poly.integer_vectors import Vector

_MIN_LANES, _MAX_VECTOR_BITS = 4, 256


def skewed_arrays(group: StatementGroup, context: PlannerContext) -> frozenset[str]:
    """Return the arrays of which copies have a group's diagonals as rows, if there are any.

    That is for known sizes: without, nobody would prove that accesses stay inside the copies.
    """
    place, mapping = group.roles.jammed, context.mapping
    nothing = frozenset[str]()
    if not group.is_diagonal or place is None or not (context.has_vectors and mapping.pack):
        return nothing
    if context.sizes is None:
        return nothing
    lanes = skewed_vector_bits(context) // (8 * context.scop.widest_element(group.statements))
    return _skewable_arrays(group, place, context) if lanes >= _MIN_LANES else nothing


def _skewable_arrays(group: StatementGroup, place: int, context: PlannerContext) -> frozenset[str]:
    """Return the same where it is a question of how accesses move alone."""
    steps: dict[str, Vector] = {}
    for number, name in enumerate(group.statements):
        statement = context.scop.statement(name)
        rows = [member.rows[number] for member in group.members]
        moved = displacements(statement, group.loop_context.rows[name], rows, place)
        if not moved or not any(moved[statement.write] or ()):
            return frozenset()
        for access in (statement.write, *statement.reads):
            step = moved[access]
            if step is None or access.gathered:
                return frozenset()
            if any(step) and steps.setdefault(access.array, step) != step:
                return frozenset()
    if not is_skewable(steps.values()):
        return frozenset()
    return frozenset(name for name, step in steps.items() if is_skewable([step]))


def skewed_vector_bits(context: PlannerContext) -> int:
    """Return the width of vectors along rows of copies.

    A point's neighbours are in other columns, and vectors are where they may be in a row. Of those
    of 512 bits nearly all cross a line of a cache, which takes as long as two loads: seidel-2d is
    8 % faster with half as many lanes.
    """
    return min(context.vector_bits, _MAX_VECTOR_BITS)


def is_skewable(steps: Iterable[Sequence[int]]) -> bool:
    """Whether some arrays are not contiguous along these steps, and copies of them would be.

    >>> is_skewed([(1, -2), (0, 1)]), is_skewed([(0, 1)]), is_skewed([(2, -2)])
    (True, False, False)
    """
    others = [step for step in steps if any(step[:-1]) or step[-1] != 1]
    return bool(others) and all(1 in map(abs, step) for step in others)
