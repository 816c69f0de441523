"""Order of a schedule's rows and the freedom that it leaves, exactly, by products with generators.

For a dependence with the pairs D, a row of the schedule has the distance δ, which is affine over D
(:mod:`polygym.poly.distance`). D's integer points have a convex hull, which is spanned by
vertices, rays and lines; :mod:`polygym.poly.spaces.farkas` turns each of these generators
g into a form over the coefficients x of the row, so that g·x is δ at a vertex, and its change along
a ray or a line. These forms depend on the program alone. The invariant that all here rests on:

    δ ≥ 0 on D   iff   g·x ≥ 0 at every vertex and ray, and g·x = 0 along every line;
    δ = 0 on D   iff   g·x = 0 for every generator.

Where δ ≥ 0 on D, the pairs with δ = 0 are a *face* of the hull, and a face is spanned by those of
the generators that lie in it: the ones with g·x = 0. It has a point iff one of them is a vertex. So
the pairs that the first rows leave to the next one are known by a subset of the generators, and one
table of products, a row for every generator and a column for every row of the schedule, answers
every question, without isl and for all sizes:

* a row *orders* pairs of a dependence iff a generator that is left has g·x ≠ 0;
* it *carries* the dependence if no vertex is left behind it;
* a row is *parallel* for a statement if it orders nothing between the statements that share the
  loop (:mod:`polygym.poly.scheduling.properties`);
* rows from k on are a *band*, which may be permuted and tiled, as long as g·x ≥ 0 for all that is
  left before k; those with g·x = 0 are its *coincident* ones.

Example: the pairs of T -> T in a stencil over (t, i), T[t + 1][i] from T[t][i - 1 .. i + 1], have
the differences (1, -1), (1, 0), (1, 1), whose hull has the vertices (1, -1) and (1, 1). The rows t
and i have the products

                 t    i    t + i
    (1, -1)      1   -1      0
    (1,  1)      1    1      2

so t carries it, and i behind it is parallel, since no vertex is left. The rows t and i are no band:
-1 < 0 where all is left. The rows t and t + i are one, of two loops, and neither is coincident.
With t + i alone the vertex (1, -1) is left, and t behind it carries the rest.

That holds for a legal schedule. In one that is not, a dependence that a row reverses is followed no
further, and bands say nothing of it. Where a hull is out of reach, the polyhedron around it takes
its place, and what is said to be free is free all the same.

The generators of a program's dependences, as forms over rows, ready for products with many rows.

:mod:`polygym.poly.spaces.farkas` says what every dependence demands of a row, one form for
each generator of the hull of its pairs. They depend on the program alone: isl and the library of
polyhedra find them once, and from then on a row is looked at by products of integers
(:mod:`polygym.cost.features.schedules.ordering`). Here they stand one below the other, each form
once: many dependences have generators in common, as the (S.1, T.1) = (-1, 1) of "T runs behind S".

Example, S -> T of y = Ax over (S.i, T.i, T.j, S.n, T.n, S.1, T.1): the vertex (0, 0, 0, -1, 1, -1,
1) has four numbers that are not 0, in the columns 3 to 6. Along the row Θ_S = i, Θ_T = i + 1, the
point (1, 1, 0, 0, 0, 0, 1), its product is 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, chain
from operator import or_

import numpy as np
from numpy.typing import NDArray

from polygym.cost.features.loops.nests import Floats
from polygym.errors import LimitError
from polygym.ir.scop import Scop
from polygym.lru_cache import REMEMBERED_PROGRAMS
from polygym.poly.dependences import dependences
from polygym.poly.integer_vectors import Vector, inner_products
from polygym.poly.schedule import Schedule
from polygym.poly.spaces.coordinates import CoordinateLayout
from polygym.poly.spaces.farkas import farkas_conditions

# Sums of products below this are exact in floating point.
_MAX_EXACT = 2.0**53


@dataclass(frozen=True, slots=True, eq=False)
class DependenceForms:
    """The generators of a program's dependences; sets of dependences are bits of a number.

    ``forms`` are the different forms there are, over points of a layout with the statements
    ``names`` with so many iterators (``iterators`` says whose each is), ``factors``
    what is not 0 in them, in which ``columns``, and ``largest`` the largest sum of it. A generator
    is the place of its form; it belongs to the dependence in ``owners``, whose first one is in
    ``starts``. ``into`` has for every statement the dependences that end in it, and
    ``statement_pairs`` for every dependence its source and its sink.
    """

    names: tuple[str, ...]
    depths: tuple[int, ...]
    iterators: Floats
    forms: tuple[Vector, ...]
    columns: NDArray[np.int64]
    factors: Floats
    largest: int
    positions: NDArray[np.int64]
    starts: NDArray[np.int64]
    owners: NDArray[np.int64]
    is_vertex: NDArray[np.bool_]
    into: tuple[int, ...]
    statement_pairs: tuple[tuple[str, str], ...]


@lru_cache(maxsize=REMEMBERED_PROGRAMS)
def build_dependence_forms(scop: Scop) -> DependenceForms:
    """Return the generators of a program's dependences; this asks isl, once for each program.

    A dependence without any pair of integers is left out.

    Raises:
        LimitError: isl would take too long.
    """
    layout = CoordinateLayout.of(scop)
    result = [
        (dependence, both)
        for dependence, both in zip(dependences(scop), farkas_conditions(scop), strict=True)
        if both.vertices
    ]
    forms: dict[tuple[int, ...], int] = {}
    places: list[int] = []
    starts: list[int] = []
    owners: list[int] = []
    vertices: list[bool] = []
    into = [0] * len(layout.statements)
    for number, (dependence, demand) in enumerate(result):
        starts.append(len(places))
        into[layout.statements.index(dependence.sink)] |= 1 << number
        # A line is two rays, one each way.
        lines = [tuple(sign * value for value in line) for line in demand.lines for sign in (1, -1)]
        for form in (*demand.vertices, *demand.rays, *lines):
            vertices.append(len(places) - starts[-1] < len(demand.vertices))
            places.append(forms.setdefault(form, len(forms)))
            owners.append(number)
    return DependenceForms(
        layout.statements,
        layout.depths,
        np.repeat(np.eye(len(layout.depths)), layout.depths, axis=1),
        tuple(forms),
        *_sparse_forms(forms),
        max((sum(map(abs, form)) for form in forms), default=0),
        np.array(places, dtype=np.int64),
        np.array(starts, dtype=np.int64),
        np.array(owners, dtype=np.int64),
        np.array(vertices, dtype=np.bool_),
        tuple(into),
        tuple((edge.source, edge.sink) for edge, _ in result),
    )


def _sparse_forms(forms: Iterable[Vector]) -> tuple[NDArray[np.int64], Floats]:
    """Return where forms are not 0, and what they are there; all as long as the longest."""
    sparse = [[(place, value) for place, value in enumerate(form) if value] for form in forms]
    most = max(map(len, sparse), default=0)
    columns = np.zeros((len(sparse), most), dtype=np.int64)
    factors = np.zeros((len(sparse), most))
    for number, form in enumerate(sparse):
        for at, (place, value) in enumerate(form):
            columns[number, at], factors[number, at] = place, value
    return columns, factors


def schedule_points(forms: DependenceForms, schedule: Schedule) -> Floats:
    """Return the rows of a schedule, each as the point that all statements' rows are together.

    Raises:
        LimitError: a number is too large to be one of floating point exactly.
    """
    by_name = {part.statement: part.rows for part in schedule.statements}
    rows = [by_name[name] for name in forms.names]
    result = [
        [
            *chain.from_iterable([own[k].iterators for own in rows]),
            *chain.from_iterable([own[k].parameters for own in rows]),
            *[own[k].constant for own in rows],
        ]
        for k in range(schedule.dimensions)
    ]
    if max((abs(value) for row in result for value in row), default=0) >= _MAX_EXACT:
        raise LimitError(
            f"features of rows: expected numbers below {_MAX_EXACT:.0f}, found larger ones"
        )
    return np.array(result, dtype=np.float64)


def product_signs(forms: DependenceForms, rows: Floats) -> NDArray[np.int8]:
    """Return the signs of all products, a row for every generator and a column for every row.

    They are exact: where floating point is not, integers are asked.
    """
    if float(np.abs(rows).max(initial=0.0)) * forms.largest < _MAX_EXACT:
        # Not as a product of matrices: for a few numbers that wakes up threads.
        signs = np.sign(np.einsum("fn,fnk->fk", forms.factors, rows.T[forms.columns]))
    else:
        exact = inner_products(forms.forms, [tuple(map(int, row)) for row in rows.tolist()])
        signs = np.array(
            [[(v > 0) - (v < 0) for v in vector] for vector in exact], dtype=np.float64
        )
    every = signs.reshape(len(forms.forms), len(rows)).astype(np.int8)
    return np.asarray(every[forms.positions])


@dataclass(frozen=True, slots=True)
class StatementParallelism:
    """What is free around a statement, for every row.

    ``band`` is the number of its band, from the outside, or -1 for a plain number; ``group`` is how
    many statements share the loops down to the row, with a last one for what is behind all rows.
    """

    parallel: tuple[bool, ...]
    coincident: tuple[bool, ...]
    band: tuple[int, ...]
    group: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ScheduleOrdering:
    """What rows order: ``carried`` has for every dependence the row behind which no pair is left.

    It is None where pairs are left, or some are reversed; ``is_legal`` says that there are none.
    ``statements`` has an entry for every one of :attr:`DependenceForms.names`; so has
    ``is_constant_row``, which says what rows are plain numbers.
    """

    carried: tuple[int | None, ...]
    is_legal: bool
    statements: tuple[StatementParallelism, ...]
    is_constant_row: NDArray[np.bool_]


def schedule_ordering(forms: DependenceForms, rows: Floats) -> ScheduleOrdering:
    """Return the pairs that rows order and leave free (``dependence_forms.schedule_points``)."""
    walk = _RemainingPairs.follow(forms, rows)
    count, depth = len(forms.names), sum(forms.depths)
    constants = rows[:, -count:].T
    numbers = np.abs(rows[:, :-count])
    # A row is a plain number for a statement if it has no iterators and no parameters in it.
    looping = numbers[:, :depth] @ forms.iterators.T
    width = (numbers.shape[1] - depth) // count
    parameters = numbers[:, depth:].reshape(len(rows), count, width).sum(axis=2)
    is_plain = (looping + parameters == 0).T
    values = np.where(is_plain, constants, np.nan)
    plain = [[None if v != v else v for v in own] for own in values.tolist()]
    free = _BandSearch(forms, plain, walk).run()
    return ScheduleOrdering(walk.carried, walk.is_legal, free, is_plain)


@dataclass(frozen=True, slots=True, eq=False)
class _RemainingPairs:
    """Which generators and dependences are left before each row, and what each row orders."""

    forms: DependenceForms
    signs: NDArray[np.int8]
    is_left: NDArray[np.bool_]
    orders: tuple[int, ...]
    carried: tuple[int | None, ...]
    is_legal: bool

    @staticmethod
    def follow(known: DependenceForms, rows: Floats) -> _RemainingPairs:
        """Follow all dependences through all rows at once."""
        array = product_signs(known, rows)
        dimensions = len(rows)
        # Behind each row: the generators of the face, if that has a vertex.
        zero = np.logical_and.accumulate(array == 0, axis=1)
        alive = _any_generator(known, zero & known.is_vertex[:, None])
        left = np.ones((len(array), dimensions + 1), dtype=np.bool_)
        left[:, 1:] = zero & alive[known.owners]
        negative = _any_generator(known, (array < 0) & left[:, :-1])
        reverses = np.logical_or.accumulate(negative, axis=1)
        if is_legal := not negative.any():
            ordered = _any_generator(known, (array != 0) & left[:, :-1])
        else:
            # What is reversed in a row is followed no further.
            left[:, 1:] &= ~reverses[known.owners]
            ordered = _any_generator(known, (array != 0) & left[:, :-1])
        behind: list[int] = alive.sum(axis=1).tolist()
        bad: list[bool] = reverses[:, -1].tolist()
        carried = tuple(
            None if wrong or at == dimensions else at for at, wrong in zip(behind, bad, strict=True)
        )
        done = is_legal and None not in carried
        return _RemainingPairs(known, array, left, tuple(map(_bit_mask, ordered.T)), carried, done)

    def reversed_or_ordered(self, top: int, row: int) -> tuple[int, int]:
        """Return which dependences a row would reverse of what is left before ``top``, or order."""
        if not len(self.forms.starts):
            return 0, 0
        array = self.signs[:, row] * self.is_left[:, top]
        return _bit_mask(np.minimum.reduceat(array, self.forms.starts) < 0), _bit_mask(
            np.logical_or.reduceat(array, self.forms.starts)
        )


def _any_generator(known: DependenceForms, flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return for every dependence whether one of its generators has a flag."""
    return np.asarray(np.logical_or.reduceat(flags, known.starts, axis=0), dtype=np.bool_)


