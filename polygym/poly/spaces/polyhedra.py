"""The polyhedra of a program's schedule rows, with a memo of every answer.

For a dimension that carries the dependences S strongly and satisfies the others that are left, R -
S, weakly, the rows form a polyhedron. Statements that no dependence of R connects do not know of
each other, so everything is computed for the connected components of (statements, R) and put
together: the rays of the whole are the rays of the parts, its vertices the sums of one vertex of
each part. A statement that has no dependence left is free, and each of its coefficients a line.

Rays depend on R alone, vertices on R and S; both are remembered for the life of the object. Where a
component has more generators than the effort allows to enumerate, or the whole more than the
limits say, a sample stands for them and the result is not ``is_complete``; every generator is exact
either way.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import islice, product
from math import lcm, prod
from operator import itemgetter
from typing import TypeAlias

import numpy as np

from polygym.ir.scop import Scop
from polygym.lru_cache import LruCache
from polygym.pickling import pickle_by_name
from polygym.poly.dependences import Dependence, dependences
from polygym.poly.integer_vectors import Vector
from polygym.poly.spaces.cone import (
    Cone,
    ExtremeRays,
    canonical_row,
    cone,
    extreme_rays,
    vertices,
    vertices_from_rays,
)
from polygym.poly.spaces.coordinates import CoordinateLayout
from polygym.poly.spaces.farkas import FarkasConditions, farkas_conditions
from polygym.poly.spaces.generators import EnumerationBudget, RationalPoint
from polygym.poly.spaces.sampling import sample_rays, sample_vertices


@pickle_by_name
@dataclass(frozen=True, slots=True)
class SpaceLimits:
    """How large a space may become before a sample stands for it.

    ``extreme_rays`` and ``vertices`` are kept for a dimension at most (None: all that are found).
    An enumeration is given up at ``generators`` partial results or after ``work`` (both are counts,
    so that a question has the same answer on every machine) or, should it be a very slow one, after
    ``time_limit``. Where a sample must stand for all it has ``extreme_rays`` and ``vertices``
    members, or ``sample_size`` where there is no such limit; ``seed`` fixes which.
    """

    rays: int | None = 64
    vertices: int | None = 8
    generators: int = 500
    work: int = 2_000_000
    time_limit: float = 5.0
    sample_size: int = 64
    seed: int = 0


@pickle_by_name
@dataclass(frozen=True, slots=True)
class DimensionGenerators:
    """The generators of one dimension's polyhedron, each kind in descending lexicographic order.

    A line is two rays. No vertices mean an empty polyhedron; ``is_complete`` says whether these are
    all.
    """

    vertices: tuple[RationalPoint, ...]
    rays: tuple[Vector, ...]
    is_complete: bool

    @property
    def is_empty(self) -> bool:
        """Whether no row exists."""
        return not self.vertices

    @property
    def coefficient_count(self) -> int:
        """How many coefficients determine a point: a single vertex has none."""
        return (len(self.vertices) if len(self.vertices) > 1 else 0) + len(self.rays)


@dataclass(frozen=True, slots=True)
class _Component:
    """Statements that dependences connect, and where their coefficients stand in a row."""

    dependences: tuple[int, ...]
    positions: tuple[int, ...]


# The rays of a component, lines as two each, and those of its pointed part where they are all.
_Rays: TypeAlias = tuple[tuple[Vector, ...], ExtremeRays | None]


@dataclass(eq=False)
class RowPolyhedra:
    """Answers about the polyhedra of one program's rows, remembered.

    Dependences are named by their position in ``dependences(scop)``, sets of them by a frozenset.
    """

    scop: Scop
    limits: SpaceLimits = field(default_factory=SpaceLimits)

    def __post_init__(self) -> None:
        """Compute the conditions; everything else waits until it is asked for."""
        self.layout = CoordinateLayout.of(self.scop)
        self.dependences: tuple[Dependence, ...] = dependences(self.scop)
        self._conditions: tuple[FarkasConditions, ...] = farkas_conditions(self.scop)
        # Sizes for one program among many: a cone of hundreds of conditions takes half a megabyte.
        self._cones: LruCache[_Component, Cone] = LruCache(64)
        self._rays: LruCache[_Component, _Rays] = LruCache(64)
        self._found: LruCache[
            tuple[_Component, frozenset[int]], tuple[RationalPoint, ...] | None
        ] = LruCache(256)
        self._generators: LruCache[tuple[frozenset[int], frozenset[int]], DimensionGenerators] = (
            LruCache(64)
        )
        self._components: LruCache[frozenset[int], tuple[_Component, ...]] = LruCache(128)
        self._carryable: LruCache[frozenset[int], frozenset[int]] = LruCache(512)
        self._fewest: LruCache[frozenset[int], int] = LruCache(512)

    @property
    def all_carryable(self) -> frozenset[int]:
        """Every dependence that some row can carry."""
        return frozenset(range(len(self.dependences))) - self.never_carried

    @cached_property
    def never_carried(self) -> frozenset[int]:
        """The dependences that no sequence of rows carries.

        Fewer dependences left to satisfy means more rows, so what is left when always all that can
        be carried is carried is left in the end whatever is done. There is none for a program
        whose dependences have been described exactly (the original order itself shows a row); where
        a hull was too hard to find there may be, and the completion orders them.
        """
        left = frozenset(range(len(self.dependences)))
        while carried := self.carryable(left):
            left -= carried
        return left

    def carryable(self, left: frozenset[int]) -> frozenset[int]:
        """Return the dependences that a row can carry while it satisfies all that are left.

        Any subset of them can be carried together.
        """
        return self._carryable.get(
            left,
            lambda: frozenset(
                component.dependences[index]
                for component in self._split(left)
                for index in self._cone(component).carryable
            ),
        )

    def fewest_dimensions(self, left: frozenset[int]) -> int:
        """Return how many rows it takes at least to carry what can be carried of these."""
        carried = self.carryable(left)
        if not carried:
            return 0
        return self._fewest.get(left, lambda: 1 + self.fewest_dimensions(left - carried))

    def generators(self, left: frozenset[int], carried: frozenset[int]) -> DimensionGenerators:
        """Return the rows that carry some of the dependences left and satisfy the rest."""
        return self._generators.get(
            (left, carried), lambda: self._combine_components(left, carried)
        )

    def _combine_components(
        self, left: frozenset[int], carried: frozenset[int]
    ) -> DimensionGenerators:
        if not carried <= self.carryable(left):
            return DimensionGenerators((), (), True)
        components = self._split(left)
        found_vertices, all_vertices = self._vertices(components, left, carried)
        found_rays, all_rays = self._all_rays(components, left)
        return DimensionGenerators(
            tuple(sorted(found_vertices, key=_fractions, reverse=True)),
            tuple(sorted(found_rays, reverse=True)),
            all_vertices and all_rays,
        )

    def _all_rays(
        self, components: Sequence[_Component], left: frozenset[int]
    ) -> tuple[tuple[Vector, ...], bool]:
        """Return the rays of all components, or a sample, and whether they are all."""
        vectors: list[Vector] = []
        complete = True
        for component in components:
            part, all_of_them = self._rays_of(component)
            complete &= all_of_them is not None
            vectors += (self._widen(component, ray) for ray in part)
        connected = {place for component in components for place in component.positions}
        for place in range(self.layout.width):
            if place not in connected:
                for sign in (1, -1):
                    vectors.append(tuple(sign * (k == place) for k in range(self.layout.width)))
        limit = self.limits.rays
        if limit is None or len(vectors) <= limit:
            return tuple(vectors), complete
        # Sparse and small ones first; which of those that are alike is left to chance.
        chance = self._rng_for(left).permutation(len(vectors))
        keyed = sorted(
            (*_size(ray), int(luck), ray) for ray, luck in zip(vectors, chance, strict=True)
        )
        return tuple(item[-1] for item in keyed[:limit]), False

    def _vertices(
        self, components: Sequence[_Component], left: frozenset[int], carried: frozenset[int]
    ) -> tuple[tuple[RationalPoint, ...], bool]:
        """Return sums of the components' vertices, and whether they are all of them."""
        limit = self.limits.vertices
        parts, complete = self._parts(self._vertices_of, components, left, carried)
        if limit is not None and prod(map(len, parts)) > limit:
            # Which of those that are alike come first decides what the sample is, and recorded
            # episodes name its members by their places: the order is that of a full enumeration.
            parts, complete = self._parts(self._vertices_in_order, components, left, carried)
        if limit is not None and prod(map(len, parts)) > limit:
            # The first of every component's simplest ones, then the next combinations.
            parts = [sorted(part, key=lambda point: _size(point.numerators)) for part in parts]
            complete = False
        width = self.layout.width
        return tuple(
            _sum(combination, width) for combination in islice(product(*parts), limit)
        ), complete

    def _parts(
        self,
        find: Callable[[_Component, frozenset[int]], tuple[RationalPoint, ...] | None],
        components: Sequence[_Component],
        left: frozenset[int],
        carried: frozenset[int],
    ) -> tuple[list[list[RationalPoint]], bool]:
        """Return every component's vertices, or a sample of them, and whether they are all."""
        parts = []
        complete = True
        for component in components:
            here = frozenset(k for k, index in enumerate(component.dependences) if index in carried)
            points = find(component, here)
            if points is None:
                wanted = self.limits.vertices or self.limits.sample_size
                points = sample_vertices(self._cone(component), here, wanted, self._rng_for(left))
                complete = False
            wide = ((self._widen(component, at.numerators), at.denominator) for at in points)
            parts.append([RationalPoint(*pair) for pair in wide])
        return parts, complete

    def _vertices_of(
        self, component: _Component, here: frozenset[int]
    ) -> tuple[RationalPoint, ...] | None:
        """Return a component's vertices where it carries these of its dependences, if all."""

        def find() -> tuple[RationalPoint, ...] | None:
            known = self._rays_of(component)[1]
            # Together with a vertex come all rays: where those are too many, these are too.
            if known is None:
                return None
            points = vertices_from_rays(self._cone(component), here, known, self._effort)
            return self._vertices_in_order(component, here) if points is None else points

        return self._found.get((component, here), find)

    def _vertices_in_order(
        self, component: _Component, here: frozenset[int]
    ) -> tuple[RationalPoint, ...] | None:
        """Return the same in the order in which an enumeration of everything finds them."""
        if self._rays_of(component)[1] is None:
            return None
        return vertices(self._cone(component), here, self._effort)

    def _rays_of(self, component: _Component) -> _Rays:
        """Return the rays of a component in its own coordinates, lines as two rays each."""
        return self._rays.get(component, lambda: self._find_rays(component))

    def _find_rays(self, component: _Component) -> _Rays:
        shape = self._cone(component)
        rays = extreme_rays(shape, self._effort)
        if rays is None:
            wanted = self.limits.rays or self.limits.sample_size
            rows = sample_rays(shape, wanted, self._rng_for(frozenset(component.dependences)))
        else:
            rows = rays.rows
        lines = [line for line, _ in shape.lines]
        both = [*lines, *(tuple(-value for value in line) for line in lines)]
        return (*(canonical_row(shape, ray) for ray in rows), *both), rays

    @property
    def _effort(self) -> EnumerationBudget:
        return EnumerationBudget(self.limits.generators, self.limits.work, self.limits.time_limit)

    def _rng_for(self, left: frozenset[int]) -> np.random.Generator:
        """Return a generator that depends on the question, not on what was asked before."""
        return np.random.default_rng([self.limits.seed, *sorted(left)])

    def _cone(self, component: _Component) -> Cone:
        def compute() -> Cone:
            demands = (self._conditions[index] for index in component.dependences)
            narrowed = tuple(_narrow(demand, component.positions) for demand in demands)
            return cone(narrowed, len(component.positions))

        return self._cones.get(component, compute)

    def _split(self, left: frozenset[int]) -> tuple[_Component, ...]:
        """Return the connected components that have dependences."""
        return self._components.get(left, lambda: tuple(self._connected(sorted(left))))

    def _connected(self, left: Sequence[int]) -> Iterable[_Component]:
        group = {name: name for name in self.layout.statements}

        def find(name: str) -> str:
            while group[name] != name:
                name = group[name]
            return name

        for index in left:
            group[find(self.dependences[index].source)] = find(self.dependences[index].sink)
        members: dict[str, list[int]] = {}
        for index in left:
            members.setdefault(find(self.dependences[index].source), []).append(index)
        for root, indices in members.items():
            places: list[int] = []
            for name in self.layout.statements:
                if find(name) == root:
                    iterators, parameters, constant = self.layout.positions(name)
                    places += (*iterators, *parameters, constant)
            yield _Component(tuple(indices), tuple(sorted(places)))

    def _widen(self, component: _Component, values: Vector) -> Vector:
        """Return a component's vector in the coordinates of whole rows."""
        wide = [0] * self.layout.width
        for place, value in zip(component.positions, values, strict=True):
            wide[place] = value
        return tuple(wide)


def _narrow(conditions: FarkasConditions, places: Sequence[int]) -> FarkasConditions:
    """Return conditions in a component's own coordinates."""
    # Of one place the getter makes a number, of two or more a tuple.
    get = itemgetter(*places, places[0])

    def pick(forms: Iterable[Vector]) -> tuple[Vector, ...]:
        return tuple(get(form)[:-1] for form in forms)

    return FarkasConditions(
        pick(conditions.vertices), conditions.weights, pick(conditions.rays), pick(conditions.lines)
    )


def _sum(parts: Sequence[RationalPoint], width: int) -> RationalPoint:
    denominator = lcm(*(rational_point.denominator for rational_point in parts))
    total = [0] * width
    for point in parts:
        for place, value in enumerate(point.numerators):
            if value:
                total[place] += value * (denominator // point.denominator)
    return RationalPoint.of(total, denominator)


def _fractions(vertex: RationalPoint) -> tuple[Fraction, ...]:
    return tuple(Fraction(value, vertex.denominator) for value in vertex.numerators)


def _size(row: Sequence[int]) -> tuple[int, int]:
    """How many coordinates a row moves, and how far."""
    return len(row) - list(row).count(0), sum(map(abs, row))
