"""ResNeXt-50: residual blocks whose middle convolution is in 32 groups.

A block narrows by a 1×1 convolution, convolves in groups, widens by another 1×1, and is added to
what it took; where extents or channels change, that is convolved first. The graph ends with the
last block.
"""

from collections.abc import Sequence

from polygym.graphs.ir.graph import Graph
from polygym.graphs.library.image_layers import (
    FeatureMap,
    add_layer,
    conv_layer,
    image_input,
    pool_layer,
    relu_layer,
)

SIZES = {
    "small": {"extent": 32, "channels": 8, "groups": 4, "stages": ((8, 2), (16, 2))},
    "paper": {
        "extent": 224,
        "channels": 64,
        "groups": 32,
        "stages": ((128, 3), (256, 4), (512, 6), (1024, 3)),
    },
}


def graph(extent: int, channels: int, groups: int, stages: Sequence[tuple[int, int]]) -> Graph:
    """Return the graph: one image in, the last block's channels out.

    ``channels`` are those of the first layer, ``stages`` widths and numbers of blocks.
    """
    start = image_input("x", extent)
    x = pool_layer("max", conv_layer(start, "first", channels, (7, 7), stride=2), 3, 2)
    for stage, (width, blocks) in enumerate(stages):
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            x = _block(x, f"stage{stage}.block{block}", width, stride, groups)
    return Graph("resnext50", (start.node,), (("y", x.node),))


def _block(x: FeatureMap, name: str, width: int, stride: int, groups: int) -> FeatureMap:
    narrow = conv_layer(x, f"{name}.narrow", width, (1, 1))
    grouped = conv_layer(narrow, f"{name}.grouped", width, (3, 3), stride, groups=groups)
    wide = conv_layer(grouped, f"{name}.wide", 2 * width, (1, 1), activation="none")
    if stride > 1 or x.channels != 2 * width:
        x = conv_layer(x, f"{name}.past", 2 * width, (1, 1), stride)
    return relu_layer(add_layer(x, wide))
