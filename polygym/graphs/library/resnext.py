"""ResNeXt-50: residual blocks whose middle convolution is in 32 groups.

A block narrows by a 1×1 convolution, convolves in groups, widens by another 1×1, and is added to
what it took; where extents or channels change, that is convolved first. The graph ends with the
last block.
"""

from __future__ import annotations

from dataclasses import dataclass

from polygym.graphs.ir.graph import Graph
from polygym.graphs.library.image_layers import (
    FeatureMap,
    add_layer,
    conv_layer,
    image_input,
    pool_layer,
    relu_layer,
)

__all__ = ["SIZES", "ResNextConfig", "graph"]


@dataclass(frozen=True, slots=True)
class ResNextConfig:
    """The image's extent, the first layer's channels, groups; width and blocks of every stage."""

    extent: int
    channels: int
    groups: int
    stages: tuple[tuple[int, int], ...]


SIZES = {
    "small": ResNextConfig(32, 8, 4, ((8, 2), (16, 2))),
    "paper": ResNextConfig(224, 64, 32, ((128, 3), (256, 4), (512, 6), (1024, 3))),
}


def graph(size: ResNextConfig) -> Graph:
    """Return the graph: one image in, the last block's channels out."""
    start = image_input("x", size.extent)
    x = pool_layer("max", conv_layer(start, "first", size.channels, (7, 7), stride=2), 3, 2)
    for stage, (width, blocks) in enumerate(size.stages):
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            x = _block(x, f"stage{stage}.block{block}", width, stride, size.groups)
    return Graph("resnext50", (start.node,), (("y", x.node),))


def _block(x: FeatureMap, name: str, width: int, stride: int, groups: int) -> FeatureMap:
    narrow = conv_layer(x, f"{name}.narrow", width, (1, 1))
    grouped = conv_layer(narrow, f"{name}.grouped", width, (3, 3), stride, groups=groups)
    wide = conv_layer(grouped, f"{name}.wide", 2 * width, (1, 1), activation="none")
    if stride > 1 or x.channels != 2 * width:
        x = conv_layer(x, f"{name}.past", 2 * width, (1, 1), stride)
    return relu_layer(add_layer(x, wide))
