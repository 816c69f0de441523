"""What a program's statements do at given sizes, whatever the schedule: how often, where, how much.

A :class:`Work` is a statement: the corners of its domain (an affine row takes its least and its
greatest value at corners), the number of its instances, its arithmetic, and its accesses as
matrices: A[2i + 1][j - i] over (i, j) has the subscripts ((2, 0), (-1, 1)) and the offsets (1, 0).

The number of instances is exact where it can be had (:mod:`polygym.cost.counts`): nearly
everywhere. Else the share of the box around it that the points at small sizes have is taken for the
share at the large ones. The elements of an array that a statement touches are counted so, too.

An array that is private to threads is touched as a scalar is: one element, again and again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, floor
from typing import TypeAlias

import islpy as isl

from polygym.compiler.codegen.common.sizes import Sizes, at_sizes, known_sizes
from polygym.compiler.ir.expr import Access, Binary, Call, Unary, walk
from polygym.compiler.ir.scop import PRIVATE, Scop, Statement
from polygym.compiler.poly.corners import Corner, corners
from polygym.compiler.poly.evaluate import evaluate
from polygym.compiler.poly.gathers import anchor
from polygym.compiler.poly.isl_budget import bounded
from polygym.compiler.poly.isl_numbers import (
    coefficients,
    constant,
    isl_text,
)
from polygym.cost.counts import instances
from polygym.cost.steps import dense, holes

# Calls of math.h take as long as so many additions.
_CALL = 12

Place: TypeAlias = tuple[str, tuple[tuple[int, ...] | None, ...]]
"""An array and subscripts, as those of accesses that move alike."""


@dataclass(frozen=True, slots=True)
class Touch:
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
class Work:
    """A statement at given sizes; ``elements`` says how many accesses that move alike touch.

    Where a subscript may be anything, there is no number. ``holes`` are those of the domain
    (:mod:`polygym.cost.steps`).
    """

    name: str
    depth: int
    corners: tuple[Corner, ...]
    holes: str
    instances: int
    operations: int
    touches: tuple[Touch, ...]
    sums: bool
    elements: Mapping[Place, int]

    def span(self, row: Sequence[int], offset: int, size: int = 1) -> tuple[int, int]:
        """Return the least and the greatest value of ⌊(row + offset) / size⌋."""
        if not self.corners:
            return 0, -1
        least, greatest = _ends(self, tuple(row))
        return (least + offset) // size, (greatest + offset) // size

    def values(self, row: Sequence[int], by: int) -> int:
        """Return how many values lie between the ends of a row that grows by so much."""
        least, greatest = self.span(row, 0)
        return max(1, (greatest - least) // by + 1)


@lru_cache(maxsize=65536)
def _ends(work: Work, row: tuple[int, ...]) -> tuple[int, int]:
    """Return the least and the greatest integer that a row takes."""
    values = [sum(a * x for a, x in zip(row, corner, strict=True)) for corner in work.corners]
    return ceil(min(values)), floor(max(values))


@lru_cache(maxsize=256)
def _reach(scop: Scop, sizes: tuple[tuple[str, int], ...]) -> tuple[Work, ...]:
    known = known_sizes(scop, dict(sizes)) or {}
    extents = {
        array.name: tuple(evaluate(extent, known) for extent in array.extents)
        for array in scop.arrays
    }
    with bounded("looking at a program's statements"):
        return tuple(_work(scop, one, known, extents) for one in scop.statements)


def reach(scop: Scop, sizes: Sizes) -> tuple[Work, ...]:
    """Return what the statements do at given sizes, in their order; it is remembered.

    Raises:
        LimitError: isl would take too long.
    """
    return _reach(scop, tuple(sorted(sizes.items())))


def _work(
    scop: Scop, statement: Statement, sizes: Sizes, extents: Mapping[str, tuple[int, ...]]
) -> Work:
    domain = at_sizes(isl.Set(statement.domain), sizes)
    accesses = [(statement.write, True), *((read, False) for read in statement.reads)]
    touches = tuple(
        _touch(scop, statement, access, sizes, extents[access.array], writes=writes)
        for access, writes in accesses
    )
    return Work(
        statement.name,
        statement.depth,
        tuple(_corners(domain)) if statement.depth else ((),),
        holes(domain),
        instances(statement.domain, sizes),
        max(1, sum(_cost(node) for node in walk(statement.body))),
        touches,
        bool(statement.own_reads),
        _elements(statement, touches, [access for access, _ in accesses], sizes),
    )


def _elements(
    statement: Statement, touches: Sequence[Touch], accesses: Sequence[Access], sizes: Sizes
) -> dict[Place, int]:
    """Return how many elements accesses that move alike touch."""
    together: dict[Place, isl.Set] = {}
    domain = isl.Set(statement.domain)
    for touch, access in zip(touches, accesses, strict=True):
        if touch.extents and None not in touch.subscripts:
            image = domain.apply(isl.Map(access.relation))
            key = touch.array, touch.subscripts
            together[key] = together[key].union(image) if key in together else image
    return {key: instances(isl_text(image.coalesce()), sizes) for key, image in together.items()}


def _cost(node: object) -> int:
    match node:
        case Binary() | Unary():
            return 1
        case Call():
            return _CALL
        case _:
            return 0


def _touch(
    scop: Scop,
    statement: Statement,
    access: Access,
    sizes: Sizes,
    extents: tuple[int, ...],
    *,
    writes: bool,
) -> Touch:
    array = scop.array(access.array)
    if array.storage in PRIVATE:
        return Touch(array.name, array.type.size, writes, (), (), ())
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
        rows.append(coefficients(form, isl.dim_type.in_) if is_plain else None)
        offsets.append(constant(form) if is_plain else 0)
    return Touch(array.name, array.type.size, writes, tuple(rows), tuple(offsets), extents)


def _corners(points: isl.Set) -> Iterator[Corner]:
    """Yield the corners of the convex pieces of a set without parameters."""
    found: dict[Corner, None] = {}
    whole, factors, offsets = dense(points)
    for piece in whole.make_disjoint().get_basic_sets():
        for place in corners(piece.remove_divs()):
            moved = zip(factors, place, offsets, strict=True)
            found[tuple(factor * value + offset for factor, value, offset in moved)] = None
    yield from found
