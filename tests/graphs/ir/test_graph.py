"""Graphs as values: what they refuse, and that they come back from a root and from a pickle."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.errors import InputError
from polygym.graphs import library
from polygym.graphs.ir.build import (
    binary,
    graph_input,
    make_node,
    matmul,
    relu,
    split,
    tanh,
    weight,
)
from polygym.graphs.ir.graph import Graph, Signature
from polygym.graphs.operators.types import TensorType
from polygym.rewrite.term import term
from tests.graphs.random_graphs import random_graph

_X, _W = graph_input("x", 2, 3), weight("w", 3, 4)


def test_names_inputs_and_weights() -> None:
    y = graph_input("y", 2, 4, dtype="float64")
    graph = Graph.of("g", relu(matmul(_X, _W)), tanh(y), other=_X)
    assert [name for name, _ in graph.outputs] == ["y", "y1", "other"]
    assert graph.signatures == (
        Signature("x", TensorType((2, 3))),
        Signature("y", TensorType((2, 4), "float64")),
    )
    assert graph.weights == (Signature("w", TensorType((3, 4), constant=True)),)
    assert graph.tensor(graph.outputs[0][1]) == TensorType((2, 4))
    assert [str(node.head) for node in graph.nodes()] == [
        "input", "weight", "matmul", "relu", "input", "tanh"
    ]  # fmt: skip
    assert len(list(graph.terms())) == 6 + 3 + 1


def test_names_may_have_any_letters() -> None:
    graph = Graph.of("g", binary("ewadd", graph_input("a@b@c", 2), weight("-", 2)))
    assert [signature.name for signature in (*graph.signatures, *graph.weights)] == ["a@b@c", "-"]


@pytest.mark.parametrize(
    ("inputs", "outputs", "message"),
    [
        ((_X,), (), "graph g: expected a result, found none"),
        (
            (_X,),
            (("y", make_node("relu", _X, _X)),),
            "graph g: relu: expected x:T, found 2 children",
        ),
        ((_X,), (("y", split(0, 1, _X)[0].children[0]),), "graph g: expected a tensor for y"),
        ((_X,), (("y", term("same")),), "graph g: expected a tensor for y"),
        ((_X,), (("y", _X), ("y", relu(_X))), "graph g: expected different names for results"),
        ((), (("y", _X),), "graph g: expected x among the inputs"),
        ((_X, _X), (("y", _X),), "graph g: expected every input once"),
        ((_X, _W), (("y", _X),), "graph g: expected an input, found <term weight of 2 nodes>"),
        ((_X,), (("y", matmul(_X, weight("x", 3, 4))),), "expected one tensor named x, found two"),
        (
            (_X, graph_input("x", 3, 2)),
            (("y", matmul(_X, graph_input("x", 3, 2))),),
            "graph g: expected one tensor named x, found two",
        ),
    ],
)
def test_what_is_no_graph_is_refused(inputs: tuple, outputs: tuple, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        Graph("g", inputs, outputs)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 20))
def test_roots_pickles_and_copies_give_the_graph_again(seed: int, nodes: int) -> None:
    graph = random_graph(seed, nodes)
    for other in (
        graph.with_root(graph.root),
        pickle.loads(pickle.dumps(graph)),
        copy.deepcopy(graph),
    ):
        assert other == graph
        assert hash(other) == hash(graph)
        assert other.inputs == graph.inputs
        assert [one is two for (_, one), (_, two) in zip(other.outputs, graph.outputs, strict=True)]


def test_a_root_of_other_results_is_another_graph() -> None:
    graph = Graph.of("g", relu(_X), tanh(_X))
    assert graph.root is term("noop", relu(_X), tanh(_X))
    changed = graph.with_root(term("noop", tanh(_X), _X))
    assert changed.outputs == (("y", tanh(_X)), ("y1", _X))
    assert changed != graph
    with pytest.raises(InputError, match="graph g: expected 2 results"):
        graph.with_root(relu(_X))
    with pytest.raises(InputError, match="graph g: expected a tensor for y"):
        graph.with_root(term("noop", graph.root, relu(_X)))
    assert Graph.of("one", relu(_X)).root is relu(_X)


def test_equality_and_hash_are_of_what_is_computed() -> None:
    graph = Graph.of("g", relu(_X))
    assert graph == Graph.of("g", relu(graph_input("x", 2, 3)))
    for other in (Graph.of("h", relu(_X)), Graph.of("g", tanh(_X)), Graph.of("g", z=relu(_X))):
        assert graph != other
    assert {graph: 1}[Graph.of("g", relu(_X))] == 1


def test_pickles_are_read_in_another_process() -> None:
    graph = library.graph("bert")
    code = (
        "import pickle, sys; g = pickle.load(sys.stdin.buffer);"
        "from polygym.graphs import library; assert g == library.graph('bert');"
        "print(len(g.nodes()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=pickle.dumps(graph), capture_output=True, check=True
    )
    assert int(done.stdout) == len(graph.nodes())


def test_deep_graphs_with_many_results_take_no_recursion_and_little_time() -> None:
    node = _X
    results = []
    for step in range(3000):
        node = relu(node) if step % 2 else tanh(node)
        results.append(node)
    start = time.perf_counter()
    graph = Graph.of("deep", *results)
    assert pickle.loads(pickle.dumps(graph)) == graph
    assert graph.with_root(graph.root) == graph
    # Not every result by itself: that would be four million nodes.
    assert len(pickle.dumps(graph)) < 10**6
    assert time.perf_counter() - start < 10
