"""The cheapest graph of an e-graph, under costs of nodes that add up, or of plans.

Where costs are measured, only what is chosen is: see :mod:`polygym.graphs.measured_costs`, which
says why the answer is the same. Under costs of plans, extractions are where
:mod:`polygym.graphs.plan_search` begins.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias, assert_never

from polygym.errors import InputError
from polygym.graphs.costs import NodeCosts, RooflineCosts, TypedNode
from polygym.graphs.ir.domain import infer_all
from polygym.graphs.ir.graph import Graph
from polygym.graphs.measured_costs import MeasuredCosts, PlanCosts
from polygym.graphs.plan_search import Choice, cheapest_plan
from polygym.rewrite.egraph import CycleFilter, EGraph, SaturationLimits
from polygym.rewrite.extraction import (
    CycleConstraints,
    Extraction,
    ExtractionStatus,
    extract_greedily,
    extract_optimally,
)
from polygym.rewrite.extraction.costs import cheapest_trees, node_costs
from polygym.rewrite.term import Term

_MOST_ROUNDS = 200

AnyCosts: TypeAlias = NodeCosts | PlanCosts
"""Costs that add up over nodes, or those of what a whole graph runs."""


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
    extraction_seconds: float = 10.0


@dataclass(frozen=True, slots=True)
class BestGraph:
    """A graph, its cost beside that of the graph that came in, and what was proved."""

    graph: Graph
    initial_cost: float
    cost: float
    greedy_cost: float
    lower_bound: float
    status: ExtractionStatus
    compared: int = 0


def best_graph(
    egraph: EGraph,
    root: int,
    graph: Graph,
    costs: AnyCosts,
    options: OptimizationOptions,
    tell: Callable[[str], None],
) -> BestGraph:
    """Return the cheapest graph of a class, in which ``graph`` is."""
    if isinstance(costs, PlanCosts):
        return _best_plan(egraph, root, graph, costs, options, tell)
    return _best_sum(egraph, root, graph, costs, options, tell)


def _best_sum(
    egraph: EGraph,
    root: int,
    graph: Graph,
    costs: NodeCosts,
    options: OptimizationOptions,
    tell: Callable[[str], None],
) -> BestGraph:
    """Return the graph whose operators' costs add up to the least."""
    if isinstance(costs, MeasuredCosts):
        costs.measure(typed_nodes(graph), tell)
        _check_executable(graph, costs.failing(typed_nodes(graph)))
    initial = graph_cost(graph.root, costs)
    found = _extract(egraph, root, costs, options, tell)
    return BestGraph(
        graph.with_root(found.term),
        initial,
        graph_cost(found.term, costs),
        found.greedy_cost,
        found.lower_bound,
        found.status,
    )


def _best_plan(
    egraph: EGraph,
    root: int,
    graph: Graph,
    costs: PlanCosts,
    options: OptimizationOptions,
    tell: Callable[[str], None],
) -> BestGraph:
    """Return the graph whose plan is the cheapest that a search finds."""
    costs.measure(graph, tell)
    _check_executable(graph, costs.times.failing(costs.steps(graph)))
    fused = MeasuredCosts(costs.times, fuses=True)
    prices: tuple[NodeCosts, ...] = (fused, MeasuredCosts(costs.times), RooflineCosts())
    extracted = [_extract(egraph, root, each, options, tell) for each in prices]
    usual, _ = cheapest_trees(egraph, node_costs(egraph, fused.cost))
    choices: list[Choice] = [
        usual | {egraph.find(node): node for node in each.nodes} for each in extracted
    ]
    found = cheapest_plan(egraph, root, graph, [*choices, usual], costs, tell)
    initial, best = costs.cost(graph), found.best
    return BestGraph(
        best.graph, initial, best.cost, initial, 0.0, ExtractionStatus.FEASIBLE, found.compared
    )


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


def _extract(
    egraph: EGraph,
    root: int,
    costs: NodeCosts,
    options: OptimizationOptions,
    tell: Callable[[str], None],
) -> Extraction:
    """Return what is cheapest; where costs are measured, all that is chosen has been."""
    for round_ in range(_MOST_ROUNDS):
        result = _extract_once(egraph, root, costs, options)
        if not isinstance(costs, MeasuredCosts):
            break
        nodes = typed_nodes(result.term)
        missing = costs.missing(nodes)
        if not missing:
            break
        tell(f"round {round_ + 1}: {len(missing)} steps to be measured")
        costs.measure(nodes, tell)
    return result


def _extract_once(
    egraph: EGraph, root: int, costs: NodeCosts, options: OptimizationOptions
) -> Extraction:
    match options.extraction:
        case ExtractionMethod.GREEDY:
            return extract_greedily(egraph, root, costs.cost)
        case ExtractionMethod.ILP:
            return extract_optimally(
                egraph,
                root,
                costs.cost,
                cycles=options.cycle_constraints,
                seconds=options.extraction_seconds,
            )
        case _:
            assert_never(options.extraction)


def _check_executable(graph: Graph, failing: str | None) -> None:
    """Refuse a graph that does not run itself: there would be nothing to compare with."""
    if failing is not None:
        raise InputError(
            f"graph {graph.name}: expected steps that run here, found one that does not: {failing} "
            "(too large for the memory, or for 32-bit sizes); --costs static takes no times"
        )
