"""What a convolution and a pool ask for: images whose windows are as many as wanted."""

from __future__ import annotations

from polygym.graphs.operators.type_checks import pads_of
from polygym.graphs.operators.types import TensorType
from polygym.graphs.rules.variable_binding import (
    LITERAL_CHOICES,
    Shape,
    VariableBinder,
    literal_data,
)
from polygym.rewrite.term import Head, Term

__all__ = ["bind_conv", "bind_pool"]

_SMALL_EXTENT = 6
"""How high and wide images are at most, but for long windows."""


def bind_conv(maker: VariableBinder, one: Term, want: Shape | None) -> None:
    """Bind what is under a convolution."""
    names = ("stride_h", "stride_w", "padding", "activation")
    stride_h, stride_w, padding, _ = (
        maker.literal(child, *LITERAL_CHOICES[name])
        for name, child in zip(names, one.children[:4], strict=True)
    )
    x, w = one.children[4:]
    count, filters, *size = want if want and len(want) == 4 else (maker.extent(), 0, 0, 0)
    if maker.is_bound(x) and not maker.is_bound(w):
        _, channels, *extents = maker.tensor(x, None)
        groups = maker.rng.choice([g for g in (1, 1, 2, 3, 4) if channels % g == 0])
        kernels = [maker.rng.choice(maker.kernels) for _ in range(8)]
        if filters:
            kernels = [
                kernel
                for kernel in maker.kernels
                if _windows(extents, kernel, (stride_h, stride_w), padding) == size
            ] or kernels
        filters = filters or groups * maker.rng.choice((1, 2, 3))
        maker.bind(w, (filters, channels // groups, *maker.rng.choice(kernels)))
        return
    kernel = maker.rng.choice(maker.kernels)
    groups = maker.rng.choice((1, 1, 2, 3))
    # Six filters are many in one group, and some in two or three: what groups are confused by.
    many = maker.rng.choice((6, groups, 2 * groups, 3 * groups))
    shape = (filters or many, maker.extent(), *kernel)
    actual, inner, *extents = maker.tensor(w, shape)
    groups = maker.rng.choice([g for g in (1, 1, 2, 3, 4) if actual % g == 0])
    maker.bind(
        x,
        (
            count,
            inner * groups,
            *_image_extents(maker, size, (extents[0], extents[1]), (stride_h, stride_w), padding),
        ),
    )


def bind_pool(maker: VariableBinder, one: Term, want: Shape | None) -> None:
    """Bind what is under a pool."""
    x, *literals = one.children
    names = ("kernel_h", "kernel_w", "stride_h", "stride_w", "padding", "activation")
    kernel_h, kernel_w, stride_h, stride_w, padding, _ = (
        maker.literal(child, *LITERAL_CHOICES[name])
        for name, child in zip(names, literals, strict=True)
    )
    count, channels, *size = want if want and len(want) == 4 else (*maker.shape(2), 0, 0)
    image = _image_extents(maker, size, (kernel_h, kernel_w), (stride_h, stride_w), padding)
    maker.bind(x, (count, channels, *image))


def _windows(
    size: list[int], kernel: tuple[int, int], stride: tuple[int, int], padding: Head
) -> list[int]:
    word = literal_data(padding)
    pads = pads_of(word, (size[0], size[1]), kernel, stride)
    return [
        (size[i] + pads[i] + pads[i + 2] - kernel[i]) // stride[i] + 1
        if size[i] + pads[i] + pads[i + 2] >= kernel[i]
        else 0
        for i in (0, 1)
    ]


def _image_extents(
    maker: VariableBinder,
    want: list[int],
    kernel: tuple[int, int],
    stride: tuple[int, int],
    padding: Head,
) -> list[int]:
    """Return a height and a width that make as many windows as wanted, if that is said.

    A window larger than all small images sees everything of them: then one side is as long as the
    window, or longer.
    """
    result: list[int] = []
    images = [
        data.shape
        for data in maker.bound.values()
        if isinstance(data, TensorType) and len(data.shape) == 4
    ]
    for axis in (0, 1):
        is_long = kernel[axis] > _SMALL_EXTENT and max(result, default=0) <= _SMALL_EXTENT
        long = (kernel[axis], kernel[axis] + 1) if is_long else ()
        sizes = [maker.rng.choice((*range(1, _SMALL_EXTENT + 1), *long)) for _ in range(6)]
        fit = [
            size
            for size in (sizes if not want[axis] else (*range(1, 9), *long))
            if (many := _windows([size, size], kernel, stride, padding)[axis])
            and want[axis] in (0, many)
        ]
        again = [shape[axis + 2] for shape in images if shape[axis + 2] in fit]
        result.append(
            maker.rng.choice(again)
            if again and maker.rng.random() < 0.5
            else maker.rng.choice(fit or sizes)
        )
    return result
