"""Suggestions of cuts, from dependences: hyperplanes at which the dependence pattern changes.

Three things show in a dependence D from instances of S to instances of T that a cut may help:

* the sources, or the sinks, lie on a *hyperplane* of the statement's instances. Floyd and
  Warshall's ``path[i][j] = min(path[i][j], path[i][k] + path[k][j])`` has in every step k ::

      { S[k, i, j] -> S[k, k, j] : i < k }     rows above the k-th read it as it was before,
      { S[k, k, j] -> S[k, i, j] : i > k }     rows below it as this step leaves it

  whose sinks, or sources, have i = k. The three pieces of that cut have no dependence inside of
  themselves that keeps rows apart;
* the sources, or the sinks, lie on one side of a *border*: ``a[i] = a[i - n]`` for 0 <= i < 2n
  reads what was computed where i >= n only, and neither half depends on itself;
* D *reflects* an iterator: i + i' is the same for all its pairs. On a ring, where element 0 has
  n - 1 as its neighbour, 0 + (n - 1) = n - 1; cut in the middle, at 2i <= n - 1, and one half
  reversed, neighbours are neighbours again (Bondhugula, Bandishti, Cohen, Potron and Vasilache,
  Tiling and optimizing time-iterated computations on periodic domains, PACT 2014). Where the
  elements at the ends have statements of their own, the dependence is between these, so the
  middles of ranges are suggested as well.

What is suggested is cheap to find and often useless;
:mod:`polygym.poly.transform.splitting.selection` tries it out.
"""

from collections.abc import Iterable, Iterator

import islpy as isl

from polygym.ir.scop import Scop, Statement
from polygym.poly.dependences import Dependence, dependences
from polygym.poly.isl_values import coefficients, constant_term
from polygym.poly.transform.splitting.conditions import (
    NO_SPLITTING,
    SplitCondition,
    SplitRelation,
    Splitting,
    split_condition,
)

_MAX_CANDIDATES = 16


def candidate_splittings(scop: Scop, *, ranges: bool = True) -> tuple[Splitting, ...]:
    """Return splittings that may be worth it, each different from all before it.

    Without ``ranges`` these are cut in the middle only where some iterator is reflected.

    Cuts in the middle come together, one splitting for each depth of loops and one for all: half a
    ring is no use where the other array of it stays whole. Those of hyperplanes come before those
    of borders, of which there are more.
    """
    known = dependences(scop)
    alone = [
        *_single_condition_splittings(_hyperplanes(scop, known)),
        *_single_condition_splittings(_borders(scop, known)),
    ]
    several = [*_midpoint_splittings(scop, known, ranges=ranges), *alone]
    return tuple(dict.fromkeys(splitting for splitting in several if splitting.statements))[
        :_MAX_CANDIDATES
    ]


def hyperplane_splittings(scop: Scop) -> tuple[Splitting, ...]:
    """Return the suggestions that are hyperplanes, each different from all before it."""
    result = dict.fromkeys(_single_condition_splittings(_hyperplanes(scop, dependences(scop))))
    return tuple(result)[:_MAX_CANDIDATES]


def _single_condition_splittings(cuts: Iterable[tuple[str, SplitCondition]]) -> Iterator[Splitting]:
    """Yield every cut of a statement as a splitting."""
    for statement, condition in cuts:
        yield NO_SPLITTING.with_conditions(statement, [condition])


def _ends(
    scop: Scop, known: Iterable[Dependence]
) -> Iterator[tuple[Statement, isl.BasicSet, isl.Set]]:
    """Yield the sources and the sinks of dependences, with all instances of their statement."""
    for dependence in known:
        relation = isl.BasicMap(dependence.relation)
        for name, points in (
            (dependence.source, relation.domain()),
            (dependence.sink, relation.range()),
        ):
            statement = scop.statement(name)
            yield statement, points, isl.Set(statement.domain)


def _hyperplanes(scop: Scop, known: Iterable[Dependence]) -> Iterator[tuple[str, SplitCondition]]:
    """Yield cuts at equations that hold at one end of a dependence and not for all instances."""
    for statement, points, domain in _ends(scop, known):
        for constraint in points.affine_hull().gist(domain.affine_hull()).get_constraints():
            if constraint.is_equality() and (
                condition := _condition_at(constraint, statement, SplitRelation.EQUAL)
            ):
                yield statement.name, condition


def _borders(scop: Scop, known: Iterable[Dependence]) -> Iterator[tuple[str, SplitCondition]]:
    """Yield cuts at inequalities that hold at one end of a dependence, not for all instances."""
    for statement, points, domain in _ends(scop, known):
        for constraint in points.gist(domain.simple_hull()).get_constraints():
            if not constraint.is_equality() and (
                condition := _condition_at(constraint, statement, SplitRelation.BELOW)
            ):
                yield statement.name, condition


