"""The generators of a program's dependences, as forms over rows, ready for products with many rows.

:mod:`polygym.poly.spaces.farkas` says what every dependence demands of a row, one form for
each generator of the hull of its pairs. They depend on the program alone: isl and the library of
polyhedra find them once, and from then on a row is looked at by products of integers
(:mod:`polygym.cost.features.schedules.ordering`). Here they stand one below the other, each form
once: many dependences have generators in common, as the (S.1, T.1) = (-1, 1) of "T runs behind S".

Example, S -> T of y = Ax over (S.i, T.i, T.j, S.n, T.n, S.1, T.1): the vertex (0, 0, 0, -1, 1, -1,
1) has four numbers that are not 0, in the columns 3 to 6. Along the row Θ_S = i, Θ_T = i + 1, the
point (1, 1, 0, 0, 0, 0, 1), its product is 1.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from polygym.cost.features.loops.nests import Floats
from polygym.errors import LimitError
from polygym.ir.scop import Scop
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


@lru_cache(maxsize=64)
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
        tuple((one.source, one.sink) for one, _ in result),
    )


def _sparse_forms(forms: Iterable[Vector]) -> tuple[NDArray[np.int64], Floats]:
    """Return where forms are not 0, and what they are there; all as long as the longest."""
    found = [[(place, value) for place, value in enumerate(form) if value] for form in forms]
    most = max(map(len, found), default=0)
    columns = np.zeros((len(found), most), dtype=np.int64)
    factors = np.zeros((len(found), most))
    for number, form in enumerate(found):
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
        found = np.sign(np.einsum("fn,fnk->fk", forms.factors, rows.T[forms.columns]))
    else:
        exact = inner_products(forms.forms, [tuple(map(int, row)) for row in rows.tolist()])
        found = np.array(
            [[(v > 0) - (v < 0) for v in vector] for vector in exact], dtype=np.float64
        )
    every = found.reshape(len(forms.forms), len(rows)).astype(np.int8)
    return np.asarray(every[forms.positions])
