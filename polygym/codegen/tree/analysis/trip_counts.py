"""Trip counts: the most iterations of a loop, from the reach of a row over instances.

Example: at n = 40 the row ``i + j`` over ``{ S[i, j] : 0 <= i < n and 0 <= j < 3 }`` takes the
values 0 to 41, which are 42; in tiles of 16 they are 3.
"""

from collections.abc import Sequence
from functools import lru_cache

import islpy as isl

from polygym.codegen.tree.ir import BandMember
from polygym.ir.scop import Scop, Statement
from polygym.mapping.sizes import Sizes, at_sizes, row_at_sizes
from polygym.mapping.tuning_parameters import TUNING
from polygym.poly.evaluation import RationalVertex, integer_hull_vertices, value_range
from polygym.poly.isl_values import to_int
from polygym.poly.schedule import ScheduleRow, combine_rows


def row_trip_count(
    statement: Statement, row: ScheduleRow, parameters: Sequence[str], sizes: Sizes
) -> int:
    """Return the number of values between the least and the greatest that a row takes."""
    return _row_trip_count(statement, row, tuple(parameters), tuple(sizes.items()))


def member_trip_count(
    scop: Scop,
    statements: Sequence[str],
    member: BandMember,
    parameters: Sequence[str],
    sizes: Sizes,
) -> int:
    """Return how many iterations a member has at most, over all statements of its band.

    It counts points or tiles, not a sum of tiles, as a wavefront does.
    """
    (part,) = member.terms
    return max(
        -(-row_trip_count(scop.statement(name), row, parameters, sizes) // part.size)
        for name, row in zip(statements, part.rows, strict=True)
    )


def inner_trip_count(
    scop: Scop,
    statements: Sequence[str],
    member: BandMember,
    outer: BandMember,
    parameters: Sequence[str],
    sizes: Sizes,
) -> int:
    """Return how many iterations a member has at most while one further out stands still.

    Where ``t`` stands, ``2t + i`` takes as many values as ``i`` does: no more, whatever c is, than
    ``2t + i - c·t`` takes in all, of which the least is returned.
    """

    def reach(name: str, row: ScheduleRow, other: ScheduleRow) -> int:
        skewed = (
            combine_rows(row, other, 1, -factor)
            for factor in range(-TUNING.max_skew_coefficient, TUNING.max_skew_coefficient + 1)
        )
        return min(
            row_trip_count(scop.statement(name), schedule_row, parameters, sizes)
            for schedule_row in skewed
        )

    return max(map(reach, statements, member.rows, outer.rows))


def has_uniform_work(
    scop: Scop, statements: Sequence[str], member: BandMember, sizes: Sizes
) -> bool:
    """Whether each iteration of a member that is one loop of the source has the same work."""
    known = tuple(sizes.items())
    return all(
        sum(map(bool, row.iterators)) == 1 and _is_box(scop.statement(name).domain, known)
        for name, row in zip(statements, member.rows, strict=True)
    )


@lru_cache(maxsize=1024)
def _is_box(domain: str, sizes: tuple[tuple[str, int], ...]) -> bool:
    """Whether the bounds of no loop around a statement depend on the others."""
    return bool(at_sizes(isl.Set(domain), dict(sizes)).is_box())


@lru_cache(maxsize=4096)
def _row_trip_count(
    statement: Statement,
    row: ScheduleRow,
    parameters: tuple[str, ...],
    sizes: tuple[tuple[str, int], ...],
) -> int:
    at = _corners(statement.domain, sizes)
    if at == ():
        return 0
    if at is not None and (bounds := value_range(row.iterators, at)) is not None:
        least, greatest = bounds
        return greatest - least + 1
    points = at_sizes(isl.Set(statement.domain), dict(sizes))
    text = row_at_sizes(row, parameters, dict(sizes)).text(statement.iterators, parameters)
    names = ", ".join(statement.iterators)
    form = isl.Aff(f"{{ {statement.name}[{names}] -> [({text})] }}")
    return to_int(points.max_val(form)) - to_int(points.min_val(form)) + 1


@lru_cache(maxsize=1024)
def _corners(domain: str, sizes: tuple[tuple[str, int], ...]) -> tuple[RationalVertex, ...] | None:
    """Return the corners of a domain, none of an empty one; None where they do not say it all."""
    points = at_sizes(isl.Set(domain), dict(sizes))
    return () if points.is_empty() else integer_hull_vertices(points)
