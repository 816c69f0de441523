"""What networks over images are put together from: convolutions with a weight of their own, pools.

Biases and normalisations are left out, as in the graphs that the paper measures: a normalisation is
folded into the weights of the convolution before it, and no rule looks at a bias.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polygym.graphs.ir.build import binary, concat, conv, entering, pool, shape, weight
from polygym.graphs.ir.build import relu as relu_of
from polygym.rewrite.term import Term

__all__ = ["Image", "added", "convolved", "image", "joined", "pooled", "rectified", "size_of"]


@dataclass(frozen=True, slots=True)
class Image:
    """A node and how many channels it has, which the weight of the next convolution must know."""

    node: Term
    channels: int


def image(name: str, extent: int) -> Image:
    """Return an input: one square image of three channels."""
    return Image(entering(name, 1, 3, extent, extent), 3)


def convolved(
    x: Image,
    name: str,
    filters: int,
    kernel: tuple[int, int],
    stride: int = 1,
    padding: str = "same",
    activation: str = "relu",
    groups: int = 1,
) -> Image:
    """Return a convolution by a weight of a name."""
    kernels = weight(name, filters, x.channels // groups, *kernel)
    return Image(conv(x.node, kernels, (stride, stride), padding, activation), filters)


def pooled(kind: str, x: Image, window: int, stride: int = 1, padding: str = "same") -> Image:
    """Return ``max`` or ``avg`` of square windows."""
    return Image(pool(kind, x.node, (window, window), (stride, stride), padding), x.channels)


def rectified(x: Image) -> Image:
    """Return max(x, 0)."""
    return Image(relu_of(x.node), x.channels)


def added(x: Image, y: Image) -> Image:
    """Return the sum of images of one shape."""
    return Image(binary("ewadd", x.node, y.node), x.channels)


def joined(parts: Sequence[Image]) -> Image:
    """Return images with their channels one after the other."""
    return Image(concat(1, [one.node for one in parts]), sum(one.channels for one in parts))


def size_of(x: Image) -> tuple[int, int, int]:
    """Return channels, rows and columns of an image."""
    _, channels, rows, columns = shape(x.node)
    return channels, rows, columns
