"""Diagonals that may run in vectors: where copies of arrays can have a diagonal as a row.

Along the diagonals of ``A[i][j] = f(A[i - 1][j], A[i][j - 1], A[i][j + 1], ...)`` points are
independent, and when a loop goes from one to the next, every access to A moves by the same vector,
(1, -1) here, (1, -2) where a point needs A[i - 1][j + 1]. No two are neighbours in memory. In a
copy B[j + 2i][i] they are: (1, -2) becomes (0, 1).

It can be where all accesses to an array move by one vector, some entry of which is 1 or -1, or, to
read, stand still; and some array is not contiguous anyway. Whether there is room for the copies,
and whether they pay, is seen when there are loops
(:mod:`polygym.compiler.codegen.loops.skew_plan`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from polygym.compiler.codegen.trees.group import Group
from polygym.compiler.codegen.trees.moves import displacements
from polygym.compiler.codegen.trees.setting import Setting
from polygym.compiler.poly.integers import Vector

_FEWEST_LANES, _WIDEST = 4, 256


def skewed_arrays(group: Group, setting: Setting) -> frozenset[str]:
    """Return the arrays of which copies have a group's diagonals as rows, if there are any.

    That is for known sizes: without, nobody would prove that accesses stay inside the copies.
    """
    place, mapping = group.roles.jammed, setting.mapping
    nothing = frozenset[str]()
    if not group.diagonal or place is None or not (setting.has_vectors and mapping.pack):
        return nothing
    if setting.sizes is None:
        return nothing
    lanes = bits_of_skewed(setting) // (8 * setting.scop.widest(group.statements))
    return _arrays(group, place, setting) if lanes >= _FEWEST_LANES else nothing


def _arrays(group: Group, place: int, setting: Setting) -> frozenset[str]:
    """Return the same where it is a question of how accesses move alone."""
    steps: dict[str, Vector] = {}
    for number, name in enumerate(group.statements):
        statement = setting.scop.statement(name)
        rows = [member.rows[number] for member in group.members]
        moved = displacements(statement, group.around.rows[name], rows, place)
        if not moved or not any(moved[statement.write] or ()):
            return frozenset()
        for access in (statement.write, *statement.reads):
            step = moved[access]
            if step is None or access.gathered:
                return frozenset()
            if any(step) and steps.setdefault(access.array, step) != step:
                return frozenset()
    if not is_skewed(steps.values()):
        return frozenset()
    return frozenset(name for name, step in steps.items() if is_skewed([step]))


def bits_of_skewed(setting: Setting) -> int:
    """Return the width of vectors along rows of copies.

    A point's neighbours are in other columns, and vectors are where they may be in a row. Of those
    of 512 bits nearly all cross a line of a cache, which takes as long as two loads: seidel-2d is
    8 % faster with half as many lanes.
    """
    return min(setting.vector_bits, _WIDEST)


def is_skewed(steps: Iterable[Sequence[int]]) -> bool:
    """Whether some arrays are not contiguous along these steps, and copies of them would be.

    >>> is_skewed([(1, -2), (0, 1)]), is_skewed([(0, 1)]), is_skewed([(2, -2)])
    (True, False, False)
    """
    others = [step for step in steps if any(step[:-1]) or step[-1] != 1]
    return bool(others) and all(1 in map(abs, step) for step in others)
