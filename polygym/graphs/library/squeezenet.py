"""SqueezeNet 1.1: fire modules, each a narrow 1×1 convolution and two wide ones that share it.

The two wide convolutions, 1×1 and 3×3, see the same image and stand side by side in the result:
enlarged to 3×3, the first can join the second. Activations stand alone, as an exported graph has
them.
"""

from __future__ import annotations

from dataclasses import dataclass

from polygym.graphs.ir.build import reshape
from polygym.graphs.ir.graph import Graph
from polygym.graphs.library.images import (
    Image,
    convolved,
    image,
    joined,
    pooled,
    rectified,
    size_of,
)

__all__ = ["SIZES", "Size", "graph"]


@dataclass(frozen=True, slots=True)
class Size:
    """The image's extent, the first layer's channels, stages of fire modules, classes.

    A module is how narrow and how wide its convolutions are.
    """

    extent: int
    channels: int
    stages: tuple[tuple[tuple[int, int], ...], ...]
    classes: int


SIZES = {
    "small": Size(48, 8, (((2, 8),), ((4, 16),), ((6, 24), (8, 32))), 10),
    "paper": Size(
        224,
        64,
        (
            ((16, 64), (16, 64)),
            ((32, 128), (32, 128)),
            ((48, 192), (48, 192), (64, 256), (64, 256)),
        ),
        1000,
    ),
}


def graph(size: Size) -> Graph:
    """Return the graph: one image in, a number for every class out."""
    start = image("x", size.extent)
    x = _plain(start, "first", size.channels, 3, 2, "valid")
    for stage, fires in enumerate(size.stages):
        x = pooled("max", x, 3, 2, "valid")
        for place, (narrow, wide) in enumerate(fires):
            x = _fire(x, f"stage{stage}.fire{place}", narrow, wide)
    x = _plain(x, "classes", size.classes, 1)
    _, extent, _ = size_of(x)
    x = pooled("avg", x, extent, extent, "valid")
    return Graph("squeezenet", (start.node,), (("y", reshape(x.node, (1, size.classes))),))


def _plain(
    x: Image, name: str, filters: int, kernel: int, stride: int = 1, padding: str = "same"
) -> Image:
    return rectified(
        convolved(x, name, filters, (kernel, kernel), stride, padding, activation="none")
    )


def _fire(x: Image, name: str, narrow: int, wide: int) -> Image:
    squeezed = _plain(x, f"{name}.narrow", narrow, 1)
    return joined([_plain(squeezed, f"{name}.wide{kernel}", wide, kernel) for kernel in (1, 3)])
