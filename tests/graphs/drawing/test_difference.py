"""Differences after rewriting: the nodes that a rewrite made, not those after them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.graphs import library
from polygym.graphs.drawing.difference import (
    GraphDifference,
    NodeChange,
    changed_nodes,
    graph_difference,
)
from polygym.graphs.ir.build import (
    binary,
    concat,
    conv,
    graph_input,
    matmul,
    relu,
    sigmoid,
    split,
    tanh,
    weight,
)
from polygym.graphs.ir.graph import Graph
from polygym.rewrite.term import Term, rebuild, term
from tests.graphs.random_graphs import random_graph


def _merged(graph: Graph, *pairs: tuple[str, str]) -> Graph:
    """Return a graph in which pairs of products with weights of these names are one product."""
    halves: dict[Term, tuple[Term, Term, int]] = {}
    for names in pairs:
        one, other = (
            next(
                node
                for node in graph.nodes()
                if node.head == "matmul"
                and str(node.children[-1].children[0].head).startswith(name)
            )
            for name in names
        )
        halves[one], halves[other] = (one, other, 0), (one, other, 1)

    def change(node: Term, children: tuple[Term, ...]) -> Term:
        if node not in halves:
            return term(node.head, *children)
        one, other, place = halves[node]
        weights = concat(1, [one.children[-1], other.children[-1]])
        both = term(node.head, *children[:-1], weights)
        return split(1, graph.tensor(one).shape[1], both)[place]

    return graph.with_root(rebuild(graph.root, change))


def _heads(nodes: frozenset[Term]) -> list[str]:
    return sorted(str(node.head) for node in nodes)


@pytest.mark.parametrize("name", library.NAMES)
def test_nothing_differs_from_itself(name: str) -> None:
    graph = library.graph(name)
    assert changed_nodes(graph, graph) == (frozenset(), frozenset())


def test_a_change_at_the_start_does_not_colour_what_comes_after() -> None:
    graph = library.graph("bert")
    gone, new = changed_nodes(graph, _merged(graph, ("layer0.query", "layer0.key")))
    assert _heads(gone) == ["matmul", "matmul"]
    assert _heads(new) == ["concat2", "matmul", "split", "split0", "split1"]


def test_what_stands_between_two_changes_is_the_same() -> None:
    graph = library.graph("bert")
    pairs = ("layer0.value", "layer0.output"), ("layer1.query", "layer1.key")
    gone, new = changed_nodes(graph, _merged(graph, *pairs))
    assert _heads(gone) == ["matmul"] * 4
    assert _heads(new) == sorted(["concat2", "matmul", "split", "split0", "split1"] * 2)


def test_other_literals_and_other_weights_differ() -> None:
    x, v, w = graph_input("x", 2, 3), weight("v", 3, 4), weight("w", 3, 4)
    graph, other = (Graph.of("g", relu(matmul(x, v, how))) for how in ("none", "relu"))
    assert [_heads(side) for side in changed_nodes(graph, other)] == [["matmul"], ["matmul"]]
    graph, other = (Graph.of("g", relu(matmul(x, factor))) for factor in (v, w))
    assert [_heads(side) for side in changed_nodes(graph, other)] == [
        ["matmul", "weight"],
        ["matmul", "weight"],
    ]


def test_what_is_done_in_another_order_keeps_its_parts() -> None:
    x, y = graph_input("x", 2), graph_input("y", 2)
    one, other = binary("ewadd", tanh(x), sigmoid(y)), binary("ewadd", sigmoid(y), tanh(x))
    before, after = (Graph("g", (x, y), (("r", relu(each)),)) for each in (one, other))
    assert changed_nodes(before, after) == (frozenset(), frozenset())


def test_all_that_computes_the_other_result_differs() -> None:
    x = graph_input("x", 2)
    before, after = Graph.of("g", relu(tanh(x))), Graph.of("g", sigmoid(sigmoid(x)))
    gone, new = changed_nodes(before, after)
    assert (_heads(gone), _heads(new)) == (["relu", "tanh"], ["sigmoid", "sigmoid"])


def test_partners_do_the_same() -> None:
    for seed in range(60):
        before, after = random_graph(seed, 15), random_graph(seed + 1000, 15)
        gone, new = changed_nodes(before, after)
        counts = [
            sorted(
                (str(node.head), str(graph.data(node))) for node in graph.nodes() if node not in odd
            )
            for graph, odd in ((before, gone), (after, new))
        ]
        assert counts[0] == counts[1]
        assert gone <= set(before.nodes())
        assert new <= set(after.nodes())


def _named(changes: Mapping[Term, NodeChange]) -> list[str]:
    kinds = ((str(node.head), change.value) for node, change in changes.items())
    return sorted(f"{change} {head}" for head, change in kinds if head != "weight")


def _differences(before: Graph, after: Graph) -> tuple[list[str], list[str]]:
    found = graph_difference(before, after)
    return _named(found.before), _named(found.after)


X = graph_input("x", 1, 4, 8, 8)
W, V = weight("w", 4, 4, 1, 1), weight("v", 4, 4, 1, 1)


def test_a_function_in_a_convolution_alters_it() -> None:
    before = Graph.of("g", tanh(relu(conv(X, W))))
    after = Graph.of("g", tanh(conv(X, W, activation="relu")))
    assert _differences(before, after) == (["altered conv", "gone relu"], ["altered conv"])


def test_what_stands_after_a_change_is_neither_altered_nor_moved() -> None:
    before = Graph.of("g", tanh(concat(1, [relu(conv(X, W)), relu(conv(X, V))])))
    after = Graph.of(
        "g", tanh(concat(1, [conv(X, W, activation="relu"), conv(X, V, activation="relu")]))
    )
    assert _differences(before, after) == (
        ["altered conv", "altered conv", "gone relu", "gone relu"],
        ["altered conv", "altered conv"],
    )


def test_nodes_that_change_places_have_moved() -> None:
    before = Graph.of("g", sigmoid(relu(tanh(X))))
    after = Graph.of("g", sigmoid(tanh(relu(X))))
    moved = ["moved relu", "moved sigmoid", "moved tanh"]
    assert _differences(before, after) == (moved, moved)


def test_merged_products_are_new_and_what_takes_them_is_as_before() -> None:
    x, v, w = graph_input("x", 2, 3), weight("v", 3, 4), weight("w", 3, 5)
    first, second = split(1, 4, matmul(x, concat(1, [v, w])))
    before = Graph.of("g", relu(matmul(x, v)), tanh(matmul(x, w)))
    assert _differences(before, Graph.of("g", relu(first), tanh(second))) == (
        ["gone matmul", "gone matmul"],
        ["new concat2", "new matmul", "new split", "new split0", "new split1"],
    )


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 30))
def test_changes_belong_together(seed: int, other: int, nodes: int) -> None:
    """Of any two graphs: nodes of each side, as many altered and moved ones on both."""
    before, after = random_graph(seed, nodes), random_graph(other, nodes)
    found = graph_difference(before, after)
    assert set(found.before) <= set(before.nodes())
    assert set(found.after) <= set(after.nodes())
    for change in (NodeChange.ALTERED, NodeChange.MOVED):
        counts = [list(side.values()).count(change) for side in (found.before, found.after)]
        assert counts[0] == counts[1]
    assert NodeChange.NEW not in found.before.values()
    assert NodeChange.GONE not in found.after.values()
    kept = len(before.nodes()) - list(found.before.values()).count(NodeChange.GONE)
    assert kept == len(after.nodes()) - list(found.after.values()).count(NodeChange.NEW)
    assert graph_difference(before, before) == GraphDifference({}, {})
