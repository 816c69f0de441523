"""The cone of rows that weakly satisfy some dependences, decomposed.

For a set R of dependences, W = { x : every condition of R holds with ε = 0 }. W is the sum of its
lines (directions in which a row can move both ways) and a pointed cone, which is

1. in the subspace where the implicit equalities of W hold
   (:mod:`polygym.poly.spaces.relative_interior`),
2. and, there, where the pivots of the lines are 0.

A basis b_1 … b_m of that subspace gives the pointed cone coordinates, x = Σ z_k b_k, in which it is
*full-dimensional*, has fewer constraints, and is what the double description is good at: for ludcmp
46 coordinates and 623 conditions become 12 coordinates and 66.

A dependence of R can be carried strongly by a row in W iff none of its vertex conditions is 0 on W:
the interior point, scaled up, carries all such dependences at once. So which dependences can be
carried does not depend on which others are.

The rows that satisfy R weakly and a subset S strongly are a polyhedron whose rays and lines are
those of W, whatever S is; only its vertices are its own.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from polygym.poly.batched_vectors import batched_null_space, inner_products
from polygym.poly.integer_vectors import Vector, primitive, reduce_by_all
from polygym.poly.spaces.farkas import FarkasConditions
from polygym.poly.spaces.generators import (
    EnumerationBudget,
    GeneratorSet,
    LinearConstraint,
    RationalPoint,
    enumerate_generators,
    enumerate_incrementally,
    enumerate_with_order,
)
from polygym.poly.spaces.relative_interior import relative_interior


@dataclass(frozen=True, slots=True)
class Cone:
    """The rows that weakly satisfy some dependences, with lines and pointed part apart.

    ``conditions`` are the dependences' own; ``lines`` the canonical basis with pivots; ``basis``
    spans the pointed part, whose constraints in these coordinates are ``facets`` (each ≥ 0, not
    necessarily irredundant); ``carryable`` are the indices into ``conditions`` of the dependences
    that a row can carry.
    """

    conditions: tuple[FarkasConditions, ...]
    width: int
    lines: tuple[tuple[Vector, int], ...]
    basis: tuple[Vector, ...]
    facets: tuple[Vector, ...]
    carryable: frozenset[int]

    @property
    def dimension(self) -> int:
        """The number of coordinates of the pointed part."""
        return len(self.basis)

    def row(self, coordinates: Sequence[int]) -> Vector:
        """Return the row at a point of the pointed part."""
        total = [0] * self.width
        for factor, vector in zip(coordinates, self.basis, strict=True):
            if factor:
                for place, value in enumerate(vector):
                    if value:
                        total[place] += factor * value
        return tuple(total)

    def strong(self, carried: frozenset[int]) -> tuple[LinearConstraint, ...]:
        """Return what the carried dependences demand on top, in the pointed part's coordinates."""
        demands = [self.conditions[index] for index in sorted(carried)]
        forms = inner_products(
            [form for farkas_conditions in demands for form in farkas_conditions.vertices],
            self.basis,
        )
        weights = [weight for conditions in demands for weight in conditions.weights]
        pairs = zip(forms, weights, strict=True)
        return tuple(dict.fromkeys(LinearConstraint(form, -weight) for form, weight in pairs))


def cone(conditions: tuple[FarkasConditions, ...], width: int) -> Cone:
    """Return the cone of the rows that weakly satisfy every one of the conditions."""
    forms = _distinct_forms(
        form
        for farkas_conditions in conditions
        for form in farkas_conditions.vertices + farkas_conditions.rays
    )
    equalities = _distinct_forms(form for condition in conditions for form in condition.lines)
    interior = relative_interior(forms, equalities, width)
    lines = batched_null_space((*forms, *equalities), width)
    pivots = tuple(tuple(int(place == pivot) for place in range(width)) for _, pivot in lines)
    basis = batched_null_space((*interior.implicit, *equalities, *pivots), width)
    vectors = tuple(vector for vector, _ in basis)
    facets = _distinct_forms(
        inner_products([form for form in forms if form not in interior.implicit], vectors)
    )
    carryable = frozenset(
        index
        for index, condition in enumerate(conditions)
        if not any(
            not any(form) or primitive(form) in interior.implicit for form in condition.vertices
        )
    )
    return Cone(conditions, width, lines, vectors, facets, carryable)


@dataclass(frozen=True, slots=True)
class ExtremeRays:
    """The extreme rays of the pointed part, as rows; ``order`` has its facets as they came in."""

    rows: tuple[Vector, ...]
    order: tuple[LinearConstraint, ...]


def extreme_rays(cone: Cone, effort: EnumerationBudget) -> ExtremeRays | None:
    """Return the extreme rays of the pointed part, or None past the effort."""
    if not cone.dimension:
        return ExtremeRays((), ())
    facets = [LinearConstraint(form) for form in cone.facets]
    generator_sets = enumerate_with_order(facets, cone.dimension, effort)
    if generator_sets is None:
        return None
    described, order = generator_sets
    assert not described.lines, "the pointed part has no lines"
    return ExtremeRays(tuple(primitive(cone.row(ray)) for ray in described.rays), order)


def vertices(
    cone: Cone, carried: frozenset[int], effort: EnumerationBudget
) -> tuple[RationalPoint, ...] | None:
    """Return the vertices of the rows that also carry some dependences, or None past the effort.

    Their coordinates at the pivots of the lines are 0, which makes them unique. No vertex at all
    means that no row carries these dependences.
    """
    return _vertices(
        cone,
        carried,
        lambda strong: enumerate_generators(
            [*map(LinearConstraint, cone.facets), *strong], cone.dimension, effort
        ),
    )


def vertices_from_rays(
    cone: Cone, carried: frozenset[int], known: ExtremeRays, effort: EnumerationBudget
) -> tuple[RationalPoint, ...] | None:
    """Return the same, in another order and sooner, since the rays are known under this effort."""
    return _vertices(
        cone,
        carried,
        lambda strong: enumerate_incrementally(known.order, strong, cone.dimension, effort),
    )


def _vertices(
    cone: Cone,
    carried: frozenset[int],
    describe_with: Callable[[tuple[LinearConstraint, ...]], GeneratorSet | None],
) -> tuple[RationalPoint, ...] | None:
    if not carried <= cone.carryable:
        return ()
    if not carried or not cone.dimension:
        return (RationalPoint((0,) * cone.width),)
    generator_set = describe_with(cone.strong(carried))
    if generator_set is None:
        return None
    return tuple(
        RationalPoint.of(cone.row(point.numerators), point.denominator)
        for point in generator_set.vertices
    )


def canonical_row(cone: Cone, row: Vector) -> Vector:
    """Return a row's primitive multiple moved along the lines until their pivots are 0."""
    return primitive(reduce_by_all(row, cone.lines))


def _distinct_forms(forms: Iterable[Vector]) -> tuple[Vector, ...]:
    """Return the forms that differ, up to a positive factor, zero left out, in a fixed order."""
    return tuple(dict.fromkeys(primitive(form) for form in forms if any(form)))
