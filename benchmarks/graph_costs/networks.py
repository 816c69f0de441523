"""Networks of which equal variants are timed: the library's, of a middle size, and with biases.

Biases stand as an exported graph has them: a weight that is added, one number for every channel or
column.
"""

from __future__ import annotations

from collections.abc import Callable

from polygym.graphs import library
from polygym.graphs.ir import build
from polygym.graphs.ir.graph import Graph
from polygym.graphs.library.image_networks import nasnet_a, resnext50, squeezenet
from polygym.graphs.library.sequence_networks import bert, nasrnn
from polygym.rewrite.term import Term

__all__ = ["NETWORKS"]


def _conv(x: Term, name: str, filters: int, kernel: int = 1, stride: int = 1) -> Term:
    channels = build.shape_of(x)[1]
    product = build.conv(
        x, build.weight(f"{name}.w", filters, channels, kernel, kernel), (stride, stride)
    )
    return build.binary("add", product, build.weight(f"{name}.b", 1, filters, 1, 1))


def _linear(x: Term, name: str, columns: int) -> Term:
    rows = build.shape_of(x)[-1]
    product = build.matmul(x, build.weight(f"{name}.w", rows, columns))
    return build.binary("add", product, build.weight(f"{name}.b", columns))


def _fire() -> Graph:
    x = build.graph_input("x", 1, 64, 28, 28)
    for place in range(2):
        narrow = build.relu(_conv(x, f"{place}.narrow", 16))
        wide = [build.relu(_conv(narrow, f"{place}.wide{size}", 64, size)) for size in (1, 3)]
        x = build.concat(1, wide)
    return Graph.of("fire", x)


def _towers() -> Graph:
    x = build.graph_input("x", 1, 64, 17, 17)
    first = build.relu(_conv(x, "a", 32))
    second = build.relu(_conv(build.relu(_conv(x, "b0", 24)), "b1", 32, 3))
    third = build.relu(_conv(x, "c0", 24))
    for place in (1, 2):
        third = build.relu(_conv(third, f"c{place}", 32, 3))
    fourth = build.relu(_conv(build.pool("avg", x, (3, 3), padding="same"), "d", 16))
    return Graph.of("towers", build.concat(1, (first, second, third, fourth)))


def _attention() -> Graph:
    length, heads, width = 64, 4, 128
    x = build.graph_input("x", length, width)
    for layer in range(2):
        by_heads = (length, heads, width // heads)
        query, key, value = (
            build.transpose(
                build.reshape(_linear(x, f"{layer}.{name}", width), by_heads), (1, 0, 2)
            )
            for name in ("query", "key", "value")
        )
        scores = build.matmul(query, build.transpose(key, (0, 2, 1)))
        shares = build.make_node("softmax", 2, scores)
        mixed = build.transpose(build.matmul(shares, value), (1, 0, 2))
        inner = _linear(build.reshape(mixed, (length, width)), f"{layer}.out", width)
        x = build.binary("ewadd", x, inner)
        wide = build.unary("gelu", _linear(x, f"{layer}.wide", 2 * width))
        x = build.binary("ewadd", x, _linear(wide, f"{layer}.narrow", width))
    return Graph.of("attention", x)


def _repvgg() -> Graph:
    x = build.graph_input("x", 1, 32, 28, 28)
    for place in range(2):
        both = [_conv(x, f"{place}.{size}", 32, size) for size in (3, 1)]
        x = build.relu(build.binary("ewadd", build.binary("ewadd", *both), x))
    return Graph.of("repvgg", x)


def _layers() -> Graph:
    x = build.graph_input("x", 16, 128)
    first = _linear(_linear(_linear(x, "a", 256), "b", 256), "c", 128)
    both = build.binary("ewadd", _linear(x, "d", 128), _linear(first, "e", 128))
    pair = (build.tanh(_linear(both, name, 128)) for name in "fg")
    return Graph.of("layers", build.binary("ewmul", *pair))


def _bottleneck() -> Graph:
    x = build.graph_input("x", 1, 64, 28, 28)
    for place in range(2):
        inner = build.relu(_conv(x, f"{place}.a", 32))
        inner = build.relu(_conv(inner, f"{place}.b", 32, 3))
        x = build.relu(build.binary("ewadd", x, _conv(inner, f"{place}.c", 64)))
    return Graph.of("bottleneck", x)


def _recurrent() -> Graph:
    width, steps = 128, 3
    cell = hidden = build.graph_input("h", 1, width)
    for step in range(steps):
        x = build.graph_input(f"x{step}", 1, width)
        gates = [
            build.binary("ewadd", _linear(x, f"x.{name}", width), _linear(hidden, name, width))
            for name in "ifgo"
        ]
        taken, kept, shown = (build.sigmoid(gates[place]) for place in (0, 1, 3))
        new = build.binary("ewmul", taken, build.tanh(gates[2]))
        cell = build.binary("ewadd", build.binary("ewmul", kept, cell), new)
        hidden = build.binary("ewmul", shown, build.tanh(cell))
    return Graph.of("recurrent", hidden)


NETWORKS: dict[str, Callable[[], Graph]] = {
    "bert": lambda: bert(layers=2, heads=8, length=32),
    "nasrnn": lambda: nasrnn(steps=3, width=128),
    "squeezenet": lambda: squeezenet(64, 32, (((8, 32),), ((16, 64),)), 100),
    "resnext50": lambda: resnext50(64, 16, 8, ((32, 1), (64, 1))),
    "nasnet-a": lambda: nasnet_a(64, 16, 16, 1, 1),
    "inception-v3": lambda: library.graph("inception-v3", "small"),
    "fire": _fire,
    "towers": _towers,
    "attention": _attention,
    "repvgg": _repvgg,
    "layers": _layers,
    "bottleneck": _bottleneck,
    "recurrent": _recurrent,
}
"""Six of the library without biases, seven with them."""
