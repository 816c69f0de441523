"""TASO's search over tensor graphs: the baseline that equality saturation is compared with.

The same rules and the same costs; where these are measured, every operator that comes up is, since
a search that follows costs step by step has no use for an estimate.
"""

from collections.abc import Callable, Sequence

from polygym.graphs.costs.measured import MeasuredCosts, NodeCosts
from polygym.graphs.ir.domain import TENSOR_DOMAIN
from polygym.graphs.ir.graph import Graph
from polygym.graphs.optimization.optimizer import CpuSeconds, OptimizationResult
from polygym.rewrite.backtracking import backtrack
from polygym.rewrite.egraph import SaturationReport, StopReason
from polygym.rewrite.rule import Rule


def optimize_by_backtracking(
    graph: Graph,
    costs: NodeCosts,
    rules: Sequence[Rule],
    alpha: float = 1.0,
    iterations: int = 100,
    seconds: float = 3600.0,
    progress: Callable[[str], None] | None = None,
) -> OptimizationResult:
    """Return the cheapest graph that the search finds; it proves nothing about others.

    ``seconds_to_best`` is the time until the answer; only the end showed that it was the last.
    """
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
