"""Extraction against trying every choice."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.errors import InputError
from polygym.rewrite.domain import Data, TrivialDomain
from polygym.rewrite.egraph import CycleFilter, EGraph, SaturationLimits, saturate
from polygym.rewrite.extraction import (
    CycleConstraints,
    Extraction,
    ExtractionStatus,
    extract_greedily,
    extract_optimally,
)
from polygym.rewrite.term import Head, postorder, term
from tests.rewrite.languages import Matrices, attention, matrix, price, rules
from tests.rewrite.oracles import cheapest, has_cycle

PRICES = (0.0, 1.0, 2.0, 3.0, 5.0, 7.5, 1e-6)


def random_graph(seed: int, unions: int) -> tuple[EGraph, int, dict[str, float]]:
    """Return a small e-graph, mostly with cycles, a root, and prices."""
    rng = random.Random(seed)
    graph = EGraph(TrivialDomain())
    names = [graph.add(f"leaf{place}") for place in range(2)]
    for place in range(rng.randint(3, 9)):
        names.append(graph.add(f"head{place}", rng.choices(names, k=rng.randint(1, 3))))
    for _ in range(unions):
        graph.union(rng.choice(names), rng.choice(names))
    graph.rebuild()
    heads = sorted({str(graph.head_of(node)) for node in graph.nodes()})
    return graph, names[-1], {head: rng.choice(PRICES) for head in heads}


def check(graph: EGraph, root: int, extraction: Extraction, prices: dict[str, float]) -> None:
    assert graph.lookup(extraction.term) == graph.find(root)
    parts = list(postorder([extraction.term]))
    assert extraction.cost == pytest.approx(
        sum(prices[str(part.head)] for part in parts), abs=1e-12
    )
    assert [graph.head_of(node) for node in extraction.nodes].count(extraction.term.head) >= 1
    assert sorted(str(graph.head_of(node)) for node in extraction.nodes) == sorted(
        str(part.head) for part in parts
    )
    assert 0 <= extraction.lower_bound <= extraction.cost


@settings(max_examples=120, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 5))
def test_every_way_finds_what_trying_all_finds(seed: int, unions: int) -> None:
    graph, root, prices = random_graph(seed, unions)

    def cost(head: Head, children: tuple[Data, ...], data: Data) -> float:
        return prices[str(head)]

    best = cheapest(graph, root, lambda head: prices[str(head)])
    first = extract_greedily(graph, root, cost)
    check(graph, root, first, prices)
    assert first.status is ExtractionStatus.GREEDY
    assert first.cost >= best - 1e-12
    for cycles in CycleConstraints:
        extraction = extract_optimally(graph, root, cost, cycles)
        check(graph, root, extraction, prices)
        assert extraction.greedy_cost == first.greedy_cost == first.cost
        if cycles is not CycleConstraints.NONE or not has_cycle(graph):
            assert extraction.status is ExtractionStatus.OPTIMAL
        if extraction.status is ExtractionStatus.OPTIMAL:
            assert extraction.cost == pytest.approx(best, rel=1e-9, abs=1e-12)
            assert extraction.lower_bound == extraction.cost
        else:
            assert extraction.lower_bound <= best * (1 + 1e-6) + 1e-9
            assert best * (1 - 1e-9) <= extraction.cost <= first.cost


def test_blacklisted_nodes_are_not_chosen() -> None:
    graph = EGraph(TrivialDomain())
    dear, cheap = graph.add("dear"), graph.add("cheap")
    root = graph.union(dear, cheap)
    graph.rebuild()
    graph.blacklist_node(cheap)
    for extraction in (extract_greedily(graph, root, _dear), extract_optimally(graph, root, _dear)):
        assert (extraction.term, extraction.cost) == (term("dear"), 9.0)


def _dear(head: Head, children: tuple[Data, ...], data: Data) -> float:
    return 9.0 if head == "dear" else 1.0


def test_infinite_costs_are_not_chosen_unless_there_is_nothing_else() -> None:
    graph = EGraph(TrivialDomain())
    root = graph.union(graph.add("never"), graph.add("f", [graph.add("a")]))
    alone = graph.add("g", [graph.add("b")])
    graph.rebuild()

    def cost(head: Head, children: tuple[Data, ...], data: Data) -> float:
        return math.inf if head in ("never", "b") else 1.0

    for extract in (extract_greedily, extract_optimally):
        assert extract(graph, root, cost).cost == 2.0
        with pytest.raises(InputError, match="expected a term of finite cost in the root's class"):
            extract(graph, alone, cost)


@pytest.mark.parametrize("wrong", [-1.0, math.nan])
def test_what_is_no_cost_is_refused(wrong: float) -> None:
    graph = EGraph(TrivialDomain())
    root = graph.add("f")
    with pytest.raises(InputError, match="the cost of f: expected 0 or more"):
        extract_greedily(graph, root, lambda head, children, data: wrong)


def test_costs_are_of_data() -> None:
    graph = EGraph(Matrices())
    root = graph.add_term(term("matmul", matrix("a", 2, 8), matrix("b", 8, 4)))
    seen: list[tuple[Head, tuple[Data, ...], Data]] = []

    def cost(head: Head, children: tuple[Data, ...], data: Data) -> float:
        seen.append((head, children, data))
        return price(head, children, data)

    assert extract_greedily(graph, root, cost).cost == 10.0 + 2 * 8 * 4 / 64
    asked = [(children, data) for head, children, data in seen if head == "matmul"]
    assert [[child[1:3] for child in children] for children, _ in asked] == [[(2, 8), (8, 4)]]
    assert asked[0][1][1:3] == (2, 4)


def test_sharing_is_seen_by_the_program_and_not_by_greedy() -> None:
    graph = EGraph(TrivialDomain())
    shared = graph.add("shared", [graph.add("x")])
    sides = []
    for side in ("left", "right"):
        own = graph.add(f"own-{side}")
        sides.append(graph.union(own, graph.add(f"by-{side}", [shared])))
    root = graph.add("pair", sides)
    graph.rebuild()
    prices = {"own-left": 3.0, "own-right": 3.0, "shared": 4.0}

    def cost(head: Head, children: tuple[Data, ...], data: Data) -> float:
        return prices.get(str(head), 0.0)

    assert extract_greedily(graph, root, cost).cost == 6.0
    assert extract_optimally(graph, root, cost).cost == 4.0


@pytest.mark.parametrize("scale", [1e-7, 1.0, 1e9])
def test_small_and_large_costs_are_as_exact(scale: float) -> None:
    graph, root, prices = random_graph(5, 4)
    best = cheapest(graph, root, lambda head: prices[str(head)] * scale)
    extraction = extract_optimally(graph, root, lambda head, *_: prices[str(head)] * scale)
    assert extraction.cost == pytest.approx(best, rel=1e-9)
    assert extraction.status is ExtractionStatus.OPTIMAL


def test_products_that_share_an_input_become_one() -> None:
    graph = EGraph(Matrices())
    root = graph.add_term(attention(2))
    few = [rule for rule in rules() if rule.name in ("two-products", "split-first")]
    saturate(graph, few, SaturationLimits(k_multi=1))
    first = extract_greedily(graph, root, price)
    extractions = [extract_optimally(graph, root, price, cycles) for cycles in CycleConstraints]
    assert {extraction.status for extraction in extractions} == {ExtractionStatus.OPTIMAL}
    assert len({round(extraction.cost, 6) for extraction in extractions}) == 1
    assert extractions[0].cost < first.cost
    heads = [node.head for node in postorder([extractions[0].term])]
    assert heads.count("concat") >= 2


def test_on_a_graph_with_cycles_the_cuts_are_as_good_as_the_filter() -> None:
    few = [rule for rule in rules() if rule.name.startswith(("two", "split", "transposed"))]
    costs = []
    for cycles in (CycleFilter.NONE, CycleFilter.EFFICIENT):
        graph = EGraph(Matrices())
        root = graph.add_term(attention(1))
        saturate(graph, few, SaturationLimits(k_multi=2, iterations=4))
        costs.append(extract_optimally(graph, root, price, seconds=30.0).cost)
        del cycles
    assert costs[0] <= costs[1] + 1e-9


def test_many_times_in_one_process() -> None:
    graph, root, prices = random_graph(11, 4)
    choices = {
        extract_optimally(graph, root, lambda head, *_: prices[str(head)]).nodes for _ in range(30)
    }
    assert len(choices) == 1
