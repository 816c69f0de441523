"""Layers of the networks over images: convolutions with a weight of their own, pools.

Biases and normalisations are left out, as in the graphs that the paper measures: a normalisation is
folded into the weights of the convolution before it, and no rule looks at a bias.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from polygym.graphs.ir.build import binary, concat, conv, graph_input, pool, shape_of, weight
from polygym.graphs.ir.build import relu as relu_of
from polygym.rewrite.term import Term


@dataclass(frozen=True, slots=True)
class FeatureMap:
    """A node and how many channels it has, which the weight of the next convolution must know."""

    node: Term
    channels: int


def image_input(name: str, extent: int) -> FeatureMap:
    """Return an input: one square image of three channels."""
    return FeatureMap(graph_input(name, 1, 3, extent, extent), 3)


def conv_layer(
    x: FeatureMap,
    name: str,
    filters: int,
    kernel: tuple[int, int],
    stride: int = 1,
    padding: str = "same",
    activation: str = "relu",
    groups: int = 1,
) -> FeatureMap:
    """Return a convolution by a weight of a name."""
    kernels = weight(name, filters, x.channels // groups, *kernel)
    return FeatureMap(conv(x.node, kernels, (stride, stride), padding, activation), filters)


def pool_layer(
    kind: str, x: FeatureMap, window: int, stride: int = 1, padding: str = "same"
) -> FeatureMap:
    """Return ``max`` or ``avg`` of square windows."""
    return FeatureMap(pool(kind, x.node, (window, window), (stride, stride), padding), x.channels)


def relu_layer(x: FeatureMap) -> FeatureMap:
    """Return max(x, 0)."""
    return FeatureMap(relu_of(x.node), x.channels)


def add_layer(x: FeatureMap, y: FeatureMap) -> FeatureMap:
    """Return the sum of images of one shape."""
    return FeatureMap(binary("ewadd", x.node, y.node), x.channels)


def concat_layer(parts: Sequence[FeatureMap]) -> FeatureMap:
    """Return images with their channels one after the other."""
    return FeatureMap(
        concat(1, [feature_map.node for feature_map in parts]), sum(part.channels for part in parts)
    )


def extents_of(x: FeatureMap) -> tuple[int, int, int]:
    """Return channels, rows and columns of an image."""
    _, channels, rows, columns = shape_of(x.node)
    return channels, rows, columns
