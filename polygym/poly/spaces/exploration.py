"""Algorithm 2: exploration of a schedule space, and completion of the schedule.

Every point of a dimension's polyhedron is a convex combination of its vertices v and a nonnegative
combination of its rays r. A free function gives each of them a coefficient::

    for each dimension i:
        p_i ← Σ select_coefficient(v)·v / Σ select_coefficient(v)  +  Σ select_coefficient(r)·r
        p_i ← least common denominator of p_i · p_i

The sum of the vertices is normalised since their coefficients must add up to 1; a single vertex is
not asked for, its coefficient is 1. Multiplying by the denominator makes the coordinates integers
and stays in the polyhedron, whose conditions are all of the form f·x ≥ 0 or f·x ≥ 1. If all
coefficients of several vertices are 0 there is no point.

Example: vertices (1, 0) and (0, 1) with coefficients 1 and 2, a ray (1, 1) with 0, give (1/3, 2/3)
and, times 3, the point (1, 2).

Inner dimensions for a schedule that leaves ties.

The rows of a space order what depends on each other, and often nothing else: with Θ_T = i for the
two-dimensional T of y = Ax and everything carried, all T[i, j] with one i have one time. They
may run in any order, but a program needs some order. It is taken from the original one:

1. the rows of the original schedule, from the outside in, each one that is linearly independent
   of a statement's rows so far, so that afterwards no two instances of one statement tie;
2. if instances of different statements still tie, or there is no row at all, a last row with the
   statements' places in the text.

Adding rows behind rows that carry every dependence cannot break one. Where some dependences are not
carried (:attr:`~polygym.poly.spaces.polyhedra.RowPolyhedra.never_carried`), *all* rows of the
original schedule are added: what the rows before satisfied weakly and left open is ordered as in
the source.

Example: {S[i] -> [0]; T[i, j] -> [j]} becomes {S[i] -> [0, i, 0]; T[i, j] -> [j, i, 0]} by the row
``i``, which is independent for both, and stops there: the original's own order of S and T is not
needed to tell them apart only if no S and T tie, else a row 0, 1 follows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from math import gcd, lcm

import islpy as isl

from polygym.errors import InputError, LimitError
from polygym.ir.scop import Scop
from polygym.lru_cache import REMEMBERED_PROGRAMS
from polygym.poly.dependences import union_of
from polygym.poly.integer_vectors import Vector, echelon
from polygym.poly.isl_budget import bounded_operations
from polygym.poly.schedule import (
    MAX_COEFFICIENT,
    MAX_DIMENSIONS,
    Schedule,
    ScheduleRow,
    StatementSchedule,
    parameter_names,
)
from polygym.poly.scheduling.baselines import original_schedule
from polygym.poly.spaces.construction import ScheduleSpace
from polygym.poly.spaces.coordinates import CoordinateLayout
from polygym.poly.spaces.polyhedra import DimensionGenerators


def complete_schedule(
    scop: Scop, points: Sequence[Vector], *, all_carried: bool = True
) -> Schedule:
    """Return the schedule with these points as rows, and inner rows until nothing ties.

    ``all_carried`` says that the points order every dependence.
    """
    layout = CoordinateLayout.of(scop)
    rows = {
        statement.name: [layout.row(point, statement.name) for point in points]
        for statement in scop.statements
    }
    source = original_schedule(scop)
    for index in range(source.dimensions):
        added = {
            statement.name: source.rows(statement.name)[index] for statement in scop.statements
        }
        if not all_carried or any(_is_independent(rows[name], row) for name, row in added.items()):
            for name, row in added.items():
                rows[name].append(row)
    schedule = _schedule(scop, rows)
    ties = all_carried and len(scop.statements) > 1 and not _is_injective(scop, schedule)
    if ties or not schedule.dimensions:
        for place, statement in enumerate(scop.statements):
            nothing = (0,) * statement.depth, (0,) * len(schedule.parameters)
            rows[statement.name].append(ScheduleRow(*nothing, place))
        schedule = _schedule(scop, rows)
    _check(schedule)
    return schedule


def _is_independent(rows: Sequence[ScheduleRow], row: ScheduleRow) -> bool:
    """Whether a row's iterator part is not a combination of the others'."""
    if not any(row.iterators):
        return False
    before = echelon(other.iterators for other in rows)
    return len(echelon([*(vector for vector, _ in before), row.iterators])) > len(before)


def _is_injective(scop: Scop, schedule: Schedule) -> bool:
    """Whether no two instances have one time."""
    with bounded_operations("completing the schedule"):
        order = isl.UnionMap(str(schedule)).intersect_domain(_domain(scop))
        return bool(order.is_injective())


@lru_cache(maxsize=REMEMBERED_PROGRAMS)
def _domain(scop: Scop) -> isl.UnionSet:
    return union_of(isl.UnionSet(statement.domain) for statement in scop.statements)


def _schedule(scop: Scop, rows: dict[str, list[ScheduleRow]]) -> Schedule:
    return Schedule(
        parameter_names(scop),
        tuple(
            StatementSchedule(statement.name, statement.iterators, tuple(rows[statement.name]))
            for statement in scop.statements
        ),
    )


def _check(schedule: Schedule) -> None:
    """Refuse what a schedule may not be: too long, or with numbers too large."""
    if schedule.dimensions > MAX_DIMENSIONS:
        raise LimitError(
            f"a schedule: expected at most {MAX_DIMENSIONS} rows, found {schedule.dimensions}"
        )
    largest = max(
        abs(value)
        for part in schedule.statements
        for row in part.rows
        for value in (*row.iterators, *row.parameters, row.constant)
    )
    if largest > MAX_COEFFICIENT:
        raise LimitError(
            f"a schedule: expected numbers up to {MAX_COEFFICIENT:,}, found {largest:,}; choose "
            "smaller coefficients"
        )


class GeneratorKind(Enum):
    """What a coefficient multiplies."""

    VERTEX = "vertex"
    RAY = "ray"


@dataclass(frozen=True, slots=True)
class Generator:
    """A vertex or a ray to choose a coefficient for, and where it stands in its space."""

    kind: GeneratorKind
    coordinates: tuple[Fraction, ...]
    dimension: int
    index: int


class NoPointError(InputError):
    """The coefficients do not describe a point, or the polyhedron has none."""


def select_schedule(
    space: ScheduleSpace, select_coefficient: Callable[[Generator], int]
) -> Schedule:
    """Pick a schedule from a space; ``select_coefficient`` is asked for every generator in order.

    The schedule is completed with inner dimensions where the points leave ties.
    """
    points = []
    for number, dimension in enumerate(space.dimensions):
        known = dimension.generators
        coefficients = [select_coefficient(rng) for rng in generator_choices(known, number)]
        point = combine_generators(known, coefficients)
        if point is None:
            raise NoPointError(
                f"dimension {number + 1} of the space of {space.scop.name}: "
                + (
                    "expected generators, found an empty polyhedron: no row carries the "
                    "dependences that were selected"
                    if known.is_empty
                    else "expected a vertex with a coefficient above 0, found only zeros"
                )
            )
        points.append(point)
    return complete_schedule(space.scop, points)


def generator_choices(generators: DimensionGenerators, dimension: int = 0) -> tuple[Generator, ...]:
    """Return the generators of a dimension that get a coefficient, in order."""
    vertices = generators.vertices if len(generators.vertices) > 1 else ()
    exact = [
        (GeneratorKind.VERTEX, tuple(Fraction(n, point.denominator) for n in point.numerators))
        for point in vertices
    ] + [(GeneratorKind.RAY, tuple(map(Fraction, ray))) for ray in generators.rays]
    return tuple(Generator(kind, row, dimension, index) for index, (kind, row) in enumerate(exact))


def combine_partial(
    generators: DimensionGenerators, coefficients: Sequence[int]
) -> tuple[Fraction, ...] | None:
    """Return the point that it would be if all coefficients that are missing were 0.

    None while no vertex has a coefficient.
    """
    given = (*coefficients, *(0,) * (generators.coefficient_count - len(coefficients)))
    numbers = _weighted(generators, given)
    if numbers is None:
        return None
    point, scale = numbers
    return tuple(Fraction(value, scale) for value in point)


def combine_generators(
    generators: DimensionGenerators, coefficients: Sequence[int]
) -> Vector | None:
    """Return the point with these coefficients of :func:`generator_choices`, else None."""
    if len(coefficients) != generators.coefficient_count:
        raise InputError(
            f"the coefficients of a point: expected {generators.coefficient_count}, found "
            f"{len(coefficients)}"
        )
    if any(value < 0 for value in coefficients):
        raise InputError(
            f"the coefficients of a point: expected no negative number, found {min(coefficients)}"
        )
    numbers = _weighted(generators, coefficients)
    if numbers is None:
        return None
    # The point is point / scale; its least common denominator is scale / gcd of everything.
    point, scale = numbers
    divisor = gcd(scale, *point)
    return tuple(value // divisor for value in point)


def _weighted(
    known: DimensionGenerators, coefficients: Sequence[int]
) -> tuple[list[int], int] | None:
    """Return the combination as integers over one denominator, or None without a vertex."""
    split = known.coefficient_count - len(known.rays)
    weights = tuple(coefficients[:split]) if split else (1,) * len(known.vertices)
    total = sum(weights)
    if not total:
        return None
    scale = total * lcm(*(rational_point.denominator for rational_point in known.vertices))
    point = [0] * len(known.vertices[0].numerators)
    for weight, vertex in zip(weights, known.vertices, strict=True):
        if weight:
            factor = weight * scale // (total * vertex.denominator)
            for place, value in enumerate(vertex.numerators):
                point[place] += factor * value
    for weight, ray in zip(coefficients[split:], known.rays, strict=True):
        if weight:
            for place, value in enumerate(ray):
                point[place] += scale * weight * value
    return point, scale
