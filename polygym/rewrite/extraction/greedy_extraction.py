"""Greedy extraction: for each class the node whose subtree is cheapest.

A part that is used twice is counted twice here, so that sharing is not seen; the cost of the answer
is then that of its different nodes all the same. Classes are settled in order of their cost, as
Dijkstra settles places, so that a choice only ever leads to classes settled before: no cycle is
chosen, whatever the e-graph has.
"""

import math
import time
from heapq import heappop, heappush

from polygym.errors import InputError
from polygym.rewrite.egraph.egraph import EGraph
from polygym.rewrite.extraction.costs import (
    NO_TERM,
    CostFunction,
    Extraction,
    ExtractionStatus,
    extracted_term,
    node_costs,
)


def extract_greedily(graph: EGraph, root: int, cost: CostFunction) -> Extraction:
    """Return the term of a class whose tree is cheapest; the e-graph must be rebuilt.

    >>> from polygym.rewrite.s_expressions import parse_term, term_text
    >>> from polygym.rewrite.domain import TrivialDomain
    >>> graph = EGraph(TrivialDomain())
    >>> one, other = (graph.add_term(parse_term(text)) for text in ("(mul a 2)", "(shift a 1)"))
    >>> root = graph.union(one, other)
    >>> graph.rebuild()
    >>> cost = lambda head, children, data: 3.0 if head == "mul" else 1.0
    >>> found = extract_greedily(graph, root, cost)
    >>> term_text(found.term), found.cost
    ('(shift a 1)', 3.0)

    Raises:
        InputError: every term of the class has a node of infinite cost.
    """
    begin = time.perf_counter()
    costs = node_costs(graph, cost)
    chosen, _ = cheapest_trees(graph, costs)
    if graph.find(root) not in chosen:
        raise InputError(NO_TERM)
    term, nodes = extracted_term(graph, root, chosen)
    total = math.fsum(costs[node] for node in nodes)
    seconds = time.perf_counter() - begin
    return Extraction(term, total, 0.0, ExtractionStatus.GREEDY, seconds, nodes, greedy_cost=total)


def cheapest_trees(graph: EGraph, costs: list[float]) -> tuple[dict[int, int], dict[int, float]]:
    """Return the node for each class that has a term, and the cost of its tree."""
    keys, find = graph.keys, graph.find
    waiting: dict[int, int] = {}
    users: dict[int, list[int]] = {}
    heap: list[tuple[float, int]] = []
    for node, own in enumerate(costs):
        if own == math.inf:
            continue
        children = dict.fromkeys(keys[node][1:])
        waiting[node] = len(children)
        for child in children:
            users.setdefault(child, []).append(node)
        if not children:
            heappush(heap, (own, node))
    chosen: dict[int, int] = {}
    trees: dict[int, float] = {}
    while heap:
        total, node = heappop(heap)
        name = find(node)
        if name in chosen:
            continue
        chosen[name], trees[name] = node, total
        for user in users.get(name, ()):
            waiting[user] -= 1
            if not waiting[user]:
                tree = costs[user] + sum([trees[child] for child in keys[user][1:]])
                heappush(heap, (tree, user))
    return chosen, trees
