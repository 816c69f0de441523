"""The generators of a dependence: of the convex hull of its *integer* points.

A dependence is a set of integer points (s, t, p): source iterators, sink iterators, parameters. An
affine form is nonnegative on all of them iff it is nonnegative on their convex hull, so what
Farkas' lemma needs are the generators of that hull. Where source and sink are one statement, the
forms of interest depend on t - s alone, and the set of these differences takes the place of the
dependence: it has less than half as many dimensions and far fewer generators.

Most of these sets are described by constraints whose polyhedron has integer vertices, and then it
*is* the hull. Where it is not (a vertex at i = n/2, or a pair that exists only for even i), the
hull is found from the inside:

    H ← the integer vertices of the polyhedron, or any integer point; its rays and lines
    repeat: for each facet f ≥ 0 of H, minimise f over the integer points;
            where the minimum is negative, the point that attains it goes into H
    until no facet can be moved.

The hull of the integer points of a rational polyhedron has the polyhedron's own rays, also after a
projection (Meyer, *On the existence of optimal solutions to integer and mixed-integer programming
problems*, 1974), and each step adds a point outside of H that is extreme in one direction, of which
there are finitely many, so the loop ends with the hull itself. Example: 2i ≥ 1 has the vertex 1/2;
H starts as the ray (1) from the point 5, say; its facet i - 5 has the minimum -4 at i = 1, and then
none can be moved.
"""

from __future__ import annotations

import islpy as isl

from polygym.errors import LimitError
from polygym.poly.dependences import Dependence
from polygym.poly.integer_vectors import Vector
from polygym.poly.isl_budget import bounded_operations
from polygym.poly.isl_values import affine_form, coefficients, constant_term, coordinates, isl_value
from polygym.poly.spaces.generators import (
    EnumerationBudget,
    GeneratorSet,
    LinearConstraint,
    RationalPoint,
    constraints_of,
    enumerate_generators,
)

# Hulls that need more than this are left as the rational polyhedron, which contains them: a
# schedule that is legal for all its points is legal for the integer ones.
_MOST_OPERATIONS = 2_000_000
_MOST_ROUNDS = 50
_MOST_POINTS = 2_000

# A rational polyhedron that has more generators than this has no description at all. A number and
# not a time, so that whether a program is refused does not depend on the machine.
_MOST_GENERATORS = 10_000


def pairs_of(dependence: Dependence, parameters: tuple[str, ...]) -> isl.BasicSet:
    """Return the dependence as a set over (source iterators, sink iterators, parameters)."""
    space = isl.Set(f"[{', '.join(parameters)}] -> {{ : }}").get_space()
    relation = isl.BasicMap(dependence.relation).align_params(space)
    flat = relation.wrap().flatten()
    return flat.move_dims(
        isl.dim_type.set, flat.dim(isl.dim_type.set), isl.dim_type.param, 0, len(parameters)
    )


def differences_of(dependence: Dependence) -> isl.BasicSet:
    """Return t - s for all pairs and all parameter values, for a dependence within a statement.

    For T[i, j] -> T[i, j'], 0 ≤ i, j and j < j' < n, these are the (0, d) with d ≥ 1.
    """
    steps = isl.BasicMap(dependence.relation).deltas()
    return steps.project_out(isl.dim_type.param, 0, steps.dim(isl.dim_type.param))


def integer_hull(points: isl.BasicSet) -> GeneratorSet:
    """Return the generators of the convex hull of a set's integer points.

    A vertex is an integer point, unless the hull has lines: then it is any point of its face, on
    which a form that is 0 along the lines has one value. Past a bound on the work the generators
    are those of the rational polyhedron around the hull; if that has too many of them as well, a
    :class:`LimitError` is raised.
    """
    width = points.dim(isl.dim_type.set)
    with bounded_operations("projecting a dependence"):
        plain = points.remove_divs()
    rational = enumerate_generators(_constraints(plain), width, EnumerationBudget(_MOST_GENERATORS))
    if rational is None:
        raise LimitError(
            f"a dependence over {width} iterators and parameters: expected a polyhedron with at "
            f"most {_MOST_GENERATORS:,} vertices and rays, found more"
        )
    exact = points.dim(isl.dim_type.div) == 0
    if exact and all(vertex.is_integer for vertex in rational.vertices):
        return rational
    try:
        with bounded_operations("the integer hull of a dependence", _MOST_OPERATIONS):
            return _grow_hull(points, rational, width) or rational
    except LimitError:
        return rational


def _grow_hull(points: isl.BasicSet, rational: GeneratorSet, width: int) -> GeneratorSet | None:
    """Grow the hull from a few points; None when it has not stopped growing in time."""
    if points.is_empty():
        return GeneratorSet((), (), ())
    inside = {
        vertex.numerators
        for vertex in rational.vertices
        if vertex.is_integer and _contains(points, vertex.numerators)
    } or {coordinates(points.sample_point())}
    settled: set[LinearConstraint] = set()
    for _ in range(_MOST_ROUNDS):
        hull = GeneratorSet(
            tuple(RationalPoint(point) for point in sorted(inside)), rational.rays, rational.lines
        )
        facets = constraints_of(hull, width)
        before = len(inside)
        for facet in facets:
            if facet not in settled:
                beyond = _violating_points(points, facet)
                inside.update(beyond)
                if not beyond:
                    settled.add(facet)
        if len(inside) == before:
            return enumerate_generators(facets, width)
        if len(inside) > _MOST_POINTS:
            break
    return None


def _contains(points: isl.BasicSet, at: Vector) -> bool:
    for position, value in enumerate(at):
        points = points.fix_val(isl.dim_type.set, position, isl_value(value))
    return not points.is_empty()


def _violating_points(points: isl.BasicSet, facet: LinearConstraint) -> list[Vector]:
    """Return integer points of the set that are on the wrong side of a facet, extreme ones."""
    result = []
    for sign in (1, -1) if facet.is_equality else (1,):
        zero = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(points.get_space()))
        factors = [sign * value for value in facet.coefficients]
        form = affine_form(zero, factors, (), sign * facet.constant)
        lowest = points.to_set().min_val(form)
        assert lowest.is_int(), "the rays of a facet's polyhedron are those of the set"
        if lowest.is_neg():
            at = isl.Constraint.equality_from_aff(form.add_constant_val(lowest.neg()))
            result.append(coordinates(points.add_constraint(at).sample_point()))
    return result


def _constraints(points: isl.BasicSet) -> list[LinearConstraint]:
    """Read the constraints off a set without existential variables."""
    return [
        LinearConstraint(
            coefficients(constraint, isl.dim_type.set),
            constant_term(constraint),
            constraint.is_equality(),
        )
        for constraint in points.get_constraints()
    ]
