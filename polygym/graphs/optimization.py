"""From a graph to the cheapest equal one: saturate, extract, and measure what is chosen.

The graph becomes an e-graph, rules are applied until nothing is new or a limit is reached, and the
cheapest of all graphs in it is extracted, under costs of single operators that are added up or
those of plans (:mod:`polygym.graphs.extraction`).

The answer is never dearer than the graph that came in: that one is in the e-graph too, and it is
returned as it was where nothing is cheaper.

Tensor graphs under rules, as the searches of :mod:`polygym.search.planning` take them.

A state is the term of a graph, a step one substitution at one place, as TASO's search has them
(:mod:`polygym.rewrite.backtracking`); a graph costs what its different nodes do. So A*, MCTS, a
beam and all others search graphs as they search terms and schedules.

TASO's search over tensor graphs: the baseline that equality saturation is compared with.

The same rules and the same costs; where these are measured, every operator that comes up is, since
a search that follows costs step by step has no use for an estimate.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from polygym.graphs.extraction import (
    AnyCosts,
    ExtractionMethod,
    OptimizationOptions,
    StopSignal,
    graph_cost,
    typed_nodes,
)
from polygym.graphs.ir.domain import TENSOR_DOMAIN
from polygym.graphs.ir.graph import Graph
from polygym.graphs.measured_costs import MeasuredCosts, PlanCosts
from polygym.graphs.rules import standard_rules
from polygym.graphs.saturation_stages import CpuSeconds, OptimizationResult, StagedSearch
from polygym.rewrite.backtracking import Valuation, backtrack
from polygym.rewrite.domain import Data, type_table
from polygym.rewrite.egraph import SaturationReport, StopReason
from polygym.rewrite.rule import Rule
from polygym.rewrite.substitution import TermIndex
from polygym.rewrite.term import Head, Term

__all__ = [
    "AnyCosts",
    "ExtractionMethod",
    "GraphRewriteSystem",
    "OptimizationOptions",
    "OptimizationResult",
    "graph_cost",
    "optimize_by_backtracking",
    "optimize_graph",
    "result_summary",
    "typed_nodes",
]


def optimize_graph(
    graph: Graph,
    costs: AnyCosts,
    options: OptimizationOptions | None = None,
    rules: Sequence[Rule] | None = None,
    progress: Callable[[str], None] | None = None,
    stop: StopSignal | None = None,
) -> OptimizationResult:
    """Return the cheapest graph that rules and limits reach.

    ``progress`` is told a sentence now and then. Ctrl-C while operators are measured loses nothing:
    what was measured is kept, and the next call goes on. After a ``stop`` the answer is the best so
    far.
    """
    options = options or OptimizationOptions()
    rules = standard_rules() if rules is None else rules
    search = StagedSearch(graph, costs, options, rules, progress or (lambda _: None), stop)
    search.run()
    return search.result()


def result_summary(result: OptimizationResult, costs: AnyCosts) -> dict[str, Any]:
    """Return what there is to say, as values of JSON."""
    explored = result.saturation
    return {
        "graph": result.before.name,
        "costs": costs.name,
        "unit": costs.unit,
        "initial_cost": result.initial_cost,
        "cost": result.cost,
        "greedy_cost": result.greedy_cost,
        "bound": result.lower_bound,
        "status": result.status,
        "changed": result.is_changed,
        "seconds": result.seconds,
        "exploration_seconds": explored.seconds,
        "extraction_seconds": result.extraction_seconds,
        "seconds_to_best": result.seconds
        if result.seconds_to_best is None
        else result.seconds_to_best,
        "cpu": {
            "seconds": result.cpu_seconds.total,
            "exploration_seconds": result.cpu_seconds.exploration,
            "extraction_seconds": result.cpu_seconds.extraction,
            "seconds_to_best": result.cpu_seconds.to_best,
        },
        "measured_operators": result.measured_operators,
        "compared_plans": result.compared_plans,
        "egraph": {
            "nodes": explored.nodes,
            "classes": explored.classes,
            "iterations": explored.iterations,
            "stop": explored.stop.value,
            "blacklisted": explored.blacklisted,
            "resting": list(explored.resting),
        },
        "rules_applied": {name: count for name, count in explored.applications.items() if count},
        "operators": {"before": _counts(result.before), "after": _counts(result.after)},
    }


def _counts(graph: Graph) -> dict[str, int]:
    """Return how many nodes of every operator there are that are computed at every call."""
    counts: dict[str, int] = {}
    for head, _, data in typed_nodes(graph):
        if head not in ("input", "weight", "noop") and not getattr(data, "constant", False):
            counts[str(head)] = counts.get(str(head), 0) + 1
    return dict(sorted(counts.items()))


def optimize_by_backtracking(
    graph: Graph,
    costs: AnyCosts,
    rules: Sequence[Rule],
    alpha: float = 1.0,
    iterations: int = 100,
    seconds: float = 3600.0,
    progress: Callable[[str], None] | None = None,
) -> OptimizationResult:
    """Return the cheapest graph that the search finds; it proves nothing about others.

    ``seconds_to_best`` is the time until the answer; only the end showed that it was the last.
    """
    if isinstance(costs, PlanCosts):
        costs = MeasuredCosts(costs.times)  # steps of a search change single nodes
    measured = costs.measured_count if isinstance(costs, MeasuredCosts) else 0
    result = backtrack(
        graph.root,
        rules,
        TENSOR_DOMAIN,
        costs.now if isinstance(costs, MeasuredCosts) else costs.cost,
        alpha,
        iterations,
        seconds,
        None
        if progress is None
        else lambda backtracking_progress: progress(
            f"graph {backtracking_progress.iterations}: {backtracking_progress.best:.1f}, "
            f"{backtracking_progress.queued} waiting"
        ),
    )
    is_better = result.cost < result.initial_cost
    return OptimizationResult(
        before=graph,
        after=graph.with_root(result.term) if is_better else graph,
        initial_cost=result.initial_cost,
        cost=result.cost,
        greedy_cost=result.cost,
        lower_bound=0.0,
        status=result.stop.value,
        saturation=SaturationReport(
            StopReason.ITERATIONS, result.iterations, result.visited, 0, result.seconds
        ),
        extraction_seconds=0.0,
        seconds=result.seconds,
        cpu_seconds=CpuSeconds(
            result.cpu_seconds, 0.0, result.cpu_seconds, result.cpu_seconds_to_best
        ),
        measured_operators=(costs.measured_count if isinstance(costs, MeasuredCosts) else 0)
        - measured,
        seconds_to_best=result.seconds_to_best,
    )


class GraphRewriteSystem:
    """What tensor graphs become by a set of rules, and what they cost."""

    def __init__(
        self,
        rules: Sequence[Rule],
        cost: Callable[[Head, tuple[Data, ...], Data], float],
        unit: float = 1.0,
    ) -> None:
        """Take rules, and the cost of a node by its head, its arguments' data and its own.

        Costs are counted in a unit. MCTS weighs what it gains against what it has not tried yet,
        so it needs one that makes gains small numbers: the cost of the start, say.
        """
        self._rules, self._types, self._unit = tuple(rules), type_table(TENSOR_DOMAIN), unit
        self._valuation = Valuation(self._types, cost)

    def successors(self, state: Term) -> Sequence[Term]:
        """Return what a graph can become by one substitution, each of them once."""
        places = TermIndex(state, self._types)
        made = (places.apply(match) for match in places.matches(self._rules))
        return list(dict.fromkeys(term for term in made if term is not None and term is not state))

    def cost(self, state: Term) -> float:
        """Return what a graph costs."""
        return self._valuation.of(state) / self._unit

    def key(self, state: Term) -> Hashable:
        """Return the term: equal ones are one object."""
        return state

    def features(self, state: Term) -> Term:
        """Return the term itself."""
        return state
