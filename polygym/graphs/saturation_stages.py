"""Equality saturation in stages, of which each answer is kept if it is the best so far.

The first stage has the rules with one source alone, until nothing is new. Each further one, of
``k_multi``, applies the rules with several sources once, to all that is there, and then the others
again. After each stage the cheapest graph of the e-graph is extracted. So the answer for a larger
``k_multi`` is never dearer than that for a smaller one, whatever limit is met on the way, and never
dearer than greedy's or the graph that came in.

Where costs are measured, only what is chosen is: see :mod:`polygym.graphs.costs`, which says why
the answer is the same.

Constants are computed ahead and cost nothing, but they are stored. An answer that stores far more
than its graph did is chosen again with a price for what constants grow by, and dropped if it still
does.
"""

import math
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Protocol, assert_never

from polygym.errors import InputError
from polygym.graphs.addends import regrouped_sums
from polygym.graphs.costs import MeasuredCosts, NodeCosts, TypedNode, operator_key
from polygym.graphs.ir.domain import TENSOR_DOMAIN, infer_all
from polygym.graphs.ir.graph import Graph
from polygym.graphs.operators.types import TensorType
from polygym.rewrite.domain import Data
from polygym.rewrite.egraph import (
    CycleFilter,
    EGraph,
    SaturationLimits,
    SaturationReport,
    StopReason,
    saturate,
)
from polygym.rewrite.extraction import (
    CostFunction,
    CycleConstraints,
    ExtractionStatus,
    extract_greedily,
    extract_optimally,
)
from polygym.rewrite.extraction import Extraction as Extracted
from polygym.rewrite.rule import Rule
from polygym.rewrite.term import Head, Term

_MOST_ROUNDS = 200

_TELL_SECONDS = 2.0
"""How often a long stage says how far it is."""

_STAGE_SHARE = 0.25
"""How much of the time of extraction a stage may take that is not the last, or was cut off."""

_STORED_TIMES, _STORED_MORE = 2, 1 << 20
"""The constants of an answer have at most so many times the bytes of those before, and so many."""

_BYTE_PRICE = 1.0
"""The price of a byte by which constants grow, where an answer stores too much."""


class StopSignal(Protocol):
    """A wish to stop, as :class:`polygym.cli.stop_signals.StopRequest` hears it."""

    @property
    def is_requested(self) -> bool:
        """Whether it has come."""
        ...

    def allowed(self) -> AbstractContextManager[None]:
        """Inside, it is a KeyboardInterrupt."""
        ...


class ExtractionMethod(Enum):
    """How the cheapest graph is looked for."""

    GREEDY = "greedy"
    ILP = "ilp"


@dataclass(frozen=True, slots=True)
class OptimizationOptions:
    """Limits of saturation, how cycles are kept out, and how the answer is extracted.

    ``cycle_constraints`` is how the integer program keeps out cycles that a filter has left; the
    usual one has none left, so that nothing is to be done.
    """

    limits: SaturationLimits = field(default_factory=SaturationLimits)
    cycles: CycleFilter = CycleFilter.EFFICIENT
    extraction: ExtractionMethod = ExtractionMethod.ILP
    cycle_constraints: CycleConstraints = CycleConstraints.LAZY
    extraction_seconds: float = 6.0


@dataclass(frozen=True, slots=True)
class CpuSeconds:
    """Seconds of the processor that this process took: what others do meanwhile does not count.

    Nor does what it waits for: operators are measured by another process.
    """

    exploration: float
    extraction: float
    total: float
    to_best: float


@dataclass(frozen=True, slots=True)
class OptimizationResult:
    """What became of a graph.

    ``lower_bound`` is what no graph of the e-graph is cheaper than, ``status`` whether that was
    proved to be reached; ``extract_greedily`` what greedy extraction found, before and beside the
    integer program.
    """

    before: Graph
    after: Graph
    initial_cost: float
    cost: float
    greedy_cost: float
    lower_bound: float
    status: str
    saturation: SaturationReport
    extraction_seconds: float
    seconds: float
    cpu_seconds: CpuSeconds
    measured_operators: int = 0
    seconds_to_best: float | None = None

    @property
    def is_changed(self) -> bool:
        """Whether a cheaper graph was found."""
        return self.after is not self.before


def graph_cost(root: Term | Graph, costs: NodeCosts) -> float:
    """Return the costs of all nodes of a graph, each once."""
    return math.fsum(costs.cost(*node) for node in typed_nodes(root))


def typed_nodes(root: Term | Graph) -> list[TypedNode]:
    """Return the nodes of a graph as costs know them, children first.

    What only weights known ahead depend on is among them; it costs nothing.
    """
    term = root.root if isinstance(root, Graph) else root
    data = infer_all((term,))
    return [
        (node.head, tuple(data[child] for child in node.children), result)
        for node, result in data.items()
        if node.children
    ]


