"""Selection of cuts with which isl's scheduler finds more parallel or wider bands.

One suggestion after the other is added to what is cut already, the one with the greatest merit
first, for as long as the merit grows; then each cut is left out again without which the merit is
the same. For Floyd and Warshall's algorithm::

    whole                  (2, 0, -3)
    S0: i = k              (2, 1, -1)    the best of the suggestions
    S0: i = k, j = k       (2, 2, -1)    with another; nothing is better

What a cut costs (more code, loops with fewer iterations) is not in the merit: a schedule of the
program in pieces is measured like any other.

Each merit takes isl's scheduler once. A *quick* look asks it less often, for a default that most
programs should not wait for: only where isl's schedule leaves some statement with the most loops
none that is parallel, only about hyperplanes, and what gains nothing alone is not tried with
others. For Floyd and Warshall's algorithm it finds the same with 6 questions instead of 28.

What isl's scheduler makes of a program in pieces: which loops run in parallel, which in tiles.

isl's schedule is a tree of *bands*, groups of loops that may be permuted, and so tiled; a loop is
*coincident* if no dependence that is left at its band keeps its iterations apart. Of a statement's
way down the tree three numbers are taken, of which a larger one is better, the first first:

* how many loops its widest band has: tiles of several loops use again what they have loaded;
* how many of its loops are coincident: vectors and threads;
* minus how many loops are around the outermost coincident one, or around all if there is none.

A statement has the least of each number that its pieces have, those with as many loops as any of
them: nearly all instances are theirs, and what helps half of a statement leaves the other half to
wait for. The *merit* of a program is the mean over the statements with the most loops. Floyd and
Warshall's algorithm has (2, 0, -3), one instance after the other; in pieces at i = k and j = k it
has (2, 2, -1), steps of two loops that run in parallel.

Cuts that dependences suggest: hyperplanes at which the dependence pattern changes.

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

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from itertools import count
from typing import TypeAlias

import islpy as isl

from polygym.errors import InputError, LimitError
from polygym.ir.scop import Scop, Statement
from polygym.poly.dependences import Dependence, DependenceKind, dependences
from polygym.poly.isl_budget import attempt_bounded, bounded_operations
from polygym.poly.isl_values import coefficients, constant_term
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.baselines import DEEPEST_NEST
from polygym.poly.scheduling.isl_scheduler import SchedulingTask
from polygym.poly.scheduling.properties import schedule_properties
from polygym.poly.scheduling.strategy import ISL
from polygym.poly.scheduling.symbolic_sizes import SymbolicProgram, with_symbolic_sizes
from polygym.poly.transform.splitting.apply import pieces_by_statement
from polygym.poly.transform.splitting.conditions import (
    NO_SPLITTING,
    SplitCondition,
    SplitRelation,
    Splitting,
    split_condition,
)

MOST_PIECES = 16
"""More than so many, beside those that do not have to be, take isl's scheduler too long."""

SplittingMerit: TypeAlias = tuple[Fraction, Fraction, Fraction]

# For each statement its bands, outermost first: of each loop whether it is coincident.
_Bands: TypeAlias = Mapping[str, list[list[bool]]]


def splitting_merit(scop: Scop, splitting: Splitting) -> SplittingMerit:
    """Return the merit of a program in pieces.

    Raises:
        InputError: isl finds no schedule, or there are too many pieces.
    """
    pieces = _numbered(pieces_by_statement(scop, splitting))
    if sum(map(len, pieces.values())) >= MOST_PIECES + len(scop.statements):
        raise InputError(f"expected at most {MOST_PIECES} pieces more than there are statements")
    task = _task(scop, pieces)
    bands = _bands(task.solve())
    deepest = max(statement.depth for statement in scop.statements)
    triples = [
        _numbers([bands[piece.name] for piece in _largest(pieces[statement.name])])
        for statement in scop.statements
        if statement.depth == deepest
    ]
    widest, parallel, around = (
        Fraction(sum(numbers), len(numbers)) for numbers in zip(*triples, strict=True)
    )
    return widest, parallel, around


def is_best_possible(merit: SplittingMerit, depth: int) -> bool:
    """Whether a program so deep has nothing to gain: a band of all its loops.

    Tiles of such a band run in parallel along diagonals, if there are two loops; one alone has to
    be coincident.
    """
    widest, parallel, _ = merit
    return widest == depth and (depth > 1 or parallel == 1)


