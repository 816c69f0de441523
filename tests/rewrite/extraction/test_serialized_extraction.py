"""Extraction of e-graphs as JSON beside all choices, and beside another integer program."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.errors import InputError
from polygym.rewrite.egraph.serialized import SerializedEGraph, parse_egraph
from polygym.rewrite.extraction import (
    ExtractionStatus,
    extract_serialized,
    local_search,
    reduction,
)


def random_document(seed: int, classes: int) -> dict[str, Any]:
    """Return classes of up to three nodes that need any classes, several roots among them."""
    rng = random.Random(seed)
    nodes: dict[str, Any] = {}
    for name in range(classes):
        for place in range(rng.choice([1, 1, 2, 2, 3])):
            needs = [rng.randrange(classes) for _ in range(rng.choice([0, 0, 1, 1, 2, 3]))]
            cost = rng.choice([0.0, 0.0, 1.0, 1.0, 2.0, 3.5, 5.0])
            children = [f"{child}.0" for child in needs]
            nodes[f"{name}.{place}"] = {"eclass": str(name), "children": children, "cost": cost}
            if rng.random() < 0.05:
                nodes[f"{name}.{place}"]["subsumed"] = True
    roots = rng.sample(range(classes), min(classes, rng.choice([1, 1, 2])))
    return {"nodes": nodes, "root_eclasses": [str(root) for root in roots]}


def costs_of_all(graph: SerializedEGraph) -> list[tuple[float, float]]:
    """Return the costs of every choice without a cycle: each node once, and as a tree."""
    names = list(graph.members)
    result = []
    for nodes in itertools.product(*graph.members.values()):
        chosen = dict(zip(names, nodes, strict=True))
        order: list[int] = []
        if _ordered(graph, chosen, graph.root, (), order):
            trees: dict[int, float] = {}
            for name in order:
                below = sum(trees[child] for child in graph.children_of(chosen[name]))
                trees[name] = graph.costs[chosen[name]] + below
            once = math.fsum(graph.costs[chosen[name]] for name in order)
            result.append((once, trees[graph.root]))
    return [pair for pair in result if pair[0] < math.inf]


def _ordered(
    graph: SerializedEGraph,
    chosen: dict[int, int],
    name: int,
    path: tuple[int, ...],
    order: list[int],
) -> bool:
    """Whether nothing below a class needs itself; puts what is needed in order, children first."""
    if name in path:
        return False
    if name not in order:
        for child in graph.children_of(chosen[name]):
            if not _ordered(graph, chosen, child, (*path, name), order):
                return False
        order.append(name)
    return True


def check_beside_all(seed: int) -> None:
    graph = parse_egraph(random_document(seed, random.Random(seed).randint(1, 7)))
    every = costs_of_all(graph)
    if not every:
        with pytest.raises(InputError, match="expected a term without cycles"):
            extract_serialized(graph, 10.0)
        return
    greedy, best = extract_serialized(graph, 10.0)
    assert best.status is ExtractionStatus.OPTIMAL
    assert best.dag_cost == best.lower_bound == pytest.approx(min(every)[0], abs=1e-9)
    assert greedy.tree_cost == pytest.approx(min(tree for _, tree in every), abs=1e-9)
    for found in (greedy, best):
        assert any(
            pair == pytest.approx((found.dag_cost, found.tree_cost), abs=1e-9) for pair in every
        )


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 10**9))
def test_it_is_the_best_of_all_choices(seed: int) -> None:
    check_beside_all(seed)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9))
def test_limits_of_large_egraphs_leave_out_nothing_wrongly(seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reduction, "_MOST_BITS", 8)
        patch.setattr(reduction, "_MOST_COMPARED", 1)
        patch.setattr(local_search, "_MAX_PATH", 1)
        check_beside_all(seed)


def program_optimum(graph: SerializedEGraph) -> float:
    """Return the least cost by scipy's solver: every class has a place in an order."""
    optimize = pytest.importorskip("scipy.optimize")
    names = list(graph.members)
    place = {name: number for number, name in enumerate(names)}
    usable = [node for node, cost in enumerate(graph.costs) if cost < math.inf]
    count, classes = len(usable), len(names)
    rows: list[np.ndarray[Any, Any]] = []
    lowers: list[float] = []
    for number, node in enumerate(usable):
        for child in set(graph.children_of(node)):
            row = np.zeros(count + classes)
            for other in range(count):
                row[other] = graph.owners[usable[other]] == child
            row[number] -= 1
            rows.append(row)
            lowers.append(0)
            row = np.zeros(count + classes)
            row[count + place[graph.owners[node]]] += 1
            row[count + place[child]] -= 1
            row[number] = -classes
            rows.append(row)
            lowers.append(1 - classes)
    root = np.zeros(count + classes)
    root[usable.index(graph.root)] = 1
    rows.append(root)
    lowers.append(1)
    costs = np.array([*(graph.costs[node] for node in usable), *[0.0] * classes])
    found = optimize.milp(
        costs,
        constraints=optimize.LinearConstraint(np.array(rows), np.array(lowers), np.inf),
        integrality=np.array([1] * count + [0] * classes),
        bounds=optimize.Bounds(0, np.array([1.0] * count + [float(classes)] * classes)),
    )
    return float(found.fun) if found.success else math.inf


