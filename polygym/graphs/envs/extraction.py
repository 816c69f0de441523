"""What an e-graph is worth: the graph that is extracted from it, its cost, and the bound.

The cost is that of the graph, in which equal parts are paid once, also where the extraction chose
without knowing that: so that greedy's and the integer program's answers are compared fairly.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from polygym.graphs.envs.task import GraphTask
from polygym.rewrite.egraph import EGraph
from polygym.rewrite.extraction import ExtractionStatus, extract_greedily, extract_optimally
from polygym.rewrite.term import Term

__all__ = ["ExtractedGraph", "ExtractionAction", "extract_graph"]


class ExtractionAction(Enum):
    """How a graph is extracted."""

    GREEDY = "greedy"
    OPTIMAL = "optimal"


@dataclass(frozen=True, slots=True)
class ExtractedGraph:
    """A graph, what it costs, what none costs less than (0: nothing is known), and the status."""

    root: Term
    cost: float
    lower_bound: float
    status: str


def extract_graph(
    task: GraphTask, egraph: EGraph, root: int, method: ExtractionAction, seconds: float = 0.0
) -> ExtractedGraph:
    """Return what is extracted; ``seconds`` is when the solver is stopped.

    The status is "greedy", "optimal" where that was proved, and otherwise "bounded".
    """
    cost = task.cost_cache.of_data
    if method is ExtractionAction.GREEDY:
        extraction = extract_greedily(egraph, root, cost)
        status = method.value
    else:
        extraction = extract_optimally(egraph, root, cost, seconds=seconds)
        status = method.value if extraction.status is ExtractionStatus.OPTIMAL else "bounded"
    total, _ = task.cost_cache.of_graph(extraction.term)
    return ExtractedGraph(extraction.term, total, float(extraction.lower_bound), status)
