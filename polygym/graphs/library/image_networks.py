"""Networks over images and their layers: convolutions with a weight of their own, pools.

Biases and normalisations are left out, as in the graphs that the paper measures: a normalisation is
folded into the weights of the convolution before it, and no rule looks at a bias.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from polygym.graphs.ir import build
from polygym.graphs.ir.graph import Graph
from polygym.rewrite.term import Term


@dataclass(frozen=True, slots=True)
class FeatureMap:
    """A node and how many channels it has, which the weight of the next convolution must know."""

    node: Term
    channels: int


def image_input(name: str, extent: int) -> FeatureMap:
    """Return an input: one square image of three channels."""
    return FeatureMap(build.graph_input(name, 1, 3, extent, extent), 3)


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
    kernels = build.weight(name, filters, x.channels // groups, *kernel)
    return FeatureMap(build.conv(x.node, kernels, (stride, stride), padding, activation), filters)


def pool_layer(
    kind: str, x: FeatureMap, window: int, stride: int = 1, padding: str = "same"
) -> FeatureMap:
    """Return ``max`` or ``avg`` of square windows."""
    return FeatureMap(
        build.pool(kind, x.node, (window, window), (stride, stride), padding), x.channels
    )


def relu_layer(x: FeatureMap) -> FeatureMap:
    """Return max(x, 0)."""
    return FeatureMap(build.relu(x.node), x.channels)


def add_layer(x: FeatureMap, y: FeatureMap) -> FeatureMap:
    """Return the sum of images of one shape."""
    return FeatureMap(build.binary("ewadd", x.node, y.node), x.channels)


def concat_layer(parts: Sequence[FeatureMap]) -> FeatureMap:
    """Return images with their channels one after the other."""
    return FeatureMap(
        build.concat(1, [feature_map.node for feature_map in parts]),
        sum(part.channels for part in parts),
    )


def extents_of(x: FeatureMap) -> tuple[int, int, int]:
    """Return channels, rows and columns of an image."""
    _, channels, rows, columns = build.shape_of(x.node)
    return channels, rows, columns


def vgg19(extent: int, stages: Sequence[tuple[int, int]], widths: Sequence[int]) -> Graph:
    """VGG-19: sixteen convolutions of 3×3 with pools between them, then three products.

    Activations stand alone, as an exported graph has them, and the weights of products are
    transposed where they are used: both are for the rules to see.

    Return the graph: one image in, a number for every class out.

    ``stages`` are channels and the number of convolutions, ``widths`` those of the products.
    """
    start = x = image_input("x", extent)
    for stage, (channels, count) in enumerate(stages):
        for place in range(count):
            name = f"stage{stage}.conv{place}"
            x = relu_layer(conv_layer(x, name, channels, (3, 3), activation="none"))
        x = pool_layer("max", x, 2, 2, "valid")
    width = prod(extents_of(x))
    flat = build.reshape(x.node, (1, width))
    for place, wide in enumerate(widths):
        flat = build.relu(flat) if place else flat
        flat = build.matmul(
            flat, build.transpose(build.weight(f"dense{place}", wide, width), (1, 0))
        )
        width = wide
    return Graph("vgg19", (start.node,), (("y", flat),))


def squeezenet(
    extent: int, channels: int, stages: Sequence[Sequence[tuple[int, int]]], classes: int
) -> Graph:
    """SqueezeNet 1.1: fire modules, each a narrow 1×1 convolution and two wide ones that share it.

    The two wide convolutions, 1×1 and 3×3, see the same image and stand side by side in the result:
    enlarged to 3×3, the first can join the second. Activations stand alone, as an exported graph
    has them.

    Return the graph: one image in, a number for every class out.

    ``channels`` are those of the first layer; a stage is the narrow and wide channels of its
    modules.
    """
    start = image_input("x", extent)
    x = _conv_then_relu(start, "first", channels, 3, 2, "valid")
    for stage, fires in enumerate(stages):
        x = pool_layer("max", x, 3, 2, "valid")
        for place, (narrow, wide) in enumerate(fires):
            x = _fire_module(x, f"stage{stage}.fire{place}", narrow, wide)
    x = _conv_then_relu(x, "classes", classes, 1)
    _, extent, _ = extents_of(x)
    x = pool_layer("avg", x, extent, extent, "valid")
    return Graph("squeezenet", (start.node,), (("y", build.reshape(x.node, (1, classes))),))


def _conv_then_relu(
    x: FeatureMap, name: str, filters: int, kernel: int, stride: int = 1, padding: str = "same"
) -> FeatureMap:
    return relu_layer(
        conv_layer(x, name, filters, (kernel, kernel), stride, padding, activation="none")
    )


def _fire_module(x: FeatureMap, name: str, narrow: int, wide: int) -> FeatureMap:
    squeezed = _conv_then_relu(x, f"{name}.narrow", narrow, 1)
    return concat_layer(
        [_conv_then_relu(squeezed, f"{name}.wide{kernel}", wide, kernel) for kernel in (1, 3)]
    )


def resnext50(extent: int, channels: int, groups: int, stages: Sequence[tuple[int, int]]) -> Graph:
    """ResNeXt-50: residual blocks whose middle convolution is in 32 groups.

    A block narrows by a 1×1 convolution, convolves in groups, widens by another 1×1, and is added
    to what it took; where extents or channels change, that is convolved first. The graph ends with
    the last block.

    Return the graph: one image in, the last block's channels out.

    ``channels`` are those of the first layer, ``stages`` widths and numbers of blocks.
    """
    start = image_input("x", extent)
    x = pool_layer("max", conv_layer(start, "first", channels, (7, 7), stride=2), 3, 2)
    for stage, (width, blocks) in enumerate(stages):
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            x = _residual_block(x, f"stage{stage}.block{block}", width, stride, groups)
    return Graph("resnext50", (start.node,), (("y", x.node),))


def _residual_block(x: FeatureMap, name: str, width: int, stride: int, groups: int) -> FeatureMap:
    narrow = conv_layer(x, f"{name}.narrow", width, (1, 1))
    grouped = conv_layer(narrow, f"{name}.grouped", width, (3, 3), stride, groups=groups)
    wide = conv_layer(grouped, f"{name}.wide", 2 * width, (1, 1), activation="none")
    if stride > 1 or x.channels != 2 * width:
        x = conv_layer(x, f"{name}.past", 2 * width, (1, 1), stride)
    return relu_layer(add_layer(x, wide))


def nasnet_a(extent: int, channels: int, width: int, cells: int, stages: int) -> Graph:
    """NasNet-A: cells that were found by search, some that keep extents and some that halve them.

    A cell takes what the last two cells made, brings both to its width by 1×1 convolutions, and
    adds up five pairs of what separable convolutions and pools make of them; the five sums,
    channels one after the other, are its result. A separable convolution is one in as many groups
    as there are channels and a 1×1 after it.

    Return the graph: one image in, the last reduction's channels out.

    ``channels`` are those of the first layer, ``width`` those of a cell; ``cells`` are normal ones.
    """
    start = image_input("x", extent)
    x = pool_layer("max", conv_layer(start, "first", channels, (7, 7), stride=2), 3, 2)
    for stage in range(stages):
        before = x
        for cell in range(cells):
            before, x = x, _normal_cell(before, x, f"stage{stage}.cell{cell}", width)
        width *= 2
        x = _reduction_cell(before, x, f"stage{stage}.reduction", width)
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


def _normal_cell(before: FeatureMap, x: FeatureMap, name: str, width: int) -> FeatureMap:
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


def _reduction_cell(before: FeatureMap, x: FeatureMap, name: str, width: int) -> FeatureMap:
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