@pytest.mark.parametrize("seed", range(12))
def test_it_is_as_good_as_another_integer_program(seed: int) -> None:
    graph = parse_egraph(random_document(seed, 25))
    expected = program_optimum(graph)
    if expected == math.inf:
        with pytest.raises(InputError, match="expected a term without cycles"):
            extract_serialized(graph, 10.0)
        return
    _, best = extract_serialized(graph, 30.0)
    assert best.status is ExtractionStatus.OPTIMAL
    assert best.dag_cost == pytest.approx(expected, abs=1e-6)


def test_sharing_that_doubles_a_thousand_times_is_no_trouble() -> None:
    nodes: dict[str, Any] = {"0": {"eclass": "0", "children": []}}
    for name in range(1, 3000):
        children = [str(name - 1)] * 2
        nodes[str(name)] = {"eclass": str(name), "children": children}
        nodes[f"{name}b"] = {"eclass": str(name), "children": children, "cost": 2}
    graph = parse_egraph({"nodes": nodes, "root_eclasses": ["2999"]})
    greedy, best = extract_serialized(graph, 30.0)
    assert (greedy.dag_cost, greedy.tree_cost) == (best.dag_cost, math.inf) == (3000.0, math.inf)


def test_a_class_of_thousands_of_nodes() -> None:
    nodes: dict[str, Any] = {
        f"leaf {place}": {"eclass": f"leaf {place}", "children": [], "cost": 1 + place % 7}
        for place in range(8000)
    }
    for place in range(8000):
        nodes[f"root {place}"] = {"eclass": "root", "children": [f"leaf {place}"]}
    graph = parse_egraph({"nodes": nodes, "root_eclasses": ["root"]})
    _, best = extract_serialized(graph, 30.0)
    assert (best.dag_cost, best.status) == (2.0, ExtractionStatus.OPTIMAL)


@pytest.mark.parametrize("seconds", [0.0, 0.05])
def test_without_time_greedys_choice_is_returned_with_a_bound(seconds: float) -> None:
    rng = random.Random(3)
    nodes: dict[str, Any] = {}
    for name in range(600):
        nodes[f"{name}.0"] = {"eclass": str(name), "children": [], "cost": rng.randint(1, 20)}
        for place in range(1, 5):
            children = [f"{rng.randrange(600)}.0" for _ in range(2)]
            nodes[f"{name}.{place}"] = {"eclass": str(name), "children": children, "cost": 0}
    graph = parse_egraph({"nodes": nodes, "root_eclasses": [str(name) for name in range(300)]})
    greedy, best = extract_serialized(graph, seconds)
    assert 0 <= best.lower_bound <= best.dag_cost <= greedy.dag_cost
