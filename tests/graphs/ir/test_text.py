"""Graphs as text: what is printed is read again, and what is no graph is refused with its place."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.errors import InputError, SourceError
from polygym.graphs import library
from polygym.graphs.ir.build import graph_input, relu, tanh, weight
from polygym.graphs.ir.graph import Graph
from polygym.graphs.ir.text import graph_text, parse_graph
from tests.graphs.random_graphs import random_graph

_NAMES = st.text(min_size=1, max_size=8)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 25), st.lists(_NAMES, min_size=1, max_size=3))
def test_what_is_printed_is_read_again(seed: int, nodes: int, names: list[str]) -> None:
    unique = tuple(dict.fromkeys(f"{name}{place}" for place, name in enumerate(names)))
    graph = random_graph(seed, nodes, unique)
    for shapes in (False, True):
        text = graph_text(graph, shapes)
        again = parse_graph(text)
        assert again == graph
        assert again.inputs == graph.inputs
        assert graph_text(again, shapes) == text


@pytest.mark.parametrize("name", library.NAMES)
@pytest.mark.parametrize("size", library.SIZES)
def test_networks_are_read_again(name: str, size: str) -> None:
    graph = library.graph(name, size)
    assert parse_graph(graph_text(graph)) == graph


@pytest.mark.parametrize("name", library.NAMES)
def test_text_of_small_networks(name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"graphs/{name}.txt", graph_text(library.graph(name), shapes=True))


@pytest.mark.parametrize(
    "name", ["%0", "a b", "1", "1.5", "", ";x", "(", '"', "output", "a\nb", "ä\t", "\x85", "nan"]
)
def test_names_of_all_kinds(name: str) -> None:
    x = graph_input("x", 2)
    graph = Graph(name, (x,), ((name, x), ("other", relu(x))))
    assert parse_graph(graph_text(graph)) == graph
    named = Graph.of("g", relu(graph_input(f"{name}n", 2)))
    assert parse_graph(graph_text(named)) == named


def test_inputs_keep_their_order_even_where_nothing_uses_them() -> None:
    x, y, z = (graph_input(name, 2) for name in "xyz")
    graph = Graph("g", (z, x, y), (("r", relu(x)),))
    assert [signature.name for signature in parse_graph(graph_text(graph)).signatures] == [
        "z",
        "x",
        "y",
    ]


def test_comments_and_names_of_nodes_are_free() -> None:
    text = """
    ; a product
    graph g ; its name
    %left = input x@2-3
    %w = weight w@3-4   ; known ahead

    %7 = matmul none %left %w
    output y %7 ; the end"""
    assert parse_graph(text) == parse_graph(graph_text(parse_graph(text)))
    assert graph_text(parse_graph(text)) == (
        "graph g\n%0 = input x@2-3\n%1 = weight w@3-4\n%2 = matmul none %0 %1\noutput y %2\n"
    )


def test_equal_nodes_under_two_names_are_one() -> None:
    text = "graph g\n%0 = input x@2\n%1 = relu %0\n%2 = relu %0\n%3 = ewadd %1 %2\noutput y %3\n"
    assert len(parse_graph(text).nodes()) == 3


_START = "graph g\n%0 = input x@2-3\n"


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("", "1:1", "expected 'graph', found the end"),
        ("network g", "1:1", "expected 'graph', found 'network'"),
        ("graph", "1:6", "expected a name, found the end"),
        ("graph\n%0 = input x@2", "1:1", "expected a name, found the end of the line"),
        ("graph (", "1:7", "expected a name, found '('"),
        ("graph g h", "1:9", "expected a node such as '%1 = relu %0', or 'output y %1'"),
        ("graph g", "1:8", "expected 'output' and a name and a node, found the end"),
        (_START, "2:17", "expected 'output' and a name and a node, found the end"),
        (f"{_START}%0 = relu %0", "3:1", "expected a name that no other node has, found %0"),
        (f"{_START}%1", "3:3", "expected '=' after %1, found the end"),
        (f"{_START}%1\n= relu", "3:1", "expected '=' after %1, found the end of the line"),
        (f"{_START}%1 relu %0", "3:4", "expected '=' after %1, found 'relu'"),
        (f"{_START}%1 =\noutput y %0", "3:4", "expected an operator, found the end of the line"),
        (f"{_START}%1 = relu", "3:6", "expected what relu takes, found nothing"),
        (f"{_START}%1 = relu %7", "3:11", "expected a node that stands above, found %7"),
        (f"{_START}%1 = relu %1", "3:11", "expected a node that stands above, found %1"),
        (f"{_START}%1 = relu %0 %0", "3:6", "relu: expected x:T, found 2 children"),
        (f"{_START}%1 = relu (tanh %0)", "3:11", "expected a node or a literal, found '('"),
        (f"{_START}%1 = rule %0", "3:6", "expected an operator, found 'rule'"),
        (f"{_START}%1 = ewadd %0 7", "3:6", "ewadd: expected a tensor, found 7"),
        (f"{_START}%1 = transpose %0 1-1", "3:6", "transpose: expected a permutation of 2 axes"),
        (f"{_START}%1 = weight x@2-3", "3:6", "expected one tensor named x, found two"),
        (f"{_START}%1 = input y@2-0", "3:6", "input: expected a name and a shape such as"),
        (f"{_START}%1 = input y@2-1_0", "3:6", "input: expected a name and a shape such as"),
        (f"{_START}output", "3:7", "expected a name, found the end"),
        (f"{_START}output y", "3:9", "expected a node after y, found the end"),
        (f"{_START}output y %0 %0", "3:13", "expected the end of the line, found '%0'"),
        (f"{_START}output y 7", "3:10", "expected a tensor for y, found 7"),
        (f"{_START}output y %3", "3:10", "expected a node that stands above, found %3"),
        (f"{_START}output y %0\noutput y %0", "4:8", "expected a name that no other result has"),
        (f"{_START}%1 = split 0 1 %0\noutput y %1", "4:10", "expected a tensor for y, found 1-3"),
        (f'{_START}%1 = input "y\\q@2"', "3:12", 'expected a word or a number, found "y'),
        (f"{_START}%1 = reshape %0 {'9' * 5000}", "3:17", "expected a word or a number, found 999"),
        (f'{_START}output "y %0', "3:8", "expected the end of a quoted word"),
    ],
)
def test_what_is_no_graph_is_refused_with_its_place(text: str, place: str, message: str) -> None:
    with pytest.raises(SourceError, match=re.escape(message)) as info:
        parse_graph(text, "g.txt")
    assert str(info.value).startswith(f"g.txt:{place}: error: ")


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_no_text_does_worse_than_be_refused(data: st.DataObject) -> None:
    text = graph_text(random_graph(data.draw(st.integers(0, 50)), 6))
    if data.draw(st.booleans()):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(start + 12, len(text))))
        text = text[:start] + data.draw(st.text(max_size=12)) + text[end:]
    else:
        text = data.draw(st.text(max_size=60))
    try:
        graph = parse_graph(text)
    except InputError:
        return
    assert parse_graph(graph_text(graph)) == graph


def test_garbage_bytes_are_refused() -> None:
    for seed in range(256):
        garbage = bytes((seed * 7 + place * place) % 256 for place in range(40))
        with pytest.raises(InputError):
            parse_graph(garbage.decode("latin-1"))


def test_deep_and_large_graphs_take_no_recursion_and_little_time() -> None:
    term = graph_input("x", 4)
    for step in range(5000):
        term = relu(term) if step % 2 else tanh(term)
    wide = Graph.of("wide", *(relu(weight(f"w{place}", 3)) for place in range(5000)))
    for graph in (Graph.of("deep", term), wide):
        start = time.perf_counter()
        assert parse_graph(graph_text(graph)) == graph
        assert time.perf_counter() - start < 10
