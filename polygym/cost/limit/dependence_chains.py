"""A chain of operations each of which waits for the one before: no machine is faster than it.

Bit for bit the same result means the same operations on the same values, so along value-based flow
from one instance to the next every operation waits, whatever the schedule, the storage and the
number of threads. Any path in that relation is a bound below the time; the longer, the better.
It is found by walking: from the first instance of each statement along arcs
(:func:`find_flow_edges`), to a statement from which there is a way back where
there is one, and to the instance that the original order runs first of all that an arc leads to.

A walk of a million steps is made of few. Suppose that its last 2p arcs are the same p arcs twice,
through x, y, z with y - x = z - y = d. The p arcs together are one affine function f with f(x) = y
and f(y) = z, whose linear part so maps d to d; it goes on to z + d, z + 2d and on, as long as the
arcs hold. At each of the p arcs the values of its constraints change by the same amount s from one
round to the next, so with a value v >= 0 and s < 0 there are ⌊v / -s⌋ rounds more, and as many as
the least of these are taken at once.

Example, durbin's ``sum += r[k - i - 1] * y[i]`` at n = 2000: two steps in i, 1,997 at once, from
the last one through alpha and z to the next k, and so on: n²/2 additions in some ten thousand
steps.

Steps from an instance to one that needs its value, as plain numbers at given sizes.

A leaf T reads a value that S wrote: of all instances of T that read the value of S[x] the first one
(the lexicographic minimum) is an affine function of x on convex pieces of S. Each piece is an
*arc*: constraints ``a · (x, 1) >= 0`` that say where it holds, rows that say where it leads, and
what the value waits for there. Pieces that only divisions describe are left out; a chain is as long
as what is left makes it.

Example: T reads what ``T[i, j - 1]`` wrote. The arc holds where 0 <= j < m - 1, leads from [i, j]
to [i, j + 1], and waits for one addition.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import mul
from typing import TypeAlias

import islpy as isl

from polygym.cost.limit.expression_forms import ExpressionForms, maps_of_union
from polygym.cost.limit.operation_kinds import LatencyTerm, latency_path
from polygym.cost.limit.value_flows import MAX_OPERATIONS, ValueFlows
from polygym.ir.expressions import Load
from polygym.ir.types import ScalarType
from polygym.mapping.sizes import Sizes, at_sizes
from polygym.poly.dependences import basic_sets_of
from polygym.poly.isl_budget import attempt_bounded
from polygym.poly.isl_values import coefficients, constant_term, coordinates
from polygym.poly.scheduling.baselines import original_schedule

Point: TypeAlias = tuple[int, ...]
Row: TypeAlias = tuple[int, ...]
"""Coefficients, and a constant behind them."""

_MAX_EDGES = 400


@dataclass(frozen=True, slots=True)
class FlowEdge:
    """Where a value goes: from instances of ``source`` to instances of ``sink``.

    It holds where every row of ``inequalities`` is at least 0 and every row of ``equalities`` is 0.
    """

    source: str
    sink: str
    inequalities: tuple[Row, ...]
    equalities: tuple[Row, ...]
    rows: tuple[Row, ...]
    latencies: tuple[LatencyTerm, ...]


@dataclass(frozen=True, slots=True)
class CompiledFlowEdge:
    """An arc as code: where it leads to from a point, and when that runs; None where it does not.

    Rows become Python expressions, once: there are tens of thousands of points.
    """

    edge: FlowEdge
    move: Callable[[Point], tuple[Point, Point] | None]

    @staticmethod
    def along(arc: FlowEdge, when: Sequence[Row]) -> CompiledFlowEdge:
        """Return the code of an arc to a statement that runs at times given by rows."""
        tests = [f"{_row_text(row, 'p')} >= 0" for row in arc.inequalities]
        tests += [f"{_row_text(row, 'p')} == 0" for row in arc.equalities]
        there = _tuple_text([_row_text(row, "p") for row in arc.rows])
        time = _tuple_text([_row_text(row, "q") for row in when])
        code = f"lambda p: ((q := {there}), {time}) if {' and '.join(tests) or 'True'} else None"
        return CompiledFlowEdge(arc, eval(code, {}))


def _row_text(row: Row, point: str) -> str:
    terms = [f"{factor}*{point}[{place}]" for place, factor in enumerate(row[:-1]) if factor]
    return " + ".join([*terms, str(row[-1])])


def _tuple_text(texts: Sequence[str]) -> str:
    return f"({''.join(f'{text}, ' for text in texts)})"


def row_value(row: Row, point: Point) -> int:
    """Return what a row is at a point.

    >>> row_value((2, -1, 5), (10, 3))
    22
    """
    total: int = sum(map(mul, row, point), row[-1])
    return total


def find_flow_edges(flows: ValueFlows, sizes: Sizes) -> tuple[FlowEdge, ...]:
    """Return the arcs between live instances at given sizes, as far as isl finds them."""
    flow_edges: list[FlowEdge] = []
    forms = ExpressionForms(flows)
    for leaf in flows.certain_reads.values():
        reader = flows.scop.statement(leaf.statement)
        waits = latency_path(flows.scop, reader, leaf.access)
        if waits is None or leaf.statement not in flows.live:
            continue
        for part in maps_of_union(leaf.sources):
            if forms.is_written_constant(
                flows.scop.statement(part.get_tuple_name(isl.dim_type.in_))
            ):
                continue  # nothing waits for a constant
            live = part.intersect_range(flows.live[leaf.statement])
            flow_edges += _edges_of_relation(live, sizes, waits)
            if len(flow_edges) > _MAX_EDGES:
                return tuple(flow_edges[:_MAX_EDGES])
    return tuple(flow_edges)


def _edges_of_relation(
    relation: isl.Map, sizes: Sizes, latencies: tuple[LatencyTerm, ...]
) -> list[FlowEdge]:
    source = relation.get_tuple_name(isl.dim_type.in_)
    sink = relation.get_tuple_name(isl.dim_type.out)
    pieces: list[tuple[isl.Set, isl.MultiAff]] = []
    try:
        with attempt_bounded(MAX_OPERATIONS):
            first = at_sizes(relation, sizes).lexmin_pw_multi_aff().coalesce()
            first.foreach_piece(lambda where, there: pieces.append((where, there)))
            return [
                FlowEdge(source, sink, least, zero, rows, latencies)
                for where, there in pieces
                if (rows := _rows(there)) is not None
                for least, zero in _convex_pieces(where)
            ]
    except isl.Error:
        return []


def _rows(there: isl.MultiAff) -> tuple[Row, ...] | None:
    forms = [there.get_aff(place) for place in range(there.dim(isl.dim_type.out))]
    for form in forms:
        if form.dim(isl.dim_type.div) or not form.get_denominator_val().is_one():
            return None
    return tuple((*coefficients(form, isl.dim_type.in_), constant_term(form)) for form in forms)


def _convex_pieces(where: isl.Set) -> Iterator[tuple[tuple[Row, ...], tuple[Row, ...]]]:
    """Yield the convex pieces of a set that need no divisions: inequalities, and equalities."""
    for piece in basic_sets_of(where.make_disjoint()):
        if piece.dim(isl.dim_type.div):
            continue
        least: list[Row] = []
        zero: list[Row] = []
        for constraint in piece.get_constraints():
            row = (*coefficients(constraint, isl.dim_type.set), constant_term(constraint))
            (zero if constraint.is_equality() else least).append(row)
        yield tuple(least), tuple(zero)


# Walks are given up after so many steps, all together: what was walked is a chain.
_MAX_STEPS = 40_000
_MAX_CYCLE = 8
_ANY_TYPE = ScalarType.DOUBLE  # of a read whose type does not matter


@dataclass(frozen=True, slots=True)
class _WalkStep:
    """An arc that was walked, and from where."""

    edge: FlowEdge
    point: Point


@dataclass(slots=True)
class _ChainWalker:
    """Walks of one program."""

    flows: ValueFlows
    sizes: Sizes
    edges: Sequence[FlowEdge]
    first_instances: dict[str, Point]
    steps_left: int = _MAX_STEPS
    _from: dict[str, list[tuple[bool, CompiledFlowEdge]]] = field(init=False)

    def __post_init__(self) -> None:
        """Make code of the arcs; it is said of each whether there is no way back."""
        schedule = original_schedule(self.flows.scop)
        numbers = [self.sizes[name] for name in schedule.parameters]
        times: dict[str, list[Row]] = {
            name: [
                (*row.iterators, row.constant + sum(map(mul, row.parameters, numbers)))
                for row in schedule.rows(name)
            ]
            for name in {arc.sink for arc in self.edges}
        }
        circles = _strong_components(self.edges)
        self._from = defaultdict(list)
        for arc in self.edges:
            leaves = circles[arc.source] != circles[arc.sink]
            self._from[arc.source].append((leaves, CompiledFlowEdge.along(arc, times[arc.sink])))

    def walk(self, name: str, point: Point) -> Counter[LatencyTerm]:
        """Return what a walk from an instance waits for."""
        result = Counter(self._first_latency(name))
        path: list[_WalkStep] = []
        while self.steps_left > 0 and (way := self._next_edge(name, point)) is not None:
            self.steps_left -= 1
            arc, there = way
            path.append(_WalkStep(arc, point))
            for wait in arc.latencies:
                result[wait] += 1
            name, point = arc.sink, there
            if self.first_instances.get(name) == point:
                del self.first_instances[name]  # a walk from there is the rest of this one
            if leap := _skip_cycles(path, name, point):
                rounds, length, point = leap
                for step in path[-length:]:
                    for wait in step.edge.latencies:
                        result[wait] += rounds
                path.clear()
            elif len(path) > 4 * _MAX_CYCLE:
                del path[: 2 * _MAX_CYCLE]
        return result

    def _first_latency(self, name: str) -> tuple[LatencyTerm, ...]:
        """Return what the first instance of a walk waits for, unless it may read a constant."""
        scop, forms = self.flows.scop, ExpressionForms(self.flows)
        leaves = self.flows.reads_of(name)
        statement = scop.statement(name)
        if any(forms.may_be_constant(statement, Load(read.access, _ANY_TYPE)) for read in leaves):
            return ()
        paths = [latency_path(scop, statement, leaf.access) for leaf in leaves]
        return max((path for path in paths if path is not None), key=len, default=())

    def _next_edge(self, name: str, point: Point) -> tuple[FlowEdge, Point] | None:
        """Return the arc to go on by, and where it leads; None where the chain ends."""
        best: tuple[bool, Point] | None = None
        result: tuple[FlowEdge, Point] | None = None
        for leaves, go in self._from.get(name, ()):
            if (moved := go.move(point)) is not None:
                there, when = moved
                if best is None or (leaves, when) < best:
                    best, result = (leaves, when), (go.edge, there)
        return result


def dependence_chains(flows: ValueFlows, sizes: Sizes) -> tuple[Counter[LatencyTerm], ...]:
    """Return what some chains of a program wait for: as many as have anything different."""
    result: list[Counter[LatencyTerm]] = []
    ways = find_flow_edges(flows, sizes)
    begins = {
        name: begin
        for name in dict.fromkeys(arc.source for arc in ways)
        if (begin := _first_instance(flows, name, sizes)) is not None
    }
    walker = _ChainWalker(flows, sizes, ways, begins)
    for name, begin in tuple(begins.items()):
        if name in walker.first_instances:
            waits = walker.walk(name, begin)
            if waits and not any(waits <= other for other in result):
                result = [other for other in result if not other <= waits] + [waits]
    return tuple(result)


def _first_instance(flows: ValueFlows, name: str, sizes: Sizes) -> Point | None:
    """Return the first live instance of a statement, where walks from it begin."""
    try:
        with attempt_bounded(MAX_OPERATIONS):
            live = at_sizes(flows.live[name], sizes) if name in flows.live else None
            if live is None or live.is_empty():
                return None
            return coordinates(live.lexmin().sample_point())
    except isl.Error:
        return None


def _skip_cycles(
    path: Sequence[_WalkStep], name: str, point: Point
) -> tuple[int, int, Point] | None:
    """Return how many more rounds a walk can take at once, of how many arcs, and to where.

    The walk is at an instance that ``path`` has led to.
    """
    for length in range(1, _MAX_CYCLE + 1):
        if len(path) < 2 * length:
            return None
        before, last = path[-2 * length : -length], path[-length:]
        if any(
            walk_step.edge is not other.edge for walk_step, other in zip(before, last, strict=True)
        ):
            continue
        if last[0].edge.source != name:
            continue
        ahead = _difference(point, last[0].point)
        if ahead != _difference(last[0].point, before[0].point):
            continue
        rounds = _remaining_cycles(before, last)
        if rounds is not None and rounds > 0:
            return rounds, length, tuple(a + rounds * d for a, d in zip(point, ahead, strict=True))
    return None


def _remaining_cycles(before: Sequence[_WalkStep], last: Sequence[_WalkStep]) -> int | None:
    """Return how often the arcs of the last round hold again; None if there is no end to it."""
    most: int | None = None
    for walk_step, other in zip(before, last, strict=True):
        for row in other.edge.inequalities:
            here = row_value(row, other.point)
            change = here - row_value(row, walk_step.point)
            if change < 0:
                rounds = here // -change
                most = rounds if most is None else min(most, rounds)
        if any(
            row_value(row, other.point) != row_value(row, walk_step.point)
            for row in other.edge.equalities
        ):
            return 0
    return most


def _difference(one: Point, other: Point) -> Point:
    return tuple(a - b for a, b in zip(one, other, strict=True))


def _strong_components(arcs: Sequence[FlowEdge]) -> dict[str, int]:
    """Return a number for every statement; of one number are those with a way there and back."""
    after: defaultdict[str, set[str]] = defaultdict(set)
    names = list(dict.fromkeys(name for arc in arcs for name in (arc.source, arc.sink)))
    for arc in arcs:
        after[arc.source].add(arc.sink)
    growing = True
    while growing:
        growing = False
        for name in names:
            more = {far for near in after[name] for far in after[near]} - after[name]
            after[name] |= more
            growing = growing or bool(more)
    result: dict[str, int] = {}
    for number, name in enumerate(names):
        both = [other for other in result if other in after[name] and name in after[other]]
        result[name] = result[both[0]] if both else number
    return result
