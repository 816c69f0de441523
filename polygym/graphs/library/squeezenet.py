"""SqueezeNet 1.1: fire modules, each a narrow 1×1 convolution and two wide ones that share it.

The two wide convolutions, 1×1 and 3×3, see the same image and stand side by side in the result:
enlarged to 3×3, the first can join the second. Activations stand alone, as an exported graph has
them.
"""

from collections.abc import Sequence

from polygym.graphs.ir.build import reshape
from polygym.graphs.ir.graph import Graph
from polygym.graphs.library.image_layers import (
    FeatureMap,
    concat_layer,
    conv_layer,
    extents_of,
    image_input,
    pool_layer,
    relu_layer,
)

SIZES = {
    "small": {
        "extent": 48,
        "channels": 8,
        "stages": (((2, 8),), ((4, 16),), ((6, 24), (8, 32))),
        "classes": 10,
    },
    "paper": {
        "extent": 224,
        "channels": 64,
        "stages": (
            ((16, 64), (16, 64)),
            ((32, 128), (32, 128)),
            ((48, 192), (48, 192), (64, 256), (64, 256)),
        ),
        "classes": 1000,
    },
}


def graph(
    extent: int, channels: int, stages: Sequence[Sequence[tuple[int, int]]], classes: int
) -> Graph:
    """Return the graph: one image in, a number for every class out.

    ``channels`` are those of the first layer; a stage is the narrow and wide channels of its
    modules.
    """
    start = image_input("x", extent)
    x = _conv_then_relu(start, "first", channels, 3, 2, "valid")
    for stage, fires in enumerate(stages):
        x = pool_layer("max", x, 3, 2, "valid")
        for place, (narrow, wide) in enumerate(fires):
            x = _fire(x, f"stage{stage}.fire{place}", narrow, wide)
    x = _conv_then_relu(x, "classes", classes, 1)
    _, extent, _ = extents_of(x)
    x = pool_layer("avg", x, extent, extent, "valid")
    return Graph("squeezenet", (start.node,), (("y", reshape(x.node, (1, classes))),))


def _conv_then_relu(
    x: FeatureMap, name: str, filters: int, kernel: int, stride: int = 1, padding: str = "same"
) -> FeatureMap:
    return relu_layer(
        conv_layer(x, name, filters, (kernel, kernel), stride, padding, activation="none")
    )


def _fire(x: FeatureMap, name: str, narrow: int, wide: int) -> FeatureMap:
    squeezed = _conv_then_relu(x, f"{name}.narrow", narrow, 1)
    return concat_layer(
        [_conv_then_relu(squeezed, f"{name}.wide{kernel}", wide, kernel) for kernel in (1, 3)]
    )
