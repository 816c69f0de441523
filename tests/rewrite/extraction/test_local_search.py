"""The local search: never dearer, never with a cycle, and it sees what is shared."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.rewrite.domain import TrivialDomain
from polygym.rewrite.egraph import EGraph
from polygym.rewrite.extraction.choices import (
    ExtractionChoices,
    cost_lower_bound,
    extraction_choices,
)
from polygym.rewrite.extraction.costs import cheapest_trees, node_costs
from polygym.rewrite.extraction.local_search import improve_choice
from tests.rewrite.extraction.random_choices import is_acyclic
from tests.rewrite.extraction.test_extraction import random_graph
from tests.rewrite.oracles import cheapest


def choices_and_start(
    graph: EGraph, root: int, prices: dict[str, float]
) -> tuple[ExtractionChoices, dict[int, int]]:
    costs = node_costs(graph, lambda head, children, data: prices[str(head)])
    first, trees = cheapest_trees(graph, costs)
    choices = extraction_choices(graph, graph.find(root), costs, first, trees)
    return choices, choices.of_graph(graph, first)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 5))
def test_it_is_between_greedy_and_the_best(seed: int, unions: int) -> None:
    graph, root, prices = random_graph(seed, unions)
    choices, start = choices_and_start(graph, root, prices)
    if not choices.members:
        return
    better = improve_choice(choices, start, time.perf_counter() + 10)
    assert is_acyclic(choices, better)
    assert choices.cost(better) <= choices.cost(start)
    best = cheapest(graph, root, lambda head: prices[str(head)])
    assert cost_lower_bound(choices) <= best + 1e-9
    assert choices.cost(better) >= best - 1e-9
    for name, node in better.items():
        assert node in choices.members[name]


def halves() -> tuple[EGraph, int, dict[str, float]]:
    """Return two classes, each by itself or as half of one thing that is dearer than either."""
    graph = EGraph(TrivialDomain())
    both = graph.add("both", [graph.add("x")])
    sides = []
    for side in ("left", "right"):
        own, half = graph.add(side), graph.add(f"{side}-of", [both])
        sides.append(graph.union(own, half))
    root = graph.add("pair", sides)
    graph.rebuild()
    prices = {"left": 3.0, "right": 3.0, "both": 4.0}
    names = {str(graph.head_of(node)) for node in graph.nodes()}
    return graph, root, {name: prices.get(name, 0.0) for name in names}


def test_what_two_gain_together_is_seen() -> None:
    choices, start = choices_and_start(*halves())
    assert choices.cost(start) == 6.0
    assert choices.cost(improve_choice(choices, start, time.perf_counter() + 10)) == 4.0


def test_a_bound_without_a_solver() -> None:
    choices, _ = choices_and_start(*halves())
    assert cost_lower_bound(choices) == 3.0  # either side by itself; both together cost 4


@pytest.mark.parametrize("seconds", [0.0, -1.0])
def test_without_time_the_start_is_the_answer(seconds: float) -> None:
    choices, start = choices_and_start(*halves())
    assert improve_choice(choices, start, time.perf_counter() + seconds) == start
