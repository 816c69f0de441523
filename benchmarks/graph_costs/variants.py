"""Equal variants of a graph: extracted from its e-graph under random costs.

The cost of a node of the e-graph is its static cost times e to a normal number, drawn anew for each
variant: so variants lie near the cheapest graph where the deviation is small, and anywhere where it
is large.
"""

from __future__ import annotations

import numpy as np

from polygym.graphs.costs import RooflineCosts
from polygym.graphs.ir.domain import TENSOR_DOMAIN
from polygym.graphs.ir.graph import Graph
from polygym.graphs.ir.text import graph_text
from polygym.graphs.rules import standard_rules
from polygym.rewrite.egraph import EGraph, SaturationLimits, saturate
from polygym.rewrite.extraction.costs import (
    cheapest_trees,
    chosen_nodes,
    node_costs,
    term_of_nodes,
)

__all__ = ["graph_variants"]

_DEVIATIONS = (0.2, 0.5, 1.0, 2.0)
_LIMITS = SaturationLimits(nodes=10_000, iterations=8, seconds=60.0, k_multi=1)
_MOST_DRAWS = 10
"""Draws for every variant that is asked for."""


def graph_variants(graph: Graph, count: int, seed: int) -> list[Graph]:
    """Return the graph itself and different equal ones, ``count`` of them if there are as many."""
    egraph = EGraph(TENSOR_DOMAIN)
    root = egraph.add_term(graph.root)
    saturate(egraph, standard_rules(), _LIMITS)
    prices = np.array(node_costs(egraph, RooflineCosts().cost))
    generator = np.random.default_rng([seed, *graph.name.encode()])
    variants = {graph_text(graph): graph}
    for draw in range(_MOST_DRAWS * count):
        if len(variants) >= count:
            break
        deviation = _DEVIATIONS[draw % len(_DEVIATIONS)]
        factors = np.exp(deviation * generator.standard_normal(len(prices)))
        chosen, _ = cheapest_trees(egraph, (prices * factors).tolist())
        variant = graph.with_root(term_of_nodes(egraph, chosen_nodes(egraph, root, chosen)))
        variants.setdefault(graph_text(variant), variant)
    return list(variants.values())
