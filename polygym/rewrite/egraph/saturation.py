"""Equality saturation: rules are applied until nothing is new, or a limit is reached.

An iteration searches and applies the rules with several sources first (in the first ``k_multi``
iterations), then those with one; between the two, and at the end, the e-graph is rebuilt, and at
the end cycles are cut. All matches of a group are found before any is applied. Of rules with one
source only those matches are looked for that changed parts can have made.

A sum of n parts has 2^n partial sums, so rules that only exchange operands would fill any e-graph.
Such a rule rests from the iteration on in which it has more matches than ``exchanges``.

    >>> from polygym.rewrite.s_expressions import parse_term
    >>> from polygym.rewrite.domain import TrivialDomain
    >>> from polygym.rewrite.rule import parse_rules
    >>> graph = EGraph(TrivialDomain())
    >>> root = graph.add_term(parse_term("(add a (add b c))"))
    >>> rules = parse_rules("commutes: (add ?x ?y) => (add ?y ?x)")
    >>> report = saturate(graph, rules)
    >>> report.stop.value, report.iterations, report.nodes, report.classes
    ('saturated', 2, 7, 5)
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from itertools import islice

from polygym.errors import InputError
from polygym.pickling import pickle_by_name
from polygym.rewrite.egraph.application import RuleProgram
from polygym.rewrite.egraph.cycles import (
    CycleFilter,
    Descendants,
    break_cycles,
    reachability,
    would_close_cycle,
)
from polygym.rewrite.egraph.egraph import EGraph
from polygym.rewrite.egraph.matching import EGraphMatch, EGraphPattern, OperatorIndex
from polygym.rewrite.rule import Rule
from polygym.rewrite.term import Term

_CHUNK_SIZE = 2048


class StopReason(Enum):
    """Why saturation ended."""

    SATURATED = "saturated"
    NODES = "nodes"
    ITERATIONS = "iterations"
    TIME = "time"
    REQUESTED = "requested"


@pickle_by_name
@dataclass(frozen=True, slots=True)
class SaturationLimits:
    """How far saturation may go."""

    nodes: int = 50_000
    iterations: int = 15
    seconds: float = math.inf
    k_multi: int = 1
    """In how many iterations, from the first, rules with several sources are applied."""
    exchanges: float = math.inf
    """Beyond how many matches in an iteration a rule rests that only exchanges operands."""

    def __post_init__(self) -> None:
        """Refuse what is no limit."""
        limits = {"nodes": 1, "iterations": 0, "seconds": 0, "k_multi": 0, "exchanges": 0}
        for name, least in limits.items():
            value = getattr(self, name)
            if not value >= least:
                raise InputError(f"limit {name}: expected {least} or more, found {value}")


@pickle_by_name
@dataclass(frozen=True, slots=True)
class IterationReport:
    """What one iteration did."""

    applications: dict[str, int]
    """Rule: how many of its matches changed something."""
    changed: bool
    stop: StopReason | None
    """The limit at which it ended before its end: ``NODES`` or ``TIME``."""
    blacklisted: int
    """How many nodes were blacklisted."""
    resting: tuple[str, ...] = ()
    """The rules that exchange operands and had too many matches."""


@pickle_by_name
@dataclass(frozen=True, slots=True)
class SaturationReport:
    """What saturation came to."""

    stop: StopReason
    iterations: int
    """How many were begun."""
    nodes: int
    classes: int
    seconds: float
    applications: dict[str, int] = field(default_factory=dict)
    """Rule: how many of its matches changed something."""
    blacklisted: int = 0
    """How many nodes of the e-graph are blacklisted."""
    resting: tuple[str, ...] = ()
    """The rules that exchange operands and had too many matches at the end."""


def saturate(
    graph: EGraph,
    rules: Sequence[Rule],
    limits: SaturationLimits | None = None,
    cycles: CycleFilter = CycleFilter.EFFICIENT,
    progress: Callable[[EGraph, IterationReport], None] | None = None,
    is_stopped: Callable[[], bool] | None = None,
) -> SaturationReport:
    """Apply rules until nothing changes or a limit is reached; the e-graph is rebuilt at the end.

    ``is_stopped`` is asked now and then: once it holds, the e-graph stays as it is then.

    Raises:
        Inadmissible: two classes became equal by congruence that the domain says cannot be; a rule
            is wrong.
    """
    limits = limits or SaturationLimits()
    begin = time.perf_counter()
    deadline = begin + limits.seconds
    single = [rule for rule in rules if not rule.is_multiple]
    applied = dict.fromkeys((rule.name for rule in rules), 0)
    stop = StopReason.ITERATIONS
    resting: tuple[str, ...] = ()
    begun = 0
    for begun in range(1, limits.iterations + 1):
        group = rules if begun <= limits.k_multi else single
        done = run_iteration(
            graph, group, limits.nodes, cycles, deadline, limits.exchanges, is_stopped
        )
        resting = done.resting
        for name, count in done.applications.items():
            applied[name] += count
        if progress is not None:
            progress(graph, done)
        if done.stop is not None:
            stop = done.stop
            break
        if not done.changed:
            stop = StopReason.SATURATED
            break
    seconds = time.perf_counter() - begin
    black = len(graph.blacklist)
    return SaturationReport(
        stop, begun, graph.node_count, graph.class_count, seconds, applied, black, resting
    )


def run_iteration(
    graph: EGraph,
    rules: Sequence[Rule],
    nodes: int = 50_000,
    cycles: CycleFilter = CycleFilter.EFFICIENT,
    deadline: float = math.inf,
    exchanges: float = math.inf,
    is_stopped: Callable[[], bool] | None = None,
) -> IterationReport:
    """Apply rules for one iteration, those with several sources first.

    ``nodes`` is how many the e-graph may have (more than that it only has if it had them before),
    ``deadline`` a time of :func:`time.perf_counter`.
    """
    graph.rebuild()
    blacklisted = 0 if cycles is CycleFilter.NONE else break_cycles(graph)
    before = graph.changes
    programs = [graph.types.compiled(RuleProgram, rule) for rule in rules]
    applied: dict[str, int] = {}
    resting: list[str] = []
    stop: StopReason | None = None
    for is_multiple in (True, False):
        group = [program for program in programs if program.rule.is_multiple == is_multiple]
        if group and stop is None:
            work = _RuleGroupRun(graph, nodes, cycles, deadline, applied, is_stopped)
            if is_multiple:
                stop = work.multiple(group)
            else:
                stop = work.single(group, exchanges)
                resting = work.resting
            graph.rebuild()
    changed = graph.changes != before
    if cycles is not CycleFilter.NONE:
        blacklisted += break_cycles(graph)
    return IterationReport(applied, changed, stop, blacklisted, tuple(resting))


class _RuleGroupRun:
    """One group of rules, searched and applied once."""

    def __init__(
        self,
        graph: EGraph,
        nodes: int,
        cycles: CycleFilter,
        deadline: float,
        applied: dict[str, int],
        is_stopped: Callable[[], bool] | None,
    ) -> None:
        self._graph, self._nodes, self._cycles, self._deadline = graph, nodes, cycles, deadline
        self._applied, self._is_stopped = applied, is_stopped
        self.resting: list[str] = []
        self._index = OperatorIndex(graph)
        self._now = graph.tick
        graph.tick += 1

    def single(self, programs: list[RuleProgram], exchanges: float) -> StopReason | None:
        """Apply rules with one source, to the matches that changes since the last time can have."""
        graph = self._graph
        matches: dict[tuple[Term, int], list[EGraphMatch]] = {}
        work: list[tuple[RuleProgram, list[EGraphMatch]]] = []
        for program in programs:
            if (stop := self._limit_reached()) is not None:
                return stop
            since = graph.searched.get(program.rule, 0)
            key = (program.join.patterns[0], since)
            if key not in matches:
                matches[key] = graph.types.compiled(EGraphPattern, key[0]).matches(
                    self._index, since
                )
            rows = matches[key]
            if program.exchanges_operands and len(rows) > exchanges:
                self.resting.append(program.rule.name)
            else:
                work.append((program, rows))
        for program, rows in work:
            stop = self._apply(
                program, (rows[at : at + _CHUNK_SIZE] for at in range(0, len(rows), _CHUNK_SIZE))
            )
            if stop is not None:
                return stop
            graph.searched[program.rule] = self._now
        return None

    def multiple(self, programs: list[RuleProgram]) -> StopReason | None:
        """Apply rules with several sources, to all matches that close no cycle."""
        graph = self._graph
        # Classes that cost nothing anyway are not worth a match.
        is_free = graph.types.domain.is_free
        free = {at for at, value in enumerate(graph.types.values) if is_free(value)}
        matches: dict[Term, list[EGraphMatch]] = {}
        for program in programs:
            for pattern in program.join.patterns:
                if (stop := self._limit_reached()) is not None:
                    return stop
                if pattern not in matches:
                    finder = graph.types.compiled(EGraphPattern, pattern)
                    matches[pattern] = [
                        row
                        for row in finder.matches(self._index)
                        if graph.numbers[graph.find(row[0])] not in free
                    ]
        closes: Callable[[RuleProgram, EGraphMatch], bool] | None = None
        if self._cycles is CycleFilter.VANILLA:
            closes = partial(would_close_cycle, is_reachable=reachability(graph))
        elif self._cycles is CycleFilter.EFFICIENT:
            ends = (row[0] for rows in matches.values() for row in rows)
            closes = Descendants(graph, ends).closes_cycle
        for program in programs:
            rows = program.join.rows([matches[pattern] for pattern in program.join.patterns])
            stop = self._apply(program, self._chunks(program, rows, closes))
            if stop is not None:
                return stop
        return None

    def _chunks(
        self,
        program: RuleProgram,
        rows: Iterator[EGraphMatch],
        closes: Callable[[RuleProgram, EGraphMatch], bool] | None,
    ) -> Iterator[list[EGraphMatch]]:
        """Yield matches that close no cycle; where the e-graph is asked, one at a time."""
        size = 1 if self._cycles is CycleFilter.VANILLA else _CHUNK_SIZE
        while chunk := list(islice(rows, size)):
            if closes is None:
                yield chunk
            else:
                yield [row for row in chunk if not closes(program, row)]

    def _apply(
        self, program: RuleProgram, chunks: Iterator[list[EGraphMatch]]
    ) -> StopReason | None:
        graph, applied, name = self._graph, self._applied, program.rule.name
        applied.setdefault(name, 0)
        before = graph.limit
        graph.limit = self._nodes
        try:
            for rows in chunks:
                if (stop := self._limit_reached()) is not None:
                    return stop
                place = 0
                while True:
                    place, changed = program.apply(graph, rows, place)
                    applied[name] += changed
                    if place == len(rows):
                        break
                    graph.rebuild()  # equal nodes count once, perhaps below the limit
                    if graph.node_count >= self._nodes:
                        return StopReason.NODES
        finally:
            graph.limit = before
        return None

    def _limit_reached(self) -> StopReason | None:
        if self._is_stopped is not None and self._is_stopped():
            return StopReason.REQUESTED
        return StopReason.TIME if time.perf_counter() >= self._deadline else None