def _bit_mask(flags: NDArray[np.bool_]) -> int:
    """Return the number whose bits are the flags."""
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")


class _BandSearch:
    """The way down through groups of statements and their bands."""

    def __init__(
        self, known: DependenceForms, plain: Sequence[Sequence[float | None]], walk: _RemainingPairs
    ) -> None:
        self._into, self._dimensions, self._walk = known.into, len(plain[0]), walk
        self._plain = plain
        # What rows from each one on order.
        self._later = [*accumulate(reversed(walk.orders), or_, initial=0)][::-1]
        self._among: dict[tuple[int, int], tuple[int, int]] = {}
        self._found: dict[int, StatementParallelism] = {}

    def run(self) -> tuple[StatementParallelism, ...]:
        """Go all the way."""
        every = tuple(range(len(self._plain)))
        self._enter(every, 0, StatementParallelism((), (), (), ()))
        return tuple(self._found[place] for place in every)

    def _enter(self, group: tuple[int, ...], row: int, above: StatementParallelism) -> None:
        """Go on with a group of statements from a row on, which have ``above`` in common."""
        own = 0
        for place in group:
            own |= self._into[place]
        if len(group) == 1 and not self._later[row] & own:
            self._found[group[0]] = _single_statement(self._plain[group[0]][row:], above)
            return
        parallel, coincident = list(above.parallel), list(above.coincident)
        band, sizes = list(above.band), list(above.group)
        number, top = max(band, default=-1), -1
        values: list[float | None] = []
        while row < self._dimensions:
            values = [self._plain[place][row] for place in group]
            is_loop = None in values
            is_free = False
            if is_loop:
                if top >= 0 and self._at(top, row)[0] & own:
                    top = -1
                if top < 0:
                    top, number = row, number + 1
                is_free = not self._at(top, row)[1] & own
            parallel.append(not self._walk.orders[row] & own)
            coincident.append(is_free)
            band.append(number if is_loop else -1)
            sizes.append(len(group))
            row += 1
            if not is_loop and values.count(values[0]) < len(values):
                break
        else:
            parallelism = StatementParallelism(
                tuple(parallel), tuple(coincident), tuple(band), (*sizes, len(group))
            )
            self._found.update(dict.fromkeys(group, parallelism))
            return
        parallelism = StatementParallelism(
            tuple(parallel), tuple(coincident), tuple(band), tuple(sizes)
        )
        parts: dict[float | None, list[int]] = {}
        for place, value in zip(group, values, strict=True):
            parts.setdefault(value, []).append(place)
        for part in parts.values():
            self._enter(tuple(part), row, parallelism)

    def _at(self, top: int, row: int) -> tuple[int, int]:
        result = self._among.get((top, row))
        if result is None:
            result = self._among[top, row] = self._walk.reversed_or_ordered(top, row)
        return result


def _single_statement(
    plain: Sequence[float | None], above: StatementParallelism
) -> StatementParallelism:
    """Return what is free around a statement that is by itself, with nothing left to order."""
    is_loop = tuple(value is None for value in plain)
    number = max(above.band, default=-1) + 1
    return StatementParallelism(
        above.parallel + (True,) * len(plain),
        above.coincident + is_loop,
        above.band + tuple(number if flag else -1 for flag in is_loop),
        above.group + (1,) * (len(plain) + 1),
    )
