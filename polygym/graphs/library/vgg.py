"""VGG-19: sixteen convolutions of 3×3 with pools between them, then three products.

Activations stand alone, as an exported graph has them, and the weights of products are transposed
where they are used: both are for the rules to see.
"""

from collections.abc import Sequence
from math import prod

from polygym.graphs.ir.build import matmul, relu, reshape, transpose, weight
from polygym.graphs.ir.graph import Graph
from polygym.graphs.library.image_layers import (
    conv_layer,
    extents_of,
    image_input,
    pool_layer,
    relu_layer,
)

SIZES = {
    "small": {"extent": 16, "stages": ((4, 1), (8, 1), (8, 2)), "widths": (32, 32, 10)},
    "paper": {
        "extent": 224,
        "stages": ((64, 2), (128, 2), (256, 4), (512, 4), (512, 4)),
        "widths": (4096, 4096, 1000),
    },
}


def graph(extent: int, stages: Sequence[tuple[int, int]], widths: Sequence[int]) -> Graph:
    """Return the graph: one image in, a number for every class out.

    ``stages`` are channels and the number of convolutions, ``widths`` those of the products.
    """
    start = x = image_input("x", extent)
    for stage, (channels, count) in enumerate(stages):
        for place in range(count):
            name = f"stage{stage}.conv{place}"
            x = relu_layer(conv_layer(x, name, channels, (3, 3), activation="none"))
        x = pool_layer("max", x, 2, 2, "valid")
    width = prod(extents_of(x))
    flat = reshape(x.node, (1, width))
    for place, wide in enumerate(widths):
        flat = relu(flat) if place else flat
        flat = matmul(flat, transpose(weight(f"dense{place}", wide, width), (1, 0)))
        width = wide
    return Graph("vgg19", (start.node,), (("y", flat),))
