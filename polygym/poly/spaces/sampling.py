"""A sample of the extreme rays and vertices of a polyhedron that has too many.

A pointed cone { z : f·z ≥ 0 for f in F } is cut by the plane Σ f·z = 1 into a bounded slice whose
vertices are its extreme rays, one each. A linear program over the slice ends in a vertex, so random
objectives give a sample of rays; for vertices of { f·z ≥ 0, g·z ≥ w } the objectives are random
nonnegative combinations of the forms, which no ray can push to -∞. Rows that move few
things by small steps make schedules that people and compilers understand, so objectives look at few
coordinates of a *row*, more are drawn than are wanted, and the sparsest and smallest are kept.

Nothing is taken from floating point: a solution is made rational, put to its primitive integer
multiple, and kept only if every constraint holds exactly and the constraints that hold with
equality have rank m - 1 (m for a vertex), which is what extreme means. The rank is computed modulo
a prime, which can only make it smaller.

The sample is deterministic given the generator of random numbers.
"""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import lcm
from typing import TypeAlias, TypeVar

import numpy as np

from polygym.poly.integer_vectors import Vector, primitive
from polygym.poly.spaces.cone import Cone, LinearProgram, Numbers
from polygym.poly.spaces.generators import RationalPoint

_LARGEST_DENOMINATOR = 10_000
_LARGEST_PRIME_BELOW_2_31 = 2_147_483_647

Remainders: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.int64]]
Found = TypeVar("Found", Vector, RationalPoint)

# How many are drawn for every one that is wanted, and after how many draws in a row that bring
# nothing new no more are made.
_CANDIDATES = 2
_MAX_FAILED_ATTEMPTS = 40


def sample_rays(cone: Cone, count: int, rng: np.random.Generator) -> tuple[Vector, ...]:
    """Return extreme rays of the cone's pointed part as rows, at most so many."""
    width = cone.dimension
    program = _program(cone)
    plane = [sum(values) for values in zip(*cone.facets, strict=True)]
    program.add_row(_sparse(plane), 1.0, 1.0)
    facets = np.array(cone.facets, dtype=object)
    remainders = _remainders(facets)

    def read(solution: Numbers) -> Vector:
        return primitive(_integers(solution)[0])

    def is_extreme(ray: Vector) -> bool:
        values = facets @ np.array(ray, dtype=object)
        return any(ray) and not any(values < 0) and _has_rank(remainders[values == 0], width - 1)

    objectives = _objectives_on_rows(cone, rng)
    vectors = _sample_optima(program, objectives, read, is_extreme, _CANDIDATES * count)
    rows = (primitive(cone.row(ray)) for ray in vectors)
    return tuple(sorted(rows, key=_weight)[:count])


def sample_vertices(
    cone: Cone, carried: frozenset[int], count: int, rng: np.random.Generator
) -> tuple[RationalPoint, ...]:
    """Return vertices of the rows that carry some dependences, at most so many, at least one."""
    program = _program(cone)
    strong = cone.strong(carried)
    for constraint in strong:
        program.add_row(_sparse(constraint.coefficients), -constraint.constant, np.inf)
    forms = np.array(
        [*cone.facets, *(constraint.coefficients for constraint in strong)], dtype=object
    )
    remainders = _remainders(forms)
    least = np.array(
        [0] * len(cone.facets) + [-linear_constraint.constant for linear_constraint in strong],
        dtype=object,
    )

    def read(solution: Numbers) -> RationalPoint:
        return RationalPoint.of(*_integers(solution))

    def is_extreme(vertex: RationalPoint) -> bool:
        values = forms @ np.array(vertex.numerators, dtype=object) - least * vertex.denominator
        return not any(values < 0) and _has_rank(remainders[values == 0], cone.dimension)

    def objectives() -> Iterator[dict[int, float]]:
        while True:
            weights = rng.random(len(forms)) * (rng.random(len(forms)) < 0.5)
            yield dict(enumerate((weights + 1e-3) @ forms.astype(float)))

    points = _sample_optima(program, objectives(), read, is_extreme, _CANDIDATES * count)
    rows = (RationalPoint.of(cone.row(point.numerators), point.denominator) for point in points)
    return tuple(sorted(rows, key=lambda vertex: _weight(vertex.numerators))[:count])


