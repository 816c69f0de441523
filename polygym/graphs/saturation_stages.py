"""Equality saturation in stages, of which each answer is kept if it is the best so far.

The first stage has the rules with one source alone, until nothing is new. Each further one, of
``k_multi``, applies the rules with several sources once, to all that is there, and then the others
again. After each stage the cheapest graph of the e-graph is extracted. So the answer for a larger
``k_multi`` is never dearer than that for a smaller one, whatever limit is met on the way, and never
dearer than greedy's or the graph that came in.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from polygym.graphs.addends import regrouped_sums
from polygym.graphs.extraction import (
    AnyCosts,
    GraphExtraction,
    OptimizationOptions,
    PlanExtraction,
    StopSignal,
    SumExtraction,
)
from polygym.graphs.ir.domain import TENSOR_DOMAIN
from polygym.graphs.ir.graph import Graph
from polygym.graphs.measured_costs import PlanCosts, TimedCosts
from polygym.rewrite.egraph import EGraph, SaturationReport, StopReason, saturate
from polygym.rewrite.extraction import ExtractionStatus
from polygym.rewrite.rule import Rule

_EXCHANGES = 50
"""Matches beyond the number of nodes that a rule may have that exchanges operands."""

_TELL_SECONDS = 2.0
"""How often a long stage says how far it is."""

_STAGE_SHARE = 0.25
"""How much of the time of extraction a stage may take that is not the last, or was cut off."""


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
    proved to be reached; ``greedy_cost`` what greedy extraction found, before and beside the
    integer program. Plans are compared: nothing is proved of others, and there is no greedy one.
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
    compared_plans: int = 0
    seconds_to_best: float | None = None

    @property
    def is_changed(self) -> bool:
        """Whether a cheaper graph was found."""
        return self.after is not self.before


class StagedSearch:
    """The stages, and the best answer so far."""

    def __init__(
        self,
        graph: Graph,
        costs: AnyCosts,
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
        sums = list(regrouped_sums(graph)) if rules else []
        self._root, *classes = self._egraph.add_terms([graph.root, *chain.from_iterable(sums)])
        for sum_, other in zip(classes[::2], classes[1::2], strict=True):
            self._egraph.union(sum_, other)
        self._egraph.rebuild()
        # Every node of the graph may exchange its operands once, however large the graph is.
        exchanges = min(options.limits.exchanges, _EXCHANGES + self._egraph.node_count)
        self._limits = replace(options.limits, exchanges=exchanges)
        place = (self._egraph, self._root, graph)
        self._extraction: GraphExtraction = (
            PlanExtraction(*place, costs, options, tell, stop)
            if isinstance(costs, PlanCosts)
            else SumExtraction(*place, costs, options, tell, stop)
        )
        self._reports: list[SaturationReport] = []
        self._explored_in = 0.0
        self._is_interrupted = False

    def run(self) -> None:
        """Go through the stages, until nothing is new, a limit is met, or a stop is requested."""
        stages = self._options.limits.k_multi
        try:
            self._extraction.measure_input()
            for stage in range(stages + 1):
                report = self._explore(stage)
                is_last = stage == stages or report.stop not in _GOES_ON
                if report.stop is StopReason.REQUESTED:
                    self._keep_so_far()
                    return
                if stage and not self._changed_by_several(report):
                    return
                self._choose(is_last)
                if is_last:
                    return
        except KeyboardInterrupt:
            if self._stop is None:
                raise
            self._keep_so_far()

    def _keep_so_far(self) -> None:
        """Keep greedy's answer, which takes no time, if it is the best when a stop comes."""
        self._is_interrupted = True
        self._extraction.choose_greedily()

    def result(self) -> OptimizationResult:
        """Return the best answer so far."""
        found = self._extraction
        initial, final = (found.cost_of(graph) for graph in (self._graph, found.best))
        cost, last = min(initial, final), found.last
        whole = time.process_time() - self._begun
        is_searched = bool(found.compared_plans)
        status, bound = ExtractionStatus.FEASIBLE if is_searched else ExtractionStatus.GREEDY, 0.0
        if last is not None and not self._is_interrupted:
            status, bound = last.status, min(last.lower_bound, cost)
            if status is ExtractionStatus.OPTIMAL and bound < cost:
                status = ExtractionStatus.FEASIBLE
        return OptimizationResult(
            self._graph,
            found.best if final < initial else self._graph,
            initial,
            cost,
            max(min(initial, found.greedy_cost), cost),
            bound,
            "interrupted" if self._is_interrupted else status.value,
            self._report(),
            found.seconds,
            time.monotonic() - self._begin,
            CpuSeconds(self._explored_in, found.cpu_seconds, whole, whole),
            self._measured() - self._measured_before,
            found.compared_plans,
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
        """Extract the cheapest graph."""
        is_cut = len(self._reports) > 1 and self._reports[-1].stop not in _GOES_ON
        self._extraction.choose(_STAGE_SHARE if is_cut or not is_last else 1.0)

    def _measured(self) -> int:
        return self._costs.measured_count if isinstance(self._costs, TimedCosts) else 0

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
