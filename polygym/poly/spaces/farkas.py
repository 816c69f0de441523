"""Farkas' lemma, by generators: what a dependence demands of the coefficients of one row.

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
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from polygym.ir.scop import Scop
from polygym.poly.dependences import Dependence, dependences
from polygym.poly.integer_vectors import Vector, dot, primitive
from polygym.poly.spaces.coordinates import CoordinateLayout
from polygym.poly.spaces.generators import RationalPoint
from polygym.poly.spaces.hull import differences_of, integer_hull, pairs_of


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


@lru_cache(maxsize=64)
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
