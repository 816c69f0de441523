"""Parts of concatenations are written where they belong, in all concatenations that have them."""

from __future__ import annotations

import pytest

from polygym.graphs.ir.build import concat, conv, graph_input, make_node, relu, weight
from polygym.rewrite.term import Term
from tests.graphs.execution.cases import check


def _layer(x: Term, channels: int, name: str) -> Term:
    return conv(x, weight(name, 3, channels, 3, 3), (1, 1), "same", "relu")


@pytest.mark.parametrize("threads", [1, 2])
def test_a_dense_block_copies_nothing(threads: int) -> None:
    parts = [relu(graph_input("x", 1, 3, 6, 6))]
    for number in range(4):
        whole = concat(1, parts)
        scaled = make_node("mul", whole, weight(f"s{number}", 1, len(parts) * 3, 1, 1))
        parts.append(_layer(scaled, len(parts) * 3, f"w{number}"))
    compiled = check(make_node("sigmoid", concat(1, parts)), threads=threads)
    assert "copy" not in [step.label for step in compiled.steps]


def test_pieces_from_the_middle_and_in_another_order() -> None:
    x = graph_input("x", 1, 2, 5)
    a, b, c = (make_node(head, x) for head in ("relu", "sigmoid", "tanh"))
    wholes = [concat(1, [a, b, c]), concat(1, [b, c]), concat(1, [c, b]), concat(1, [a, c])]
    check(*(make_node("sin", whole) for whole in wholes))


def test_pieces_that_leave_the_model() -> None:
    x = graph_input("x", 1, 2, 5)
    a, b, c = (make_node(head, x) for head in ("relu", "sigmoid", "tanh"))
    check(concat(1, [a, b]), concat(1, [a, b, c]), concat(1, [b, c]), relu(b))


def test_pieces_of_inputs_and_functions_in_place() -> None:
    x, y = graph_input("x", 1, 2, 5), graph_input("y", 1, 3, 5)
    first = concat(1, [x, y])
    changed = make_node("sigmoid", make_node("neg", first))
    check(concat(1, [x, y, relu(x)]), concat(1, [changed, x]))


def test_pieces_along_other_axes_are_copied() -> None:
    x = graph_input("x", 2, 3)
    a, b, c = (make_node(head, x) for head in ("relu", "sigmoid", "tanh"))
    check(make_node("sin", concat(1, [a, b])), make_node("sin", concat(1, [a, b, c])))
    check(make_node("sin", concat(0, [a, b])), make_node("cos", concat(0, [a, b, c])))
