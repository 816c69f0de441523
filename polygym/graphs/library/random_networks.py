"""Random networks: blocks as networks have them, put together by a seed.

For training and tests of what chooses among rewrites: a network has two to four blocks over
sequences (products that share an input, chains, gates, attention) or over images (fire modules,
towers, parallel branches, residual and grouped convolutions). Activations stand alone or belong to
the node before, as exporters differ.
"""

from collections.abc import Callable

import numpy as np

from polygym.graphs.ir import build
from polygym.graphs.ir.graph import Graph
from polygym.graphs.library.image_networks import (
    FeatureMap,
    add_layer,
    concat_layer,
    conv_layer,
    image_input,
    pool_layer,
    relu_layer,
)
from polygym.rewrite.term import Term


def random_network(seed: int) -> Graph:
    """Return the network of a seed.

    >>> random_network(3) is not None and random_network(3) == random_network(3)
    True
    """
    rng = np.random.default_rng(seed)
    name = f"random:{seed}"
    blocks = int(rng.integers(2, 5))
    if rng.random() < 0.5:
        return _sequence_network(name, rng, blocks)
    return _image_network(name, rng, blocks)


class _SequenceBlocks:
    """Blocks over a matrix with rows of ``width``."""

    def __init__(self, rng: np.random.Generator, width: int) -> None:
        self._rng, self._width = rng, width
        self._count = 0

    def linear(self, x: Term, activation: str = "none") -> Term:
        """Return a product by a new weight; the activation is part of it or stands alone."""
        self._count += 1
        weight = build.weight(f"w{self._count}", self._width, self._width)
        if activation != "none" and self._rng.random() < 0.5:
            return build.matmul(x, weight, activation)
        product = build.matmul(x, weight)
        return product if activation == "none" else build.unary(activation, product)

    def branches(self, x: Term) -> Term:
        """Return the sum or product of several products of one input."""
        count = int(self._rng.integers(2, 5))
        activation = str(self._rng.choice(["none", "relu", "tanh"]))
        result = self.linear(x, activation)
        for _ in range(count - 1):
            operator = "ewadd" if self._rng.random() < 0.7 else "ewmul"
            result = build.binary(operator, result, self.linear(x, activation))
        return result

    def chain(self, x: Term) -> Term:
        """Return two or three products in a row."""
        for _ in range(int(self._rng.integers(2, 4))):
            x = self.linear(x)
        return build.relu(x)

    def gate(self, x: Term) -> Term:
        """Return sigmoid(a(x)) · tanh(b(x)), added to x."""
        gated = build.binary("ewmul", self.linear(x, "sigmoid"), self.linear(x, "tanh"))
        return build.binary("ewadd", x, gated)

    def attention(self, x: Term) -> Term:
        """Return products of queries, keys and values, without heads."""
        query, key, value = (self.linear(x) for _ in range(3))
        scores = build.matmul(query, build.transpose(key, (1, 0)))
        return self.linear(build.matmul(build.sigmoid(scores), value))

    def recurrent(self, x: Term) -> Term:
        """Return tanh(a(x) + b(y)) for a y that is made of x."""
        state = self.linear(x, "tanh")
        both = build.binary("ewadd", self.linear(x), self.linear(state))
        return build.tanh(both)


def _sequence_network(name: str, rng: np.random.Generator, blocks: int) -> Graph:
    length, width = int(rng.choice([1, 4, 16])), int(rng.choice([16, 32, 64]))
    made = _SequenceBlocks(rng, width)
    start = x = build.graph_input("x", length, width)
    kinds: list[Callable[[Term], Term]] = [
        made.branches,
        made.chain,
        made.gate,
        made.attention,
        made.recurrent,
    ]
    for _ in range(blocks):
        x = kinds[int(rng.integers(len(kinds)))](x)
    return Graph(name, (start,), (("y", x),))


class _ImageBlocks:
    """Blocks over an image; extents stay, channels may change."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._count = 0
        self._is_alone = bool(rng.random() < 0.5)

    def conv(
        self, x: FeatureMap, filters: int, kernel: tuple[int, int], is_active: bool = True
    ) -> FeatureMap:
        """Return a convolution by a new weight; relu is part of it or stands alone."""
        self._count += 1
        activation = "relu" if is_active and not self._is_alone else "none"
        result = conv_layer(x, f"w{self._count}", filters, kernel, activation=activation)
        return relu_layer(result) if is_active and self._is_alone else result

    def fire(self, x: FeatureMap) -> FeatureMap:
        """Return a narrow convolution, then a 1×1 and a 3×3 side by side."""
        narrow = self.conv(x, max(2, x.channels // 2), (1, 1))
        return concat_layer([self.conv(narrow, x.channels, (size, size)) for size in (1, 3)])

    def towers(self, x: FeatureMap) -> FeatureMap:
        """Return two to four towers over one image, side by side."""
        parts = [self.conv(x, 4, (1, 1)), self.conv(self.conv(x, 4, (1, 1)), 4, (3, 3))]
        if self._rng.random() < 0.5:
            parts.append(self.conv(self.conv(x, 4, (1, 1)), 4, (1, 3)))
        if self._rng.random() < 0.5:
            parts.append(self.conv(pool_layer("avg", x, 3), 4, (1, 1)))
        return concat_layer(parts)

    def branches(self, x: FeatureMap) -> FeatureMap:
        """Return the sum of convolutions of one image, of different kernels."""
        sizes = [(3, 3), (1, 1), (3, 3), (1, 3)][: int(self._rng.integers(2, 5))]
        result = self.conv(x, x.channels, sizes[0], False)
        for kernel in sizes[1:]:
            result = add_layer(result, self.conv(x, x.channels, kernel, False))
        return relu_layer(result)

    def residual(self, x: FeatureMap) -> FeatureMap:
        """Return x and two convolutions of it, added up."""
        inner = self.conv(self.conv(x, x.channels, (3, 3)), x.channels, (3, 3), False)
        return relu_layer(add_layer(x, inner))

    def grouped(self, x: FeatureMap) -> FeatureMap:
        """Return a convolution in two groups between two of 1×1."""
        narrow = self.conv(x, 8, (1, 1))
        self._count += 1
        wide = conv_layer(narrow, f"w{self._count}", 8, (3, 3), groups=2)
        return self.conv(wide, x.channels, (1, 1))


def _image_network(name: str, rng: np.random.Generator, blocks: int) -> Graph:
    made = _ImageBlocks(rng)
    start = image_input("x", int(rng.choice([8, 16])))
    x = made.conv(start, int(rng.choice([4, 8])), (3, 3))
    kinds: list[Callable[[FeatureMap], FeatureMap]] = [
        made.fire,
        made.towers,
        made.branches,
        made.residual,
        made.grouped,
    ]
    for _ in range(blocks):
        x = kinds[int(rng.integers(len(kinds)))](x)
        if rng.random() < 0.25:
            x = pool_layer("max", x, 2, 2, "valid") if x.node.head != "poolmax" else x
    return Graph(name, (start.node,), (("y", x.node),))
