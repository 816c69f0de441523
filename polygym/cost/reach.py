"""What a program's statements do at given sizes, whatever the schedule: how often, where, how much.

A :class:`Work` is a statement: the corners of its domain (an affine row takes its least and its
greatest value at corners), the number of its instances, its arithmetic, and its accesses as
matrices: A[2i + 1][j - i] over (i, j) has the subscripts ((2, 0), (-1, 1)) and the offsets (1, 0).

The number of instances is exact where it can be had. A domain whose bounds are affine has a number
of points that is a polynomial of the sizes in every region of them in which the bounds keep their
order. So it is counted at small sizes of the same region, as many as the polynomial of that degree
has coefficients, and evaluated: { S[i, j] : 0 <= j < i < n } at n = 2000 follows from its points at
n = 10, 11, 12 (45, 55, 66), and is 1,999,000. A further count is the proof of it; where that is
another number, a modulo say, or where the polynomial has too many coefficients, the share of the
box around it that the points at small sizes have is taken for the share at the large ones. The
elements of an array that a statement touches are counted so, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import ceil, comb, floor, prod
from typing import TypeAlias

import islpy as isl

from polygym.compiler.codegen.common.boxes import ranges_of, size_of
from polygym.compiler.codegen.common.sizes import Sizes, at_sizes, known_sizes
from polygym.compiler.ir.expr import Access, Binary, Call, Unary, walk
from polygym.compiler.ir.scop import Scop, Statement
from polygym.compiler.poly.evaluate import evaluate
from polygym.compiler.poly.gathers import anchor
from polygym.compiler.poly.isl_budget import bounded
from polygym.compiler.poly.isl_numbers import (
    coefficients,
    constant,
    count,
    integer,
    isl_text,
)

# Calls of math.h take as long as so many additions.
_CALL = 12
# Sizes up to which points are counted; the least at which they are counted for a polynomial.
_COUNTED = 6
_SMALL = 8
# A polynomial has as many unknowns as there are counts; solving them takes their cube.
_MOST_UNKNOWNS = 84


Corner: TypeAlias = int | Fraction
"""A coordinate of a corner."""

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

    Where a subscript may be anything, there is no number.
    """

    name: str
    depth: int
    corners: tuple[tuple[Corner, ...], ...]
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
    size = scop.array(access.array).type.size
    return Touch(access.array, size, writes, tuple(rows), tuple(offsets), extents)


def _corners(points: isl.Set) -> Iterator[tuple[Corner, ...]]:
    """Yield the corners of the convex pieces of a set without parameters."""
    found: dict[tuple[Corner, ...], None] = {}
    for piece in points.make_disjoint().get_basic_sets():
        hull = piece.remove_divs()

        def corner(vertex: isl.Vertex) -> None:
            form = vertex.get_expr()
            place = [form.get_aff(k) for k in range(form.dim(isl.dim_type.out))]
            found[tuple(_value(one) for one in place)] = None

        hull.compute_vertices().foreach_vertex(corner)
    yield from found


def _value(form: isl.Aff) -> Corner:
    """Return the value of a form that is a constant."""
    down = integer(form.get_denominator_val())
    up = integer(form.get_constant_val().mul(isl.Val(down)))
    return up // down if up % down == 0 else Fraction(up, down)


def instances(text: str, sizes: Sizes) -> int:
    """Return how many points a domain has at given sizes, a share of its box if need be.

    >>> triangle = "[n] -> { S[i, j] : 0 <= j < i < n }"
    >>> instances(triangle, {"n": 5}), instances(triangle, {"n": 2000})
    (10, 1999000)
    """
    found = exact_instances(text, sizes)
    if found is not None:
        return found
    domain = isl.Set(text)
    small, _ = _alike(_names(domain, sizes), sizes, domain.dim(isl.dim_type.set))
    share = Fraction(_counted(domain, small), max(1, _box(text, small)))
    return max(1, round(share * _box(text, sizes)))


def exact_instances(text: str, sizes: Sizes) -> int | None:
    """Return how many points a domain has at given sizes; None where no polynomial says it."""
    domain = isl.Set(text)
    points = at_sizes(domain, sizes)
    if points.is_empty():
        return 0
    if points.is_box():
        return _box(text, sizes)
    depth = domain.dim(isl.dim_type.set)
    names = _names(domain, sizes)
    if max((sizes[name] for name in names), default=0) <= _COUNTED or not depth:
        return _counted(domain, sizes)
    small, groups = _alike(names, sizes, depth)
    found = _by_polynomial(domain, sizes, small, groups, depth)
    if found is None or found.denominator != 1 or not 0 <= found <= _box(text, sizes):
        return None
    return found.numerator