def _midpoint_splittings(
    scop: Scop, known: Iterable[Dependence], *, ranges: bool
) -> Iterator[Splitting]:
    """Yield splittings in the middle: all reflections, all ranges, ranges at one depth."""
    reflections = NO_SPLITTING
    for dependence in known:
        if dependence.source == dependence.sink:
            statement = scop.statement(dependence.source)
            cuts = list(_reflections(isl.BasicMap(dependence.relation), statement))
            reflections = reflections.with_first_conditions(dependence.source, cuts)
    yield reflections
    if len(scop.statements) == 1 or not (ranges or reflections.statements):
        return
    deepest = [statement for statement in scop.statements if statement.depth == scop.depth]
    for places in (range(scop.depth), *([place] for place in range(scop.depth))):
        middles = NO_SPLITTING
        for statement in deepest:
            cuts = [middle for place in places if (middle := _midpoint_condition(statement, place))]
            middles = middles.with_first_conditions(statement.name, cuts)
        yield middles


def _reflections(relation: isl.BasicMap, statement: Statement) -> Iterator[SplitCondition]:
    """Yield 2x <= c for every iterator x with x + x' = c for all pairs, where c has a parameter.

    That is asked of the set of all x + x': it may be so without an equation of D that says it, as
    in { S[t, 0] -> S[t + 1, n - 1] }.
    """
    pairs = isl.Set.from_basic_set(relation.wrap().flatten())
    depth = statement.depth
    names = [f"i{place}" for place in range(2 * depth)]
    for place, iterator in enumerate(statement.iterators):
        both = isl.Map(f"{{ [{', '.join(names)}] -> [i{place} + i{place + depth}] }}")
        for constraint in pairs.apply(both).affine_hull().get_constraints():
            factor = coefficients(constraint, isl.dim_type.set)[0]
            sizes = _parameters(constraint)
            if abs(factor) == 1 and sizes and not constraint.dim(isl.dim_type.div):
                # factor·(x + x') + sizes + constant = 0, so that c = -factor·(sizes + constant).
                terms = {name: factor * size for name, size in sizes.items()}
                terms[iterator] = 2
                yield split_condition(
                    terms, factor * constant_term(constraint) - 1, SplitRelation.BELOW
                )


def _midpoint_condition(statement: Statement, place: int) -> SplitCondition | None:
    """Return 2x <= l + u for an iterator that runs from l to u, affine forms of parameters."""
    domain = isl.Set(statement.domain)
    others = domain.dim(isl.dim_type.set) - place - 1
    line = domain.project_out(isl.dim_type.set, place + 1, others)
    line = line.project_out(isl.dim_type.set, 0, place)
    hull = line.simple_hull().remove_redundancies()
    bounds = [
        constraint
        for constraint in hull.get_constraints()
        if any(coefficients(constraint, isl.dim_type.set))
    ]
    factors = [coefficients(bound, isl.dim_type.set)[0] for bound in bounds]
    if sorted(factors) != [-1, 1] or any(bound.dim(isl.dim_type.div) for bound in bounds):
        return None
    # x - l >= 0 and u - x >= 0: the second less the first is u + l - 2x.
    lower, upper = (bounds[factors.index(factor)] for factor in (1, -1))
    first, second = _parameters(lower), _parameters(upper)
    terms = {name: first.get(name, 0) - second.get(name, 0) for name in {**first, **second}}
    if not any(terms.values()):
        return None
    terms[statement.iterators[place]] = 2
    return split_condition(
        terms, constant_term(lower) - constant_term(upper) - 1, SplitRelation.BELOW
    )


def _condition_at(
    constraint: isl.Constraint, statement: Statement, relation: SplitRelation
) -> SplitCondition | None:
    """Return the cut at a constraint, f = 0 or f >= 0; None if it needs more than its iterators."""
    own = coefficients(constraint, isl.dim_type.set)
    if constraint.dim(isl.dim_type.div) or not any(own):
        return None
    terms = dict(zip(statement.iterators, own, strict=True)) | _parameters(constraint)
    if relation is SplitRelation.EQUAL and next(factor for factor in reversed(own) if factor) < 0:
        negated = {name: -factor for name, factor in terms.items()}
        return split_condition(negated, -constant_term(constraint), relation)
    return split_condition(terms, constant_term(constraint), relation)


def _parameters(constraint: isl.Constraint) -> dict[str, int]:
    """Return the parameters that a constraint speaks of, with their coefficients."""
    factors = coefficients(constraint, isl.dim_type.param)
    names = (constraint.get_dim_name(isl.dim_type.param, place) for place in range(len(factors)))
    return {name: factor for name, factor in zip(names, factors, strict=True) if factor}
