"""Differences after rewriting: the nodes that a rewrite made, not those after them."""

from __future__ import annotations

import pytest

from polygym.graphs import library
from polygym.graphs.drawing.svg import changed_nodes
from polygym.graphs.ir.build import (
    binary,
    concat,
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
