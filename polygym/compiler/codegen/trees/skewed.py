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

_FEWEST_LANES = 4


def may_be_skewed(group: Group, setting: Setting) -> bool:
    """Whether the jammed loop of a group runs along diagonals of which copies could have rows."""
    place, mapping = group.roles.jammed, setting.mapping
    if not group.diagonal or place is None or not (setting.has_vectors and mapping.pack):
        return False
    if setting.lanes(group.statements) < _FEWEST_LANES:
        return False
    steps: dict[str, Vector] = {}
    for number, name in enumerate(group.statements):
        statement = setting.scop.statement(name)
        rows = [member.rows[number] for member in group.members]
        moved = displacements(statement, group.around.rows[name], rows, place)
        if not moved:
            return False
        for access in (statement.write, *statement.reads):
            step = moved[access]
            if step is None or access.gathered:
                return False
            if any(step) and steps.setdefault(access.array, step) != step:
                return False
        if not any(moved[statement.write] or ()):
            return False
    return is_skewed(steps.values())


def is_skewed(steps: Iterable[Sequence[int]]) -> bool:
    """Whether some arrays are not contiguous along these steps, and copies of them would be.

    >>> is_skewed([(1, -2), (0, 1)]), is_skewed([(0, 1)]), is_skewed([(2, -2)])
    (True, False, False)
    """
    others = [step for step in steps if any(step[:-1]) or step[-1] != 1]
    return bool(others) and all(1 in map(abs, step) for step in others)