def _numbers(bands: Sequence[list[list[bool]]]) -> tuple[int, int, int]:
    """Return the three numbers of a statement, the least that its pieces have."""
    loops = [[loop for band in piece for loop in band] for piece in bands]
    return (
        min(max(map(len, band), default=0) for band in bands),
        min(map(sum, loops)),
        min(-loop.index(True) if True in loop else -len(loop) for loop in loops),
    )


def _largest(pieces: Sequence[Statement]) -> list[Statement]:
    """Return the pieces with as many loops as any of them has."""
    dimensions = [loop_dimension(statement) for statement in pieces]
    return [
        piece
        for piece, dimension in zip(pieces, dimensions, strict=True)
        if dimension == max(dimensions)
    ]


def _numbered(pieces: Mapping[str, tuple[Statement, ...]]) -> Mapping[str, list[Statement]]:
    """Return the pieces of each statement with S0, S1, … for names, as isl's scheduler has them."""
    numbers = count()
    return {
        name: [replace(piece, name=f"S{next(numbers)}") for piece in several]
        for name, several in pieces.items()
    }


def _task(scop: Scop, pieces: Mapping[str, list[Statement]]) -> SchedulingTask:
    """Return isl's task for a program in numbered pieces.

    The dependences between pieces are those of the program, cut: of the same instances, which have
    the same order.
    """
    cutting = isl.UnionMap("{ }")
    for name, several in pieces.items():
        for piece in several:
            same = isl.Set(piece.domain).identity().set_tuple_name(isl.dim_type.in_, name)
            same = same.set_tuple_name(isl.dim_type.out, piece.name)
            cutting = cutting.union(isl.UnionMap.from_map(same))

    def cut(chosen: Iterable[Dependence]) -> isl.UnionMap:
        relation = isl.UnionMap("{ }")
        for dependence in chosen:
            relation = relation.union(isl.UnionMap(dependence.relation))
        return relation.apply_domain(cutting).apply_range(cutting)

    order = dependences(scop)
    near = [dependence for dependence in order if DependenceKind.FLOW in dependence.kind]
    nothing = isl.UnionMap("{ }")
    return SchedulingTask(scop, ISL, cutting.range(), cut(order), cut(near), nothing)


def _bands(tree: isl.Schedule) -> _Bands:
    """Return the bands of each statement in isl's schedule."""
    result: dict[str, list[list[bool]]] = defaultdict(list)
    for node in _nodes(tree.get_root()):
        if node.get_type() == isl.schedule_node_type.band:
            for name, loops in _loops(node).items():
                result[name].append(loops)
    return result


def _nodes(node: isl.ScheduleNode) -> Iterator[isl.ScheduleNode]:
    """Yield a node and all below it, from the outside to the inside."""
    yield node
    for place in range(node.n_children()):
        yield from _nodes(node.child(place))


def _loops(band: isl.ScheduleNode) -> dict[str, list[bool]]:
    """Return the loops that statements have in a band; a row without iterators is none."""
    rows = band.band_get_partial_schedule()
    result: dict[str, list[bool]] = defaultdict(list)
    for place in range(band.band_n_member()):
        parts: list[isl.PwAff] = []
        rows.get_union_pw_aff(place).foreach_pw_aff(parts.append)
        for part in parts:
            if part.involves_dims(isl.dim_type.in_, 0, part.dim(isl.dim_type.in_)):
                name = part.domain().get_tuple_name()
                result[name].append(bool(band.band_member_get_coincident(place)))
    return result


def loop_dimension(piece: Statement) -> int:
    """Return how many loops there are around a piece that take more than one value."""
    hull = isl.Set(piece.domain).affine_hull()
    equations = [constraint for constraint in hull.get_constraints() if constraint.is_equality()]
    return piece.depth - sum(not equation.dim(isl.dim_type.div) for equation in equations)


_MOST_ROUNDS = 4
_MOST_OPERATIONS = 400_000
"""For one program in pieces; Floyd and Warshall's algorithm in nine pieces needs fewer."""


@lru_cache(maxsize=64)
def select_splitting(scop: Scop) -> Splitting:
    """Return the cuts that are worth it, none where none are.

    Raises:
        LimitError: the dependences alone take too long.
    """
    return _select(scop, quick=False)


@lru_cache(maxsize=64)
def select_splitting_quickly(scop: Scop, isl_schedule: Schedule) -> Splitting:
    """Return the cuts that a quick look finds, where isl's usual schedule leaves something to gain.

    Raises:
        LimitError: the dependences alone take too long.
    """
    return _select(scop, quick=True) if _is_serial(scop, isl_schedule) else NO_SPLITTING


