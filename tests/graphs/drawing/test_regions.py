"""Regions that are one box each: whole, disjoint, and never around something else."""

from __future__ import annotations

from graphlib import TopologicalSorter
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.graphs.drawing.regions import equal_regions, with_neighbours
from polygym.graphs.ir.build import binary, graph_input, relu, sigmoid, tanh
from polygym.rewrite.term import Term
from tests.graphs.random_graphs import random_graph


def heads(regions: list[tuple[Term, ...]]) -> list[list[str]]:
    return [[str(node.head) for node in region] for region in regions]


X = graph_input("x", 2)


def test_a_region_does_not_go_around_what_changed() -> None:
    """Before the changed node and after it are two regions."""
    first = relu(relu(relu(X)))
    changed = tanh(first)
    last = binary("ewadd", relu(relu(first)), relu(relu(changed)))
    nodes = [X, relu(X), relu(relu(X)), first, relu(first), relu(relu(first)), changed]
    nodes += [relu(changed), relu(relu(changed)), last]
    regions = equal_regions(nodes, {X, changed})
    assert sorted(map(len, regions)) == [3, 5]
    assert not any({first, last} <= set(region) for region in regions)


def test_branches_that_meet_are_one_region() -> None:
    one, other = sigmoid(tanh(X)), relu(relu(X))
    nodes = [X, tanh(X), one, relu(X), other, binary("ewmul", one, other)]
    (region,) = heads(equal_regions(nodes, {X}))
    assert sorted(region) == ["ewmul", "relu", "relu", "sigmoid", "tanh"]


def test_two_nodes_stay_boxes() -> None:
    assert equal_regions([X, relu(X), relu(relu(X))], {X}) == []


def test_neighbours() -> None:
    nodes = [X, relu(X), relu(relu(X)), tanh(relu(relu(X)))]
    assert with_neighbours(nodes, {nodes[1]}) == {*nodes[:3]}
    assert with_neighbours(nodes, set()) == set()


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 60), st.floats(0, 0.6))
def test_boxes_of_any_graph_have_no_circle(seed: int, count: int, share: float) -> None:
    nodes = [node for node in random_graph(seed, count).nodes() if node.head != "weight"]
    random = Random(seed)
    kept = {node for node in nodes if random.random() < share}
    regions = equal_regions(nodes, kept)
    inside = [node for region in regions for node in region]
    assert len(inside) == len(set(inside))
    assert not kept & set(inside)
    box = {node: region[0] for region in regions for node in region}
    links: dict[Term, set[Term]] = {}
    for node in nodes:
        own = {box.get(child, child) for child in node.children if child in set(nodes)}
        links.setdefault(box.get(node, node), set()).update(own - {box.get(node, node)})
    list(TopologicalSorter(links).static_order())  # raises where there is a circle
