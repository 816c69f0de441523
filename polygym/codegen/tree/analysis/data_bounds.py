"""Bands over loops whose bounds are read from memory: the order of their members.

Each row of a sparse matrix is a part of ``k = 0 .. nnz - 1``, between bounds that stand still while
k runs (:mod:`polygym.poly.data_bounds`). Tiles, lanes or copies of such a loop, or of one further
out, would visit all nnz entries for each row. So the band keeps its points: members on which the
bounds depend outside, then those that have bounds, then the others::

    c[i][j] += value[k] * b[column[k]][j]   for k from row[i]      Band(i, j, k)  →  Band(i, k, j)

Any order is legal: a band is permutable.
"""

from polygym.codegen.tree.ir import Band, BandMember
from polygym.ir.scop import Scop, Statement
from polygym.poly.data_bounds import data_bounded_iterators
from polygym.poly.schedule import ScheduleRow


def members_around_data_bounds(scop: Scop, band: Band) -> tuple[BandMember, ...] | None:
    """Return the members of a band in their order, None if no statement has data bounds."""
    statements = [scop.statement(name) for name in band.statements]
    if not any(map(data_bounded_iterators, statements)):
        return None

    def rank(member: BandMember) -> int:
        return min(map(_rank, statements, member.rows))

    return tuple(sorted(band.members, key=rank))


def _rank(statement: Statement, row: ScheduleRow) -> int:
    """Return 0 for a row on which data bounds depend, 1 for one that has some, else 2."""
    bounded = data_bounded_iterators(statement)
    pairs = zip(statement.iterators, row.iterators, strict=True)
    own = {name for name, factor in pairs if factor}
    needed = {name for bounds in bounded.values() for name in bounds.needed}
    return 0 if own & needed else 1 if own & bounded.keys() else 2
