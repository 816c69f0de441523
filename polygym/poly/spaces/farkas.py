"""Farkas' lemma by generators: the conditions of a dependence on one row.

A row gives instance s of S the value Θ_S(s, p) and instance t of T the value Θ_T(t, p), with
parameters p. Along a dependence with the set D of triples (s, t, p) the row's distance is

    δ(s, t, p) = Θ_T(t, p) - Θ_S(s, p),

affine in (s, t, p) for fixed coefficients and *linear in the coefficients* x for fixed (s, t, p).
The row satisfies the dependence weakly when δ ≥ 0 on all of D and strongly when δ ≥ 1. D is the sum
of its vertices' hull and its rays and lines, and an affine form is at least ε on such a sum iff it
is at least ε at every vertex, its linear part is nonnegative along every ray and zero along every
line. So each generator of D gives one condition on x, and nothing else is needed:

    vertex v   δ_v · x ≥ ε       (ε = 0 weakly, 1 strongly; the coefficients at (s, t, p, 1))
    ray r      δ_r · x ≥ 0       (the constants count 0: only differences matter)
    line l     δ_l · x = 0

Example, S -> T of y = Ax, D = { S[i] -> T[i, j] : 0 ≤ i, j < n }, in the order (i, i', j', n): one
vertex (0, 0, 0, 1) and the rays (0, 0, 0, 1), (1, 1, 0, 1), (0, 0, 1, 1), (1, 1, 1, 1). In the
coordinates (S.i, T.i, T.j, S.n, T.n, S.1, T.1) of :mod:`polygym.poly.spaces.coordinates` the
vertex says (0, 0, 0, -1, 1, -1, 1)·x ≥ ε and the second ray (-1, 1, 0, -1, 1, 0, 0)·x ≥ 0.

A dependence within one statement has Θ_T = Θ_S: the parameters and the constant cancel, and δ is
the iterators' coefficients times t - s. So D is replaced by the set of these differences. T -> T
of y = Ax, T[i, j] -> T[i, j'] with j < j', has the differences (0, d) with d ≥ 1, one vertex (0, 1)
and one ray (0, 1): T.j ≥ ε and T.j ≥ 0.

Source: Feautrier, *Some efficient solutions to the affine scheduling problem* (1992), which uses
the dual form of the lemma and eliminates its multipliers; reading off the generators is the primal
form and eliminates nothing.

The generators of a dependence: of the convex hull of its *integer* points.

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

from dataclasses import dataclass
from functools import lru_cache

import islpy as isl

from polygym.errors import LimitError
from polygym.ir.scop import Scop
from polygym.lru_cache import REMEMBERED_PROGRAMS
from polygym.poly.dependences import Dependence, dependences
from polygym.poly.integer_vectors import Vector, dot, primitive
from polygym.poly.isl_budget import bounded_operations
from polygym.poly.isl_values import affine_form, coefficients, constant_term, coordinates, isl_value
from polygym.poly.spaces.coordinates import CoordinateLayout
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
        if vertex.is_integer and contains_point(points, vertex.numerators)
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


def contains_point(points: isl.BasicSet, at: Vector) -> bool:
    """Whether an integer point is one of a set's."""
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


@dataclass(frozen=True, slots=True)
class FarkasConditions:
    """What one dependence demands: forms that must be ≥ ε, ≥ 0 and = 0.

    ``weights`` multiply ε, one for each vertex form: the denominator of a vertex that is not
    integer, else 1.
    """

    vertices: tuple[Vector, ...]
    weights: tuple[int, ...]
    rays: tuple[Vector, ...]
    lines: tuple[Vector, ...]

    def satisfied_weakly_by(self, point: Vector) -> bool:
        """Whether no pair of the dependence is reversed by the row."""
        return (
            all(dot(form, point) >= 0 for form in self.vertices)
            and all(dot(form, point) >= 0 for form in self.rays)
            and not any(dot(form, point) for form in self.lines)
        )

    def satisfied_strongly_by(self, point: Vector) -> bool:
        """Whether the row orders every pair of the dependence."""
        return self.satisfied_weakly_by(point) and all(
            dot(form, point) >= weight
            for form, weight in zip(self.vertices, self.weights, strict=True)
        )


def farkas_conditions(scop: Scop) -> tuple[FarkasConditions, ...]:
    """Return the conditions of every dependence of the program, in the dependences' order."""
    return _conditions(scop)


@lru_cache(maxsize=REMEMBERED_PROGRAMS)
def _conditions(scop: Scop) -> tuple[FarkasConditions, ...]:
    layout = CoordinateLayout.of(scop)
    return tuple(dependence_conditions(dependence, layout) for dependence in dependences(scop))


def dependence_conditions(dependence: Dependence, layout: CoordinateLayout) -> FarkasConditions:
    """Return the conditions of one dependence between statements of the layout."""
    if dependence.source == dependence.sink:
        hull, form_at = integer_hull(differences_of(dependence)), _form_at_difference
    else:
        hull, form_at = integer_hull(pairs_of(dependence, layout.parameters)), _form_at_pair
    weights: dict[Vector, int] = {}
    for vertex in hull.vertices:
        form = form_at(dependence, layout, vertex)
        weights[form] = max(vertex.denominator, weights.get(form, 1))
    rays = {primitive(form_at(dependence, layout, RationalPoint(ray, 0))) for ray in hull.rays}
    lines = {primitive(form_at(dependence, layout, RationalPoint(line, 0))) for line in hull.lines}
    return FarkasConditions(
        tuple(sorted(weights)),
        tuple(weights[form] for form in sorted(weights)),
        tuple(sorted(form for form in rays if any(form))),
        tuple(sorted(form for form in lines if any(form))),
    )


def _form_at_pair(dependence: Dependence, layout: CoordinateLayout, at: RationalPoint) -> Vector:
    """Return δ at a triple (s, t, p), or along a direction if the denominator is 0.

    The denominator stands at the constants' places, which makes the form integer.
    """
    values = [0] * layout.width
    depth = len(layout.positions(dependence.source)[0])
    reach = len(layout.positions(dependence.sink)[0])
    source, sink = at.numerators[:depth], at.numerators[depth : depth + reach]
    parameters = at.numerators[depth + reach :]
    for name, sign, instance in ((dependence.sink, 1, sink), (dependence.source, -1, source)):
        iterators, places, constant = layout.positions(name)
        for place, value in zip(iterators, instance, strict=True):
            values[place] = sign * value
        for place, value in zip(places, parameters, strict=True):
            values[place] = sign * value
        values[constant] = sign * at.denominator
    return tuple(values)


def _form_at_difference(
    dependence: Dependence, layout: CoordinateLayout, at: RationalPoint
) -> Vector:
    """Return δ at a difference t - s, or along a direction, within one statement."""
    values = [0] * layout.width
    iterators, _, _ = layout.positions(dependence.source)
    for place, value in zip(iterators, at.numerators, strict=True):
        values[place] = value
    return tuple(values)
