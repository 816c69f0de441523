"""Graphs under the searches for all: what exhaustive substitution finds, by looking at less."""

from __future__ import annotations

import pytest

from polygym.graphs.costs import RooflineCosts
from polygym.graphs.ir import build
from polygym.graphs.ir.domain import TENSOR_DOMAIN
from polygym.graphs.ir.graph import Graph
from polygym.graphs.optimization import GraphRewriteSystem, graph_cost
from polygym.graphs.rules import standard_rules
from polygym.rewrite.backtracking import backtrack
from polygym.search.planning import PlanningLimits, explore, search

COSTS = RooflineCosts(call=100.0)


@pytest.fixture(scope="module")
def start() -> Graph:
    """Three products of one input, an activation behind each."""
    x = build.graph_input("x", 1, 64)
    products = [build.matmul(x, build.weight(name, 64, 64)) for name in "uvw"]
    return Graph.of("three", *map(build.relu, products))


def test_searches_find_the_best_of_exhaustive_substitution(start: Graph) -> None:
    """That is one product and one activation, five substitutions away."""
    system = GraphRewriteSystem(standard_rules(), COSTS.cost, graph_cost(start, COSTS))
    whole, is_complete = explore("breadth", system, start.root, PlanningLimits(5, 3000))
    assert is_complete
    assert len(whole.states) > 300
    best = whole.costs[whole.best]
    assert whole.steps_left[whole.best] == 0
    assert best < 0.2 == 0.2 * whole.costs[0]
    for name in ("astar", "mcts", "beam"):
        result = search(name, system, start.root, PlanningLimits(5, len(whole.states) // 2))
        assert result.cost == pytest.approx(best), name
        after = start.with_root(result.best)
        assert graph_cost(after, COSTS) == pytest.approx(best * graph_cost(start, COSTS))


def test_steps_are_those_of_tasos_search(start: Graph) -> None:
    system = GraphRewriteSystem(standard_rules(), COSTS.cost)
    once = system.successors(start.root)
    assert len(set(once)) == len(once) > 1
    assert start.root not in once
    taso = backtrack(start.root, standard_rules(), TENSOR_DOMAIN, COSTS.cost, 10.0, 1)
    assert min(map(system.cost, once)) == pytest.approx(taso.cost)
