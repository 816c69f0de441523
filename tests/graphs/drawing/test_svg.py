"""Pictures of graphs: SVG that shows every node, what changed, and no more than fits."""

from __future__ import annotations

from functools import cache
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.textpath import TextPath

from polygym.graphs import library
from polygym.graphs.drawing import svg
from polygym.graphs.drawing.difference import NodeChange
from polygym.graphs.drawing.svg import comparison_svg, graph_svg
from polygym.graphs.ir.build import (
    concat,
    conv,
    graph_input,
    make_node,
    matmul,
    relu,
    tanh,
    weight,
)
from polygym.graphs.ir.graph import Graph
from polygym.pictures import style
from tests.graphs.random_graphs import random_graph

_SVG = "{http://www.w3.org/2000/svg}"


def _texts(picture: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(picture).iter(f"{_SVG}text")]


def _fills(picture: str, stroke: str) -> int:
    return sum(
        element.get("stroke") == stroke
        for element in ElementTree.fromstring(picture).iter(f"{_SVG}rect")
    )


@pytest.mark.parametrize("name", library.NAMES)
def test_every_node_but_weights_has_a_box(name: str) -> None:
    graph = library.graph(name)
    picture = graph_svg(graph)
    nodes = [term for term in graph.nodes() if term.head != "weight"]
    assert _fills(picture, style.GRID) == len(nodes)
    texts = _texts(picture)
    assert texts[:2] == [graph.name, f"{len(nodes)} nodes"]
    for result, _ in graph.outputs:
        assert f"→ {result}" in texts
    for signature in graph.weights:
        assert any(text.startswith(f"{signature.name} ") or "…" in text for text in texts)


def test_a_box_says_literals_shape_and_weights() -> None:
    graph = Graph.of("g", matmul(graph_input("x", 2, 3), weight("w", 3, 4), "relu"))
    assert _texts(graph_svg(graph)) == [
        "g", "2 nodes", "input x", "2-3", "matmul relu", "2-4", "w 3-4", "→ y"
    ]  # fmt: skip


def test_many_weights_of_one_node_are_counted() -> None:
    parts = [weight(f"w{place}", 2, 2) for place in range(9)]
    texts = _texts(graph_svg(Graph.of("g", relu(concat(0, parts)))))
    assert [text for text in texts if text.startswith(("w", "and"))] == [
        "w0 2-2", "w1 2-2", "w2 2-2", "w3 2-2", "w4 2-2", "and 4 more"
    ]  # fmt: skip


@pytest.mark.parametrize(
    "name", ["<b>&amp;", "\"'", "a\x00b\x1b[31m", "ä→∑", "]]>", "\ud800", "x" * 999]
)
def test_names_are_escaped(name: str) -> None:
    x, w = graph_input(name, 2, 3), weight(f"w{name}", 3, 4)
    picture = graph_svg(Graph(name, (x,), ((name, matmul(x, w)),)), title=name)
    picture.encode()
    assert len(_texts(picture)) == 8


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 40))
def test_any_graph_is_drawn(seed: int, nodes: int) -> None:
    graph = random_graph(seed, nodes)
    shown = {term for term in graph.nodes() if term.head != "weight"} | set(graph.inputs)
    assert _fills(graph_svg(graph), style.GRID) == len(shown)


def test_what_changed_is_in_colour() -> None:
    x = graph_input("x", 2)
    before, after = Graph.of("g", relu(tanh(relu(x)))), Graph.of("g", relu(relu(relu(x))))
    picture = comparison_svg(before, after, ("slow", "fast"))
    texts = _texts(picture)
    assert "slow" in texts
    assert "fast" in texts
    assert texts.count("4 nodes") == 2
    assert "- 1 gone" in texts
    assert "+ 1 new" in texts
    assert _fills(picture, style.HIGHLIGHT) == 1
    assert _fills(picture, style.STATEMENTS[2]) == 1
    assert _fills(picture, style.GRID) == 6


def test_the_same_graph_gives_the_same_picture_without_colour() -> None:
    graph = library.graph("squeezenet")
    picture = comparison_svg(graph, graph)
    assert picture == comparison_svg(graph, graph)
    assert _fills(picture, style.HIGHLIGHT) == _fills(picture, style.STATEMENTS[2]) == 0


def test_of_large_graphs_a_part_is_drawn_and_said() -> None:
    term = other = graph_input("x", 2)
    for place in range(1000):
        term = relu(term)
        other = tanh(other) if place == 700 else relu(other)
    before, after = Graph.of("g", term), Graph.of("g", other)
    picture = graph_svg(before)
    assert _fills(picture, style.GRID) == 400
    assert "400 of 1001 nodes are drawn" in _texts(picture)
    texts = _texts(comparison_svg(before, after))
    assert "+ tanh" in texts
    assert "700 equal nodes" in texts
    assert "298 equal nodes" in texts
    picture = comparison_svg(before, after, max_nodes=3)
    assert _texts(picture).count("3 of 1001 nodes are drawn") == 2
    assert _fills(picture, style.HIGHLIGHT) == 1


def test_altered_and_moved_nodes_have_their_own_signs() -> None:
    """A function enters a convolution, which is altered by that."""
    image, kernel = graph_input("x", 1, 4, 4, 4), weight("w", 4, 4, 1, 1)
    before = Graph.of("g", relu(make_node("transpose", relu(conv(image, kernel)), "0-2-3-1")))
    other = make_node("transpose", relu(conv(image, kernel, activation="relu")), "0-2-3-1")
    texts = _texts(comparison_svg(before, Graph.of("g", other)))
    assert "≠ conv 1 1 same none" in texts
    assert "≠ conv 1 1 same relu" in texts
    assert texts.count("≠ 1 altered") == 2


def test_no_picture_is_too_long_to_be_read() -> None:
    for name in library.NAMES:
        root = ElementTree.fromstring(graph_svg(library.graph(name, "paper")))
        assert float(root.get("height", "inf")) < 1800


@cache
def _width_in_pixels(text: str, size: float, is_bold: bool) -> float:
    path = TextPath((0, 0), text, prop=style.font(10.0, bold=is_bold), size=size)
    return float(path.get_extents().x1)


@pytest.mark.parametrize("name", library.NAMES)
def test_texts_stay_inside_of_their_boxes(name: str) -> None:
    _expect_texts_inside(graph_svg(library.graph(name)))


@pytest.mark.parametrize("name", library.NAMES)
def test_texts_of_changed_nodes_stay_inside_of_their_boxes(name: str) -> None:
    graph = library.graph(name)
    _expect_texts_inside(comparison_svg(graph, Graph.of("other", relu(graph.outputs[0][1]))))
    for change in NodeChange:
        changes = dict.fromkeys(graph.nodes(), change)
        drawing = svg._Drawing.of(graph, changes, "all", 400, has_regions=True)
        _expect_texts_inside(svg._document([drawing]))


def _expect_texts_inside(picture: str) -> None:
    right = float("inf")
    groups = ElementTree.fromstring(picture).findall(f"{_SVG}g")
    for element in (part for group in groups for part in group):
        if element.tag == f"{_SVG}rect" and element.get("stroke"):
            right = float(element.get("x", "0")) + float(element.get("width", "0"))
        if element.tag == f"{_SVG}text" and right < float("inf"):
            is_bold, size = (
                element.get("font-weight") == "bold",
                float(element.get("font-size", "0")),
            )
            width = _width_in_pixels(element.text or "", size, is_bold)
            assert float(element.get("x", "0")) + width < right, element.text
