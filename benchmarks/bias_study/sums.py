"""Sums of many addends, as graphs: of inputs, of products that share an operand, of both mixed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from polygym.graphs.ir.build import binary, conv, graph_input, matmul, weight
from polygym.graphs.ir.graph import Graph
from polygym.rewrite.term import Term

_EXTENT = 64


def _sum(addends: Sequence[Term], head: str = "ewadd") -> Term:
    return reduce(lambda left, right: binary(head, left, right), addends)


def _input(name: str) -> Term:
    return graph_input(name, _EXTENT, _EXTENT)


def _weight(name: str) -> Term:
    return weight(name, _EXTENT, _EXTENT)


def _mixed(count: int) -> Term:
    """Products of two inputs, one with biases, and inputs, in turn."""
    x, y = _input("x"), _input("y")
    addends = []
    for place in range(count):
        match place % 3:
            case 0:
                addends.append(matmul(x, _weight(f"w{place}")))
            case 1:
                product = matmul(y, _weight(f"w{place}"))
                addends.append(binary("add", product, weight(f"b{place}", _EXTENT)))
            case _:
                addends.append(_input(f"z{place}"))
    return _sum(addends)


def _products(count: int) -> Term:
    """Products, element by element, of five inputs with others."""
    factors = [_input(f"f{place}") for place in range(5)]
    parts = [binary("ewmul", factors[place % 5], _input(f"g{place}")) for place in range(count)]
    return _sum(parts)


def _convolutions(count: int) -> Term:
    """Convolutions with biases, two of three of one image, of two sizes."""
    shared = graph_input("image", 1, 16, 14, 14)
    addends = []
    for place in range(count):
        image = shared if place % 3 else graph_input(f"image{place}", 1, 16, 14, 14)
        size = 3 if place % 2 else 1
        made = conv(image, weight(f"w{place}", 16, 16, size, size))
        addends.append(binary("add", made, weight(f"b{place}", 1, 16, 1, 1)))
    return _sum(addends)


SUMS = {
    "12 inputs": Graph.of("inputs", _sum([_input(f"x{place}") for place in range(12)])),
    "30 inputs": Graph.of("inputs", _sum([_input(f"x{place}") for place in range(30)])),
    "100 inputs": Graph.of("inputs", _sum([_input(f"x{place}") for place in range(100)])),
    "product of 30 inputs": Graph.of(
        "product", _sum([_input(f"x{place}") for place in range(30)], "ewmul")
    ),
    "30, products and inputs": Graph.of("mixed", _mixed(30)),
    "30 elementwise products": Graph.of("products", _products(30)),
    "20 convolutions": Graph.of("convolutions", _convolutions(20)),
}
"""Name: a graph of one sum."""
