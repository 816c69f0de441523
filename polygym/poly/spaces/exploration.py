"""Algorithm 2: the exploration of a schedule space, one coefficient after the other.

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
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from math import gcd, lcm

from polygym.errors import InputError
from polygym.poly.integer_vectors import Vector
from polygym.poly.schedule import Schedule
from polygym.poly.spaces.completion import complete_schedule
from polygym.poly.spaces.construction import ScheduleSpace
from polygym.poly.spaces.polyhedra import DimensionGenerators


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