def stored_bytes(root: Term) -> int:
    """Return the bytes of the constants that a graph keeps: those that others take, or results."""
    data = infer_all((root,))
    kept = {
        child
        for node in data
        if not _is_constant(data[node])
        for child in node.children
        if _is_constant(data[child])
    }
    kept |= {root} if _is_constant(data[root]) else set()
    return sum(_constant_bytes(data[node]) for node in kept)


def _is_constant(data: Data) -> bool:
    return TENSOR_DOMAIN.is_free(data)


def _constant_bytes(data: Data) -> int:
    return data.bytes if isinstance(data, TensorType) and data.constant else 0


def _with_growth_price(cost: CostFunction) -> CostFunction:
    """Return costs in which constants pay for the bytes that they have more than their operands."""

    def priced(head: Head, children: tuple[Data, ...], data: Data) -> float:
        result = cost(head, children, data)
        if children and _is_constant(data) and head != "weight":
            operands = sum(map(_constant_bytes, children))
            result += _BYTE_PRICE * max(_constant_bytes(data) - operands, 0)
        return result

    return priced


class StagedSearch:
    """The stages, and the best answer so far."""

    def __init__(
        self,
        graph: Graph,
        costs: NodeCosts,
        options: OptimizationOptions,
        rules: Sequence[Rule],
        tell: Callable[[str], None],
        stop: StopSignal | None,
    ) -> None:
        """Begin with the graph itself, and its sums in another order."""
        self._graph, self._costs, self._options, self._rules = graph, costs, options, rules
        self._tell, self._stop, self._told = tell, stop, time.monotonic()
        self._begin, self._begun = time.monotonic(), time.process_time()
        self._measured_before = self._measured()
        self._egraph = EGraph(TENSOR_DOMAIN)
        self._root = self._egraph.add_term(graph.root)
        if rules:
            for sum_, other in regrouped_sums(graph):
                self._egraph.union(self._egraph.add_term(sum_), self._egraph.add_term(other))
        self._egraph.rebuild()
        # Every node of the graph may exchange its operands once, however large the graph is.
        exchanges = options.limits.exchanges + self._egraph.node_count
        self._limits = replace(options.limits, exchanges=exchanges)
        self._best, self._greedy = graph.root, math.inf
        self._last: Extracted | None = None
        self._reports: list[SaturationReport] = []
        self._extraction = self._explored_in = self._extracted_in = 0.0
        self._is_interrupted = False

    def run(self) -> None:
        """Go through the stages, until nothing is new, a limit is met, or a stop is requested."""
        stages = self._options.limits.k_multi
        try:
            if isinstance(self._costs, MeasuredCosts):
                self._measure(typed_nodes(self._graph))
                _check_executable(self._graph, self._costs)
            for stage in range(stages + 1):
                report = self._explore(stage)
                is_last = stage == stages or report.stop not in _GOES_ON
                if report.stop is StopReason.REQUESTED:
                    self._is_interrupted = True
                    self._keep(extract_greedily(self._egraph, self._root, self._costs.cost))
                    return
                if stage and not self._changed_by_several(report):
                    return
                self._choose(is_last)
                if is_last:
                    return
        except KeyboardInterrupt:
            if self._stop is None:
                raise
            self._is_interrupted = True

    def result(self) -> OptimizationResult:
        """Return the best answer so far."""
        initial = graph_cost(self._graph.root, self._costs)
        final = graph_cost(self._best, self._costs)
        after = self._graph.with_root(self._best) if final < initial else self._graph
        cost, last = min(initial, final), self._last
        whole = time.process_time() - self._begun
        status, bound = ExtractionStatus.GREEDY, 0.0
        if last is not None:
            status, bound = last.status, min(last.lower_bound, cost)
            if status is ExtractionStatus.OPTIMAL and bound < cost:
                status = ExtractionStatus.FEASIBLE
        return OptimizationResult(
            self._graph,
            after,
            initial,
            cost,
            max(min(initial, self._greedy), cost),
            bound,
            "interrupted" if self._is_interrupted else status.value,
            self._report(),
            self._extraction,
            time.monotonic() - self._begin,
            CpuSeconds(self._explored_in, self._extracted_in, whole, whole),
            self._measured() - self._measured_before,
        )

    def _explore(self, stage: int) -> SaturationReport:
        """Apply the rules of a stage: those with several sources once, but not in the first."""
        limits = self._limits
        begun = time.process_time()
        left = limits.seconds - sum(report.seconds for report in self._reports)
        report = saturate(
            self._egraph,
            self._rules,
            replace(limits, seconds=max(left, 0.0), k_multi=min(stage, 1)),
            self._options.cycles,
            lambda graph, _: self._tell(
                f"explored {graph.node_count} nodes, {graph.class_count} classes"
            ),
            self._is_stopped,
        )
        self._explored_in += time.process_time() - begun
        self._reports.append(report)
        return report

    def _is_stopped(self) -> bool:
        """Whether a stop is requested; says now and then how far a long iteration is."""
        now = time.monotonic()
        if now - self._told > _TELL_SECONDS:
            self._told = now
            self._tell(f"exploring: {self._egraph.node_count} nodes")
        return self._stop is not None and self._stop.is_requested

    def _changed_by_several(self, report: SaturationReport) -> bool:
        return any(report.applications[rule.name] for rule in self._rules if rule.is_multiple)

    def _choose(self, is_last: bool) -> None:
        """Extract the cheapest graph; where costs are measured, until all of it is."""
        is_cut = len(self._reports) > 1 and self._reports[-1].stop not in _GOES_ON
        share = _STAGE_SHARE if is_cut or not is_last else 1.0
        for round_ in range(_MOST_ROUNDS):
            result = self._extract(self._costs.cost, share)
            if not isinstance(self._costs, MeasuredCosts):
                break
            missing = self._costs.missing(typed_nodes(result.term))
            if not missing:
                break
            self._tell(f"round {round_ + 1}: {len(missing)} operators to be measured")
            self._measure(missing)
        self._last = result
        if not self._is_stored_too_much(result.term):
            self._keep(result)
            return
        result = self._extract(_with_growth_price(self._costs.cost), _STAGE_SHARE)
        if not self._is_stored_too_much(result.term):
            self._keep(result)

    def _extract(self, cost: CostFunction, share: float) -> Extracted:
        """Extract the cheapest graph, within a share of the time and within what is left of it."""
        options, seconds = self._options, self._options.extraction_seconds
        start, started = time.monotonic(), time.process_time()
        if not isinstance(self._costs, MeasuredCosts):
            seconds -= self._extraction
        try:
            with self._stop.allowed() if self._stop is not None else nullcontext():
                match options.extraction:
                    case ExtractionMethod.GREEDY:
                        return extract_greedily(self._egraph, self._root, cost)
                    case ExtractionMethod.ILP:
                        seconds = min(seconds, share * options.extraction_seconds)
                        order = options.cycle_constraints
                        return extract_optimally(self._egraph, self._root, cost, order, seconds)
                    case _:
                        assert_never(options.extraction)
        finally:
            self._extraction += time.monotonic() - start
            self._extracted_in += time.process_time() - started

    def _is_stored_too_much(self, root: Term) -> bool:
        before = stored_bytes(self._graph.root)
        return stored_bytes(root) > _STORED_TIMES * before + _STORED_MORE

    def _keep(self, result: Extracted) -> None:
        """Keep an answer that is cheaper than the best so far."""
        self._greedy = min(self._greedy, result.greedy_cost)
        if graph_cost(result.term, self._costs) < graph_cost(self._best, self._costs):
            self._best = result.term

    def _measure(self, nodes: Sequence[TypedNode]) -> None:
        assert isinstance(self._costs, MeasuredCosts)
        with self._stop.allowed() if self._stop is not None else nullcontext():
            self._costs.measure(nodes, lambda operator, _: self._tell(f"measured {operator}"))

    def _measured(self) -> int:
        return self._costs.measured_count if isinstance(self._costs, MeasuredCosts) else 0

    def _report(self) -> SaturationReport:
        """Return the stages as one saturation."""
        if not self._reports:
            return SaturationReport(
                StopReason.REQUESTED, 0, self._egraph.node_count, self._egraph.class_count, 0.0
            )
        applied: dict[str, int] = {}
        for report in self._reports:
            for name, count in report.applications.items():
                applied[name] = applied.get(name, 0) + count
        return replace(
            self._reports[-1],
            iterations=sum(report.iterations for report in self._reports),
            seconds=sum(report.seconds for report in self._reports),
            applications=applied,
        )


_GOES_ON = (StopReason.SATURATED, StopReason.ITERATIONS)
"""How a stage ends that another one may follow."""


def _check_executable(graph: Graph, costs: MeasuredCosts) -> None:
    """Refuse a graph that does not run itself: there would be nothing to compare with."""
    for head, children, data in typed_nodes(graph):
        if costs.cost(head, children, data) == math.inf:
            raise InputError(
                f"graph {graph.name}: expected operators that run here, found "
                f"{operator_key(head, children)}, which does not (too large for the memory, or "
                "for 32-bit sizes); --costs static takes no times"
            )
