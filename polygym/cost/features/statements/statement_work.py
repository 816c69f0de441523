"""Work of a program's statements at given sizes, whatever the schedule: counts and operations.

A :class:`StatementWork` is a statement: the corners of its domain (an affine row takes its least
and its greatest value at corners), the number of its instances, its arithmetic, and its accesses as
matrices: A[2i + 1][j - i] over (i, j) has the subscripts ((2, 0), (-1, 1)) and the offsets (1, 0).

The number of instances is exact where it can be had
(:mod:`polygym.cost.features.statements.point_counts`): nearly everywhere. Else the share of the box
around it that the points at small sizes have is taken for the share at the large ones. The elements
of an array that a statement touches are counted so, too.

An array that is private to threads is touched as a scalar is: one element, again and again.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, floor
from typing import TypeAlias

import islpy as isl

from polygym.cost.features.statements.point_counts import count_instances
from polygym.cost.features.statements.row_steps import domain_holes, remove_holes
from polygym.ir.expressions import Access
from polygym.ir.scop import PRIVATE_STORAGE_CLASSES, Scop, Statement
from polygym.mapping.sizes import Sizes, at_sizes, known_sizes
from polygym.poly import isl_values
from polygym.poly.data_bounds import running_share
from polygym.poly.estimates.work import arithmetic_operations
from polygym.poly.evaluation import RationalVertex, evaluate_extent, rational_vertices
from polygym.poly.isl_budget import bounded_operations
from polygym.poly.may_accesses import anchor

SubscriptedArray: TypeAlias = tuple[str, tuple[tuple[int, ...] | None, ...]]
"""An array and subscripts, as those of accesses that move alike."""


@dataclass(frozen=True, slots=True)
class StatementAccess:
    """An access: a row of coefficients for every subscript, and what is added to it.

    A subscript that is no affine function has None, and may be anything that there is.
    """

    array: str
    bytes: int
    writes: bool
    subscripts: tuple[tuple[int, ...] | None, ...]
    offsets: tuple[int, ...]
    extents: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class StatementWork:
    """A statement at given sizes; ``footprints`` says how many accesses that move alike touch.

    Where a subscript may be anything, there is no number. ``domain_holes`` are those of the domain
    (:mod:`polygym.cost.features.statements.row_steps`).
    """

    name: str
    depth: int
    corners: tuple[RationalVertex, ...]
    domain_holes: str
    instances: int
    operations: int
    accesses: tuple[StatementAccess, ...]
    is_reduction: bool
    footprints: Mapping[SubscriptedArray, int]

    def row_range(self, row: Sequence[int], offset: int, size: int = 1) -> tuple[int, int]:
        """Return the least and the greatest value of ⌊(row + offset) / size⌋."""
        if not self.corners:
            return 0, -1
        least, greatest = _row_range(self, tuple(row))
        return (least + offset) // size, (greatest + offset) // size

    def value_count(self, row: Sequence[int], by: int) -> int:
        """Return how many values lie between the ends of a row that grows by so much."""
        least, greatest = self.row_range(row, 0)
        return max(1, (greatest - least) // by + 1)


@lru_cache(maxsize=65536)
def _row_range(work: StatementWork, row: tuple[int, ...]) -> tuple[int, int]:
    """Return the least and the greatest integer that a row takes."""
    values = [sum(a * x for a, x in zip(row, corner, strict=True)) for corner in work.corners]
    return ceil(min(values)), floor(max(values))


@lru_cache(maxsize=256)
def _work_of_statements(
    scop: Scop, sizes: tuple[tuple[str, int], ...]
) -> tuple[StatementWork, ...]:
    known = known_sizes(scop, dict(sizes)) or {}
    extents = {
        array.name: tuple(evaluate_extent(extent, known) for extent in array.extents)
        for array in scop.arrays
    }
    with bounded_operations("looking at a program's statements"):
        return tuple(
            _statement_work(scop, statement, known, extents) for statement in scop.statements
        )


def work_of_statements(scop: Scop, sizes: Sizes) -> tuple[StatementWork, ...]:
    """Return what the statements do at given sizes, in their order; it is remembered.

    Raises:
        LimitError: isl would take too long.
    """
    return _work_of_statements(scop, tuple(sorted(sizes.items())))


def _statement_work(
    scop: Scop, statement: Statement, sizes: Sizes, extents: Mapping[str, tuple[int, ...]]
) -> StatementWork:
    domain = at_sizes(isl.Set(statement.domain), sizes)
    accesses = [(statement.write, True), *((read, False) for read in statement.reads)]
    touches = tuple(
        _statement_access(scop, statement, access, sizes, extents[access.array], writes=writes)
        for access, writes in accesses
    )
    return StatementWork(
        statement.name,
        statement.depth,
        tuple(_domain_vertices(domain)) if statement.depth else ((),),
        domain_holes(domain),
        ceil(running_share(statement, domain) * count_instances(statement.domain, sizes)),
        max(1, arithmetic_operations(statement)),
        touches,
        bool(statement.accumulator_reads),
        _footprint_sizes(statement, touches, [access for access, _ in accesses], sizes),
    )


def _footprint_sizes(
    statement: Statement,
    touches: Sequence[StatementAccess],
    accesses: Sequence[Access],
    sizes: Sizes,
) -> dict[SubscriptedArray, int]:
    """Return how many elements accesses that move alike touch."""
    together: dict[SubscriptedArray, isl.Set] = {}
    domain = isl.Set(statement.domain)
    for touch, access in zip(touches, accesses, strict=True):
        if touch.extents and None not in touch.subscripts:
            image = domain.apply(isl.Map(access.relation))
            key = touch.array, touch.subscripts
            together[key] = together[key].union(image) if key in together else image
    return {
        key: count_instances(isl_values.isl_text(image.coalesce()), sizes)
        for key, image in together.items()
    }


def _statement_access(
    scop: Scop,
    statement: Statement,
    access: Access,
    sizes: Sizes,
    extents: tuple[int, ...],
    *,
    writes: bool,
) -> StatementAccess:
    array = scop.array(access.array)
    if array.storage_class in PRIVATE_STORAGE_CLASSES:
        return StatementAccess(array.name, array.type.size, writes, (), (), ())
    pieces: list[isl.MultiAff] = []
    relation = at_sizes(isl.Map(anchor(access)), sizes)
    isl.PwMultiAff.from_map(relation).foreach_piece(lambda _, piece: pieces.append(piece))
    rows: list[tuple[int, ...] | None] = []
    offsets: list[int] = []
    for place in range(len(extents)):
        form = pieces[0].get_aff(place) if pieces else None
        is_plain = (
            form is not None
            and place not in access.gathered
            and not form.dim(isl.dim_type.div)
            and form.get_denominator_val().is_one()
        )
        rows.append(isl_values.coefficients(form, isl.dim_type.in_) if is_plain else None)
        offsets.append(isl_values.constant_term(form) if is_plain else 0)
    return StatementAccess(
        array.name, array.type.size, writes, tuple(rows), tuple(offsets), extents
    )


def _domain_vertices(points: isl.Set) -> Iterator[RationalVertex]:
    """Yield the corners of the convex pieces of a set without parameters."""
    vertices: dict[RationalVertex, None] = {}
    whole, factors, offsets = remove_holes(points)
    for piece in whole.make_disjoint().get_basic_sets():
        for place in rational_vertices(piece.remove_divs()):
            moved = zip(factors, place, offsets, strict=True)
            vertices[tuple(factor * value + offset for factor, value, offset in moved)] = None
    yield from vertices