def _program(cone: Cone) -> LinearProgram:
    """Return the linear program over the pointed part's coordinates with the facets as rows."""
    program = LinearProgram(cone.dimension)
    program.bound(range(cone.dimension), -np.inf, np.inf)
    for form in cone.facets:
        program.add_row(_sparse(form), 0.0, np.inf)
    return program


def _sample_optima(
    program: LinearProgram,
    objectives: Iterator[dict[int, float]],
    read: Callable[[Numbers], Found],
    is_extreme: Callable[[Found], bool],
    wanted: int,
) -> list[Found]:
    """Solve for one objective after the other until there are enough, or nothing new comes."""
    judged: dict[Found, bool] = {}
    seen: set[bytes] = set()
    disappointments = 0
    for objective in objectives:
        disappointments += 1
        solution = program.minimise(objective)
        # The same vertex comes as the same numbers, more or less; to look at it again is a waste.
        looks = b"" if solution is None else (solution.values.round(6) + 0.0).tobytes()
        if solution is not None and looks not in seen:
            seen.add(looks)
            result = read(solution.values)
            if result not in judged:
                judged[result] = is_extreme(result)
                disappointments = 0 if judged[result] else disappointments
        if disappointments == _MAX_FAILED_ATTEMPTS or sum(judged.values()) >= wanted:
            break
    return [result for result, is_good in judged.items() if is_good]


def _objectives_on_rows(cone: Cone, generator: np.random.Generator) -> Iterator[dict[int, float]]:
    """Yield objectives: first each coordinate of a row both ways, then few at a time, at random."""
    basis = np.array(cone.basis, dtype=float)
    moved = np.flatnonzero(np.abs(basis).sum(axis=0))
    for place in generator.permutation(np.repeat(moved, 2))[: len(moved)]:
        yield dict(enumerate(basis[:, place] * generator.choice((-1.0, 1.0))))
    while True:
        places = generator.choice(moved, size=min(len(moved), int(generator.integers(2, 5))))
        signs = generator.choice((-1.0, 1.0), size=len(places))
        yield dict(enumerate(basis[:, places] @ signs))


def _weight(row: Sequence[int]) -> tuple[int, int, Sequence[int]]:
    """Order rows by how many coordinates they move, then by how far."""
    return (len(row) - list(row).count(0), sum(map(abs, row)), row)


def _integers(values: Numbers) -> tuple[Vector, int]:
    """Return numbers close to simple fractions as integers over one denominator."""
    exact = [_simple(float(value)) for value in values]
    scale = lcm(*(value.denominator for value in exact))
    return tuple(int(value * scale) for value in exact), scale


def _simple(value: float) -> Fraction:
    """Return the fraction next to a number; a whole one is next to what is nearer than 1e-5."""
    whole = round(value)
    if abs(value - whole) < 0.1 / _LARGEST_DENOMINATOR:
        return Fraction(whole)
    return Fraction(value).limit_denominator(_LARGEST_DENOMINATOR)


def _remainders(rows: np.ndarray[tuple[int, int], np.dtype[np.object_]]) -> Remainders:
    """Return rows modulo the prime."""
    remainders: Remainders = (rows % _LARGEST_PRIME_BELOW_2_31).astype(np.int64)
    return remainders


def _has_rank(rows: Remainders, wanted: int) -> bool:
    """Whether rows modulo the prime are proved to have that rank, by elimination."""
    prime = _LARGEST_PRIME_BELOW_2_31
    if len(rows) < wanted or not wanted:
        return not wanted
    left = rows.copy()
    rank = 0
    for column in range(left.shape[1]):
        if rank + left.shape[1] - column < wanted:
            return False
        (candidates,) = np.nonzero(left[rank:, column])
        if not len(candidates):
            continue
        pivot = rank + candidates[0]
        left[[rank, pivot]] = left[[pivot, rank]]
        left[rank] = left[rank] * pow(int(left[rank, column]), -1, prime) % prime
        below = left[rank + 1 :]
        hit = np.flatnonzero(below[:, column])
        if len(hit):
            below[hit] = (below[hit] - below[hit, column, None] * left[rank] % prime) % prime
        rank += 1
        if rank >= wanted:
            return True
    return False


def _sparse(form: Sequence[int]) -> dict[int, float]:
    return {place: float(value) for place, value in enumerate(form) if value}
