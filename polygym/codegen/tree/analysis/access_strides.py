"""Access strides of each loop of a band, and the best vector loop by them.

When only loop m advances and all others stand, a statement's instance moves along a line, and each
of its accesses by a fixed displacement (``innermost_loop``, which finds both):
not at all, to the neighbour in memory, or farther. Example, C[i][j] += A[i][k] * B[k][j]::

              C       A       B
    i         far     far     same
    k         same    next    far
    j         next    same    next

so j is the loop for vectors, and k the one during which C can stay in a register.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from polygym.codegen.common.packing_candidates import PackingCandidates, dimension_to_transpose
from polygym.codegen.tree.planning_memo import NO_MEMO, PlanningMemo
from polygym.ir.expressions import Access
from polygym.ir.scop import Scop, Statement
from polygym.poly.innermost import (
    AccessStride,
    InnermostLoop,
    access_offset,
    classify_stride,
    displacement,
    domain_equations,
    independent_rows,
    innermost_loop,
    usual_displacement,
)
from polygym.poly.integer_vectors import Vector
from polygym.poly.schedule import ScheduleRow


class StrideKind(Enum):
    """Where an access goes when one loop advances, as far as vectors and registers care.

    That is a :class:`~polygym.poly.innermost.AccessStride` with a direction: vectors load what
    follows in memory, and whatever is neither there nor the same element is equally far.
    """

    ZERO = 0
    UNIT = 1
    OTHER = 2


@dataclass(frozen=True, slots=True)
class AccessStrides:
    """The moves of one statement with one loop: of its write, and of its reads in their order.

    ``transposed_reads`` are the numbers of reads that go to neighbours in a copy alone.
    ``overlapping_reads`` says how many reads touch what another one touches an iteration earlier or
    later, as A[i - 1][j] and A[i][j] do along i.
    """

    write: StrideKind
    reads: tuple[StrideKind, ...]
    transposed_reads: frozenset[int] = frozenset()
    overlapping_reads: int = 0

    @property
    def all(self) -> tuple[StrideKind, ...]:
        """The moves of every access."""
        return (self.write, *self.reads)


def shares_vectors(row_strides: AccessStrides, column_strides: AccessStrides) -> bool:
    """Whether the iterations of one loop need the same vectors, which run along another one."""
    return bool(shared_vectors(row_strides, column_strides))


def shared_vectors(row_strides: AccessStrides, column_strides: AccessStrides) -> tuple[int, ...]:
    """Return the reads of which all iterations of one loop need the same vectors along another."""
    pairs = enumerate(zip(row_strides.reads, column_strides.reads, strict=True))
    return tuple(
        k for k, (down, along) in pairs if down is StrideKind.ZERO and along is StrideKind.UNIT
    )


def strides_of(
    statement: Statement,
    others: Sequence[Vector],
    row: Vector,
    packing: PackingCandidates | None = None,
) -> AccessStrides:
    """Return the moves with the loop of a row while those of others stand, in whatever order.

    With ``packing``, what a copy of the array would make a neighbour counts as one.
    """
    rows, fixed = [*others, row], domain_equations(statement.domain)
    kept = independent_rows(rows, fixed)
    if len(rows) - 1 not in kept or len(kept) + len(fixed) < statement.depth:
        # The loop has one iteration for this statement, or ties leave the direction open.
        same = len(rows) - 1 not in kept
        move = StrideKind.ZERO if same else StrideKind.OTHER
        return AccessStrides(move, (move,) * len(statement.reads))
    loop = innermost_loop(statement.domain, [rows[place] for place in kept])

    def is_turned(access: Access) -> bool:
        vector = displacement(statement, access, loop)
        return (
            packing is not None
            and vector is not None
            and dimension_to_transpose(vector) is not None
            and packing.allows(statement, access)
        )

    def move_of(access: Access) -> StrideKind:
        vector = displacement(statement, access, loop)
        if vector is None:
            # The usual stride of a subscript that wraps around now and then.
            vector = usual_displacement(statement, access, loop)
        return StrideKind.OTHER if vector is None else _stride_kind(vector)

    again = 0 if loop is None else repeated_reads(statement, loop)
    turned = frozenset(number for number, access in enumerate(statement.reads) if is_turned(access))
    reads = (
        StrideKind.UNIT if number in turned else move_of(access)
        for number, access in enumerate(statement.reads)
    )
    return AccessStrides(move_of(statement.write), tuple(reads), turned, again)


def repeated_reads(statement: Statement, loop: InnermostLoop) -> int:
    """Return how many reads touch an element that another read touches one iteration later.

    Vectors of such a read stay in a register where iterations run together. In
    ``A[i - 1][j] + A[i][j - 1] + A[i][j] + A[i][j + 1] + A[i + 1][j]`` two do along i, two along j.
    """
    reads = tuple(dict.fromkeys(read for read in statement.reads if not read.gathered))
    literal = 0
    for read in reads:
        moved = displacement(statement, read, loop)
        if moved is None or not any(moved):
            continue
        others = (other for other in reads if other.array == read.array and other is not read)
        literal += any(access_offset(read.relation, other.relation) == moved for other in others)
    return literal


def displacements(
    statement: Statement, outer: Sequence[ScheduleRow], band: Sequence[ScheduleRow], position: int
) -> Mapping[Access, Vector | None] | None:
    """Return by how much the subscripts of each access change with one member of a band.

    None where ties leave the direction of the loop open, nothing where it has one iteration for the
    statement.
    """
    others = [row.iterators for row in outer]
    others += [row.iterators for place, row in enumerate(band) if place != position]
    rows, fixed = [*others, band[position].iterators], domain_equations(statement.domain)
    kept = independent_rows(rows, fixed)
    if len(rows) - 1 not in kept:
        return {}
    if len(kept) + len(fixed) < statement.depth:
        return None
    loop = innermost_loop(statement.domain, [rows[place] for place in kept])
    accesses = (statement.write, *statement.reads)
    return {access: displacement(statement, access, loop) for access in accesses}


def _stride_kind(displacement: Vector) -> StrideKind:
    """Return the move of one displacement.

    >>> [_stride_kind(vector).name for vector in [(), (0, 0), (0, 1), (0, -1), (1, 1)]]
    ['ZERO', 'ZERO', 'UNIT', 'OTHER', 'OTHER']
    """
    match classify_stride(displacement):
        case AccessStride.SAME:
            return StrideKind.ZERO
        case AccessStride.UNIT if displacement[-1] > 0:
            return StrideKind.UNIT
        case _:
            return StrideKind.OTHER


def stride_table(
    scop: Scop,
    statements: tuple[str, ...],
    outer: Mapping[str, Sequence[ScheduleRow]],
    band: Sequence[tuple[ScheduleRow, ...]],
    packing: PackingCandidates | None = None,
    memo: PlanningMemo = NO_MEMO,
) -> tuple[Mapping[str, AccessStrides], ...]:
    """Return the moves of every statement with every member, whose rows are ``band``.

    Loops that stand have no order, so whatever stands around the same ones shares the answers.
    """

    def moves(place: int, name: str, position: int) -> AccessStrides:
        around = [row.iterators for row in outer[name]]
        around += [rows[place].iterators for at, rows in enumerate(band) if at != position]
        row = band[position][place].iterators
        return memo.get_or_compute(
            ("move", name, frozenset(around), row, packing),
            lambda: strides_of(scop.statement(name), around, row, packing),
        )

    return tuple(
        {name: moves(place, name, position) for place, name in enumerate(statements)}
        for position in range(len(band))
    )