def _names(domain: isl.Set, sizes: Sizes) -> list[str]:
    """Return the sizes on which a domain depends."""
    return [
        name
        for name in sizes
        if (place := domain.find_dim_by_name(isl.dim_type.param, name)) >= 0
        and domain.involves_dims(isl.dim_type.param, place, 1)
    ]


def _by_polynomial(
    domain: isl.Set,
    sizes: Sizes,
    small: Mapping[str, int],
    groups: Sequence[tuple[str, ...]],
    depth: int,
) -> Fraction | None:
    """Return the value of the polynomial through counts at small sizes; None where it is none."""
    if comb(depth + len(groups), depth) > _MOST_UNKNOWNS:
        return None
    steps = [step for step in product(range(depth + 1), repeat=len(groups)) if sum(step) <= depth]

    def moved(step: Sequence[int]) -> dict[str, int]:
        more = {name: by for group, by in zip(groups, step, strict=True) for name in group}
        return {name: value + more.get(name, 0) for name, value in small.items()}

    def at(values: Mapping[str, int]) -> list[int]:
        return [values[group[0]] for group in groups]

    counts = [_counted(domain, moved(step)) for step in steps]
    solved = _solved([_monomials(at(moved(step)), steps) for step in steps], counts)
    beyond = moved((depth + 1,) * len(groups))
    if solved is None or _at(solved, at(beyond), steps) != _counted(domain, beyond):
        return None
    return _at(solved, at(sizes), steps)


def _alike(
    names: Sequence[str], sizes: Sizes, depth: int
) -> tuple[dict[str, int], list[tuple[str, ...]]]:
    """Return small sizes in the order of the given ones, and which of them may grow together.

    Up to ``depth`` steps of one group must not change the order, on which the number of points
    depends: so sizes that are near each other are one group and keep their distances, and groups
    are farther apart. What is small already stays what it is.
    """
    small: dict[str, int] = {}
    groups: list[tuple[str, ...]] = []
    apart = depth + 2
    top = 0
    blocks: list[list[str]] = []
    for name in sorted(names, key=lambda one: sizes[one]):
        if blocks and sizes[name] - sizes[blocks[-1][-1]] < apart:
            blocks[-1].append(name)
        else:
            blocks.append([name])
    for block in blocks:
        first, last = sizes[block[0]], sizes[block[-1]]
        start = max(top + apart, _SMALL)
        is_small = first <= start
        begin = first if is_small else start
        small.update({name: begin + sizes[name] - first for name in block})
        if not is_small:
            groups.append(tuple(block))
        top = begin + last - first
    return small, groups


def _box(text: str, sizes: Sizes) -> int:
    return size_of(ranges_of(text, tuple(sizes.items())))


def _counted(domain: isl.Set, sizes: Sizes) -> int:
    return count(at_sizes(domain, sizes))


def _monomials(values: Sequence[int], powers: Sequence[tuple[int, ...]]) -> list[int]:
    return [prod(value**power for value, power in zip(values, one, strict=True)) for one in powers]


def _at(
    factors: Sequence[Fraction], values: Sequence[int], powers: Sequence[tuple[int, ...]]
) -> Fraction:
    terms = zip(factors, _monomials(values, powers), strict=True)
    return sum((factor * value for factor, value in terms), Fraction(0))


def _solved(rows: Sequence[Sequence[int]], values: Sequence[int]) -> list[Fraction] | None:
    """Return the solution of as many equations as unknowns; None where there is not one."""
    matrix = [
        [*map(Fraction, row), Fraction(value)] for row, value in zip(rows, values, strict=True)
    ]
    width = len(matrix)
    for column in range(width):
        pivot = next((row for row in range(column, width) if matrix[row][column]), None)
        if pivot is None:
            return None
        matrix[column], matrix[pivot] = matrix[pivot], matrix[column]
        head = matrix[column]
        for row in range(width):
            if row != column and matrix[row][column]:
                factor = matrix[row][column] / head[column]
                matrix[row] = [a - factor * b for a, b in zip(matrix[row], head, strict=True)]
    return [matrix[row][width] / matrix[row][row] for row in range(width)]
