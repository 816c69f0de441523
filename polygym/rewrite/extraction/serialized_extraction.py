"""Extraction from an e-graph that was read: greedily, and as well as time allows."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

from polygym.errors import InputError
from polygym.pickling import pickle_by_name
from polygym.rewrite.egraph.serialized import SerializedEGraph
from polygym.rewrite.extraction.costs import (
    ExtractionStatus,
    cheapest_trees,
    chosen_nodes,
    tree_cost,
)
from polygym.rewrite.extraction.ilp_extraction import choose_optimally


@pickle_by_name
@dataclass(frozen=True, slots=True)
class ExtractionSummary:
    """Chosen nodes, children first, and what they cost: each once, or as often as it is used."""

    nodes: tuple[int, ...]
    dag_cost: float
    tree_cost: float
    lower_bound: float
    """What every choice costs at least, each node once, as far as was proved."""
    status: ExtractionStatus
    seconds: float


def extract_serialized(
    egraph: SerializedEGraph, seconds: float | None
) -> tuple[ExtractionSummary, ExtractionSummary]:
    """Return greedy's choice, and the best found in a time; without a time, greedy's again.

    >>> from polygym.rewrite.egraph.serialized import parse_egraph
    >>> nodes = [["pair", "p", ["l", "r"], 0], ["l", "l", [], 3], ["r", "r", [], 3],
    ...          ["by-l", "l", ["s"], 0], ["by-r", "r", ["s"], 0], ["s", "s", [], 4]]
    >>> rows = {i: {"eclass": c, "children": k, "cost": x} for i, c, k, x in nodes}
    >>> greedy, best = extract_serialized(
    ...     parse_egraph({"nodes": rows, "root_eclasses": ["p"]}), 10.0
    ... )
    >>> greedy.dag_cost, best.dag_cost, best.tree_cost, best.status.value
    (6.0, 4.0, 8.0, 'optimal')

    Raises:
        InputError: a root has no term without cycles and infinite costs; says which.
    """
    begin = time.perf_counter()
    first, _ = cheapest_trees(egraph, egraph.costs)
    for root in egraph.roots:
        if root not in first:
            raise InputError(
                f"class {egraph.class_names[root]}: expected a term without cycles, of nodes of "
                "finite cost, found none"
            )
    nodes = chosen_nodes(egraph, egraph.root, first)
    taken = time.perf_counter() - begin
    greedy = _summary(egraph, nodes, 0.0, ExtractionStatus.GREEDY, taken)
    if seconds is None:
        return greedy, greedy
    begin = time.perf_counter()
    best = choose_optimally(egraph, egraph.root, egraph.costs, seconds=seconds)
    taken = time.perf_counter() - begin
    return greedy, _summary(egraph, best.nodes, best.lower_bound, best.status, taken)


def _summary(
    egraph: SerializedEGraph,
    nodes: Sequence[int],
    bound: float,
    status: ExtractionStatus,
    seconds: float,
) -> ExtractionSummary:
    costs = egraph.costs
    total = math.fsum(costs[node] for node in nodes)
    tree = tree_cost(egraph, costs, nodes)
    return ExtractionSummary(tuple(nodes), total, tree, bound, status, seconds)