def _is_serial(scop: Scop, schedule: Schedule) -> bool:
    """Whether some statement with the most loops has none that is parallel."""
    return any(
        not any(loop.parallel for loop in properties.loops)
        for properties in schedule_properties(scop, schedule).statements
        if scop.statement(properties.statement).depth == scop.depth > 0
    )


def _select(scop: Scop, *, quick: bool) -> Splitting:
    if scop.depth > DEEPEST_NEST:
        return NO_SPLITTING
    with bounded_operations("looking for cuts"):
        symbolic = with_symbolic_sizes(scop)
        merits = _MeritCache(scop if symbolic is None else symbolic.scop)
        splitting = _prune(merits, _grow(merits, quick=quick))
        return splitting if symbolic is None else _with_constant_sizes(splitting, symbolic)


@dataclass(slots=True)
class _MeritCache:
    """What isl's scheduler makes of a program in pieces; each is asked for once."""

    scop: Scop
    _cache: dict[Splitting, SplittingMerit | None] = field(default_factory=dict)

    def merit_of(self, splitting: Splitting) -> SplittingMerit | None:
        """Return the merit, None where isl finds no schedule, not soon, or with too many pieces.

        The bound is on each program in pieces; when it is passed the others are still tried.
        """
        if splitting not in self._cache:
            self._cache[splitting] = self._compute(splitting)
        return self._cache[splitting]

    def _compute(self, splitting: Splitting) -> SplittingMerit | None:
        try:
            with (
                attempt_bounded(_MOST_OPERATIONS),
                bounded_operations("scheduling a program in pieces"),
            ):
                return splitting_merit(self.scop, splitting)
        except (InputError, LimitError):
            return None


def _grow(merits: _MeritCache, *, quick: bool) -> Splitting:
    """Return the cuts of one suggestion after the other."""
    splitting, best = NO_SPLITTING, merits.merit_of(NO_SPLITTING)
    suggestions: tuple[Splitting, ...] | None = None
    for _ in range(_MOST_ROUNDS):
        if best is None or is_best_possible(best, merits.scop.depth):
            break
        if suggestions is None:
            suggestions = (hyperplane_splittings if quick else candidate_splittings)(merits.scop)
        longer = {suggestion: _union(splitting, suggestion) for suggestion in suggestions}
        values = {
            suggestion: value
            for suggestion, both in longer.items()
            if (value := merits.merit_of(both))
        }
        gaining = [suggestion for suggestion, value in values.items() if value > best]
        if not gaining:
            break
        greatest = max(gaining, key=lambda suggestion: values[suggestion])  # the first of equals
        best, splitting = values[greatest], longer[greatest]
        if quick:
            suggestions = tuple(suggestion for suggestion in gaining if suggestion != greatest)
    return splitting


def _prune(merits: _MeritCache, splitting: Splitting) -> Splitting:
    """Return the splitting without cuts that add nothing to its merit."""
    best = merits.merit_of(splitting)
    for name, cuts in splitting.statements:
        for condition in cuts:
            fewer = _without(splitting, name, condition)
            value = merits.merit_of(fewer)
            if value is not None and best is not None and value >= best:
                splitting = fewer
    return splitting


def _union(first: Splitting, second: Splitting) -> Splitting:
    """Return the cuts of both, as many as a statement may have."""
    for name, cuts in second.statements:
        first = first.with_first_conditions(name, cuts)
    return first


def _without(splitting: Splitting, statement: str, left_out: SplitCondition) -> Splitting:
    """Return a splitting without a cut of a statement."""
    cuts = {
        name: tuple(condition for condition in cuts if (name, condition) != (statement, left_out))
        for name, cuts in splitting.statements
    }
    return Splitting(tuple((name, left) for name, left in cuts.items() if left))


def _with_constant_sizes(splitting: Splitting, symbolic: SymbolicProgram) -> Splitting:
    """Return the splitting of a program with numbers, for which sizes were parameters."""
    values = {size.name: size.value for size in symbolic.sizes}
    result = NO_SPLITTING
    for name, cuts in splitting.statements:
        for condition in cuts:
            terms = dict(condition.terms)
            number = sum(terms.pop(size, 0) * value for size, value in values.items())
            result = result.with_conditions(
                name, [split_condition(terms, condition.constant + number, condition.relation)]
            )
    return result


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
