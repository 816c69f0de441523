"""NasNet-A: two kinds of cells that were found by search, one that keeps extents, one that halves.

A cell takes what the last two cells made, brings both to its width by 1×1 convolutions, and adds up
five pairs of what separable convolutions and pools make of them; the five sums, channels one after
the other, are its result. A separable convolution is one in as many groups as there are channels
and a 1×1 after it.
"""

from polygym.graphs.ir.graph import Graph
from polygym.graphs.library.image_layers import (
    FeatureMap,
    add_layer,
    concat_layer,
    conv_layer,
    image_input,
    pool_layer,
)

SIZES = {
    "small": {"extent": 32, "channels": 4, "width": 4, "cells": 2, "stages": 2},
    "paper": {"extent": 224, "channels": 64, "width": 128, "cells": 5, "stages": 3},
}


def graph(extent: int, channels: int, width: int, cells: int, stages: int) -> Graph:
    """Return the graph: one image in, the last reduction's channels out.

    ``channels`` are those of the first layer, ``width`` those of a cell; ``cells`` are normal ones.
    """
    start = image_input("x", extent)
    x = pool_layer("max", conv_layer(start, "first", channels, (7, 7), stride=2), 3, 2)
    for stage in range(stages):
        before = x
        for cell in range(cells):
            before, x = x, _normal(before, x, f"stage{stage}.cell{cell}", width)
        width *= 2
        x = _reduction(before, x, f"stage{stage}.reduction", width)
    return Graph("nasnet-a", (start.node,), (("y", x.node),))


def _separable(x: FeatureMap, name: str, kernel: int, stride: int = 1) -> FeatureMap:
    """Return a convolution of every channel alone and a 1×1 after it."""
    alone = conv_layer(
        x,
        f"{name}.alone",
        x.channels,
        (kernel, kernel),
        stride,
        activation="none",
        groups=x.channels,
    )
    return conv_layer(alone, f"{name}.across", x.channels, (1, 1), activation="none")


def _normal(before: FeatureMap, x: FeatureMap, name: str, width: int) -> FeatureMap:
    x = conv_layer(x, f"{name}.now", width, (1, 1))
    before = conv_layer(before, f"{name}.before", width, (1, 1))
    mean = pool_layer("avg", before, 3)
    return concat_layer(
        [
            add_layer(_separable(x, f"{name}.a", 3), x),
            add_layer(_separable(before, f"{name}.b", 3), _separable(x, f"{name}.c", 3)),
            add_layer(pool_layer("avg", x, 3), before),
            add_layer(mean, mean),
            add_layer(_separable(before, f"{name}.d", 3), _separable(before, f"{name}.e", 3)),
        ]
    )


def _reduction(before: FeatureMap, x: FeatureMap, name: str, width: int) -> FeatureMap:
    x = conv_layer(x, f"{name}.now", width, (1, 1))
    before = conv_layer(before, f"{name}.before", width, (1, 1))
    first = add_layer(_separable(before, f"{name}.a", 7, 2), _separable(x, f"{name}.b", 5, 2))
    largest = pool_layer("max", x, 3, 2)
    second = add_layer(largest, _separable(before, f"{name}.c", 7, 2))
    return concat_layer(
        [
            first,
            second,
            add_layer(pool_layer("avg", x, 3, 2), _separable(before, f"{name}.d", 5, 2)),
            add_layer(largest, _separable(first, f"{name}.e", 3)),
            add_layer(pool_layer("avg", first, 3), second),
        ]
    )
