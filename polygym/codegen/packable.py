"""Which reads may be served from a turned copy of their array.

A vector wants neighbours in memory. In C[i][j] += A[i][k] * A[j][k] the vector runs along j, and
A[j][k] with it down a column. A copy of A with its dimensions turned, B[k][j] = A[j][k], has these
elements side by side. Making it costs one pass over the array, which pays where each element is
read many times, and is possible where nothing writes the array: the copy is made once, before.

So a read may be packed if its array has two dimensions or more, is never written, and the statement
has more loops than the array has dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence

from polygym.ir.expr import Access
from polygym.ir.scop import Scop, Statement


def is_packable(scop: Scop, statement: Statement, access: Access) -> bool:
    """Whether a read of a statement may go to a copy of its array, and often enough to pay."""
    array = scop.array(access.array)
    if array.rank < 2 or array.initial is not None or statement.depth <= array.rank:
        return False
    return all(other.write.array != access.array for other in scop.statements)


def turned_dimension(steps: Sequence[int]) -> int | None:
    """Return the dimension that has to become the last one for vectors to be contiguous.

    ``steps`` say by how much each subscript grows from lane to lane.

    >>> turned_dimension((1, 0)), turned_dimension((0, 1)), turned_dimension((1, 1))
    (0, None, None)
    """
    moving = [place for place, step in enumerate(steps) if step]
    if len(moving) == 1 and steps[moving[0]] == 1 and moving[0] != len(steps) - 1:
        return moving[0]
    return None


def turned(dimension: int, rank: int) -> tuple[int, ...]:
    """Return the order of the dimensions with one moved to the end.

    >>> turned(0, 3)
    (1, 2, 0)
    """
    return (*(place for place in range(rank) if place != dimension), dimension)
