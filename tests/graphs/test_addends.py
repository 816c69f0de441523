"""Sums with related addends together: the same numbers, every addend once."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.graphs.addends import regrouped_sums
from polygym.graphs.ir.build import binary, graph_input, matmul, relu, weight
from polygym.graphs.ir.graph import Graph, random_inputs, random_weights
from polygym.graphs.ir.reference import evaluate
from polygym.rewrite.term import Term
from tests.graphs.random_graphs import random_graph


def _random_sum(seed: int) -> Graph:
    """Return a graph of a sum of many kinds of addends in random brackets."""
    rng = Random(seed)
    x, y = graph_input("x", 3, 4), graph_input("y", 3, 4)
    leaves: list[Term] = [x, y, relu(x)]
    for place in range(rng.randrange(2, 9)):
        leaves.append(
            rng.choice(
                (
                    matmul(rng.choice((x, y)), weight(f"w{place}", 4, 4)),
                    binary("ewmul", rng.choice((x, y)), graph_input(f"f{place}", 3, 4)),
                    binary("add", x, weight(f"b{place}", rng.choice((1, 4)))),
                    weight(f"c{place}", 3, 4),
                    weight(f"r{place}", 3, 1),
                    graph_input(f"n{place}", 3, 1),
                )
            )
        )
    parts = [rng.choice(leaves) for _ in range(rng.randrange(2, 12))]
    while len(parts) > 1:
        at = rng.randrange(len(parts) - 1)
        parts[at : at + 2] = [binary("add", parts[at], parts[at + 1])]
    extra = [rng.choice(leaves)] if rng.random() < 0.5 else []
    return Graph.of("sum", parts[0], *(part for part in extra if part is not parts[0]))


def _check_equal(graph: Graph) -> int:
    weights, inputs = random_weights(graph, 1), random_inputs(graph, 2)
    names = [signature.name for signature in graph.signatures]
    values = {**weights, **dict(zip(names, inputs, strict=True))}
    wide = {
        name: array.astype(np.float64) if array.dtype.kind == "f" else array
        for name, array in values.items()
    }
    pairs = list(regrouped_sums(graph))
    for one, other in pairs:
        left, right = evaluate([one, other], wide)
        assert left.shape == right.shape
        np.testing.assert_allclose(left, right, rtol=1e-9, atol=1e-9, equal_nan=True)
    return len(pairs)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10_000))
def test_sums_keep_what_they_are_worth(seed: int) -> None:
    _check_equal(_random_sum(seed))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000))
def test_sums_of_any_graph_do(seed: int) -> None:
    with np.errstate(all="ignore"):
        _check_equal(random_graph(seed, 30))


def test_sums_that_are_used_elsewhere_are_addends() -> None:
    x, y, z = (graph_input(name, 2, 2) for name in "xyz")
    shared = binary("ewadd", x, y)
    graph = Graph.of("shared", binary("ewadd", binary("ewadd", shared, z), relu(shared)))
    [(_, other)] = regrouped_sums(graph)
    counts: Counter[Term] = Counter()
    stack = [other]
    while stack:
        node = stack.pop()
        counts[node] += 1
        stack += node.children if node.head == "ewadd" and node is not shared else ()
    assert counts[shared] == 1


@pytest.mark.parametrize("count", [1, 2])
def test_short_sums_stay(count: int) -> None:
    x = graph_input("x", 2, 2)
    result = x
    for place in range(count - 1):
        result = binary("ewadd", result, graph_input(f"y{place}", 2, 2))
    assert list(regrouped_sums(Graph.of("short", result))) == []
