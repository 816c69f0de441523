"""What an e-graph is worth: the graph that is extracted from it, its cost, and the bound.

The cost is that of the graph, in which equal parts are paid once, also where the extraction chose
without knowing that: so that greedy's and the integer program's answers are compared fairly.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from polygym.graphs.envs.task import Task
from polygym.rewrite.egraph import EGraph
from polygym.rewrite.extraction import Status, greedy, ilp
from polygym.rewrite.term import Term

__all__ = ["Extracted", "Method", "extracted"]


class Method(Enum):
    """How a graph is extracted."""

    GREEDY = "greedy"
    OPTIMAL = "optimal"


@dataclass(frozen=True, slots=True)
class Extracted:
    """A graph, what it costs, what none costs less than (0: nothing is known), and the status."""

    root: Term
    cost: float
    bound: float
    status: str


def extracted(
    task: Task, egraph: EGraph, root: int, method: Method, seconds: float = 0.0
) -> Extracted:
    """Return what is extracted; ``seconds`` is when the solver is stopped.

    The status is "greedy", "optimal" where that was proved, and otherwise "bounded".
    """
    cost = task.prices.of_data
    if method is Method.GREEDY:
        found = greedy(egraph, root, cost)
        status = method.value
    else:
        found = ilp(egraph, root, cost, seconds=seconds)
        status = method.value if found.status is Status.OPTIMAL else "bounded"
    total, _ = task.prices.of_graph(found.term)
    return Extracted(found.term, total, float(found.bound), status)
