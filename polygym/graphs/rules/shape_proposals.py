"""Shape proposals: the shapes that each operator asks of its parts, given its own.

>>> import random
>>> from polygym.rewrite.s_expressions import parse_term
>>> maker = VariableBinder(random.Random(1), {}, bind_operands)
>>> _ = maker.bind(parse_term("(ewadd (matmul none ?x ?y) ?z)"), None)
>>> shapes = {name: data.shape for name, data in maker.bound.items()}
>>> shapes["?z"] == (*shapes["?x"][:-1], shapes["?y"][-1])
True

What a convolution and a pool ask for: images whose windows are as many as wanted.
"""

from collections.abc import Callable
from math import prod

from polygym.graphs.operators import shape_functions as shapes
from polygym.graphs.operators.registry import operator_named
from polygym.graphs.operators.types import (
    Data,
    TensorPair,
    TensorType,
    pads_of,
    parse_numbers,
    shape_text,
)
from polygym.graphs.rules.variable_binding import (
    LITERAL_CHOICES,
    OperandBinder,
    Shape,
    VariableBinder,
    literal_data,
)
from polygym.rewrite.domain import Inadmissible
from polygym.rewrite.term import Head, Term, is_variable

_SMALL_EXTENT = 6
"""How high and wide images are at most, but for long windows."""


def bind_conv(maker: VariableBinder, node: Term, want: Shape | None) -> None:
    """Bind what is under a convolution, and a bias of its channels."""
    _bind_image_and_kernel(maker, node, want)
    for bias in node.children[6:]:
        maker.bind(bias, maker.tensor(node.children[5], None)[:1])


def _bind_image_and_kernel(maker: VariableBinder, node: Term, want: Shape | None) -> None:
    names = ("stride_h", "stride_w", "padding", "activation")
    stride_h, stride_w, padding, _ = (
        maker.literal(child, *LITERAL_CHOICES[name])
        for name, child in zip(names, node.children[:4], strict=True)
    )
    x, w = node.children[4:6]
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


def bind_pool(maker: VariableBinder, node: Term, want: Shape | None) -> None:
    """Bind what is under a pool."""
    x, *literals = node.children
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


def bind_operands(maker: VariableBinder, node: Term, want: Shape | None) -> None:
    """Bind the variables under an operator.

    Raises:
        Inadmissible: what was tried makes no sense.
    """
    _BINDERS.get(operator_named(node.head).infer, _bind_generic)(maker, node, want)


def _bind_generic(maker: VariableBinder, node: Term, want: Shape | None) -> None:
    """Bind what is under an operator about which nothing else is known."""
    operator = operator_named(node.head)
    keeps_shape = operator.infer in (shapes.unary, shapes.unary_with_number, shapes.clip)
    inner = want if keeps_shape else None
    takes = operator.parameters_of(len(node.children))
    for (name, kind), child in zip(takes, node.children, strict=True):
        if kind in "NS":
            maker.literal(child, *LITERAL_CHOICES.get(name, ("scalar",)))
        else:
            maker.bind(child, inner)


def _bind_equal(maker: VariableBinder, node: Term, want: Shape | None) -> None:
    for child in sorted(node.children, key=maker.is_bound, reverse=True):
        want = maker.tensor(child, want)


def _broadcast(maker: VariableBinder, node: Term, want: Shape | None) -> None:
    first, second = sorted(node.children, key=maker.is_bound, reverse=True)
    shape = maker.tensor(first, want)
    narrow = tuple(maker.rng.choice((extent, 1)) for extent in shape)
    narrow = narrow[maker.rng.randrange(len(narrow) + 1) :] if narrow else narrow
    # One value for every row, or for every column, which a square hides.
    axis = maker.rng.randrange(len(shape)) if shape else 0
    single = tuple(extent if place == axis else 1 for place, extent in enumerate(shape))
    wide = (maker.extent(), *narrow)  # the result has more axes than the first
    maker.bind(second, maker.rng.choice((narrow, narrow, single, single, shape, shape, wide)))


def _matmul(maker: VariableBinder, node: Term, want: Shape | None) -> None:
    activation, x, y, *bias = node.children
    maker.literal(activation, *LITERAL_CHOICES["activation"])
    if want is None:
        want = maker.shape(maker.rng.choice((2, 2, 3, 4)))
    if len(want) < 2:
        raise Inadmissible("expected a matrix")
    if not maker.is_bound(y) or maker.is_bound(x):
        *batch, _, inner = maker.tensor(x, (*want[:-1], maker.extent()))
        own = batch if maker.rng.random() < 0.5 else []
        maker.bind(y, (*own, inner, want[-1]))
    else:
        *own, inner, _ = maker.tensor(y, None)
        maker.bind(x, (*(own or want[:-2]), want[-2], inner))
    for added in bias:
        maker.bind(added, maker.tensor(y, None)[-1:])


def _concat(maker: VariableBinder, node: Term, want: Shape | None) -> None:
    axis, *parts = node.children
    parts.sort(key=maker.is_bound, reverse=True)
    base = want
    if maker.is_bound(parts[0]):
        base = maker.tensor(parts[0], None)
    elif base is None:
        base = maker.shape(max(maker.rank, 1))
    rank = max(len(base), 1)
    along = maker.literal(axis, *range(rank))
    if not isinstance(along, int) or along >= len(base):
        raise Inadmissible("expected an axis")
    left = want[along] if want is not None and len(want) == len(base) else 0
    for place, part in enumerate(parts):
        after = len(parts) - 1 - place
        if left and not after:
            extent = left
        elif left:
            extent = maker.rng.randint(1, max(left - after, 1))
        else:
            extent = maker.extent()
        made = maker.tensor(part, (*base[:along], extent, *base[along + 1 :]))
        if place == 0 and len(made) == len(base):
            base = made
        left = max(left - made[along], 1) if left and along < len(made) else 0


def _half(maker: VariableBinder, node: Term, want: Shape | None) -> None:
    (inner,) = node.children
    if is_variable(inner):
        if str(inner.head) not in maker.bound:
            first = TensorType(want or maker.shape(max(maker.rank, 1)), constant=True)
            axis = maker.rng.randrange(max(len(first.shape), 1))
            shape = (*first.shape[:axis], maker.extent(), *first.shape[axis + 1 :])
            second = TensorType(shape, constant=True)
            maker.bound[str(inner.head)] = TensorPair(first, second if first.shape else first)
        return
    if inner.head == "split" and want:
        _split_for(maker, inner, want, node.head == "split0")
    maker.bind(inner, None)


def _split_for(maker: VariableBinder, node: Term, want: Shape, is_first: bool) -> None:
    axis, at, x = node.children
    along = maker.literal(axis, *range(len(want)))
    if not isinstance(along, int) or along >= len(want):
        raise Inadmissible("expected an axis")
    size = maker.literal(at, want[along] if is_first else maker.extent())
    extent = (want[along] + maker.extent()) if is_first else size + want[along]
    maker.bind(x, (*want[:along], extent, *want[along + 1 :]))


def _split(maker: VariableBinder, node: Term, _: Shape | None) -> None:
    axis, at, x = node.children
    shape = maker.tensor(
        x, tuple(extent + maker.extent() for extent in maker.shape(max(1, maker.rank)))
    )
    along = maker.literal(axis, *range(len(shape)))
    if not isinstance(along, int) or along >= len(shape) or shape[along] < 2:
        raise Inadmissible("expected an axis that can be split")
    maker.literal(at, *range(1, shape[along]))


def _transpose(maker: VariableBinder, node: Term, want: Shape | None) -> None:
    x, permutation = node.children
    if maker.is_bound(permutation):
        word = maker.literal(permutation)
        order = parse_numbers(word) if isinstance(word, str) else (word,)
        if want is None or len(want) != len(order):
            maker.bind(x, maker.shape(len(order)))
        else:
            maker.bind(x, tuple(want[order.index(axis)] for axis in range(len(order))))
        return
    rank = len(want) if want else max(1, maker.rank)
    if maker.is_bound(x):
        rank = len(maker.tensor(x, None))
    order = tuple(maker.rng.sample(range(rank), rank))
    maker.literal(permutation, order[0] if rank == 1 else shape_text(order))
    shape = want if want and len(want) == rank else maker.shape(rank)
    maker.bind(x, tuple(shape[order.index(axis)] for axis in range(rank)))


def _enlarge(maker: VariableBinder, node: Term, want: Shape | None) -> None:
    w, reference = node.children
    large = want if want and len(want) == 4 else (*maker.shape(2), 3, 3)
    small = [maker.rng.choice(range(extent, 0, -2)) for extent in large[2:]]
    maker.bind(w, (*large[:2], *small))
    maker.bind(reference, (*maker.shape(2), *large[2:]))


def _merge(maker: VariableBinder, node: Term, want: Shape | None) -> None:
    w, count, groups = node.children
    parts = maker.literal(groups, *LITERAL_CHOICES["groups"])
    many = maker.literal(count, *(value for value in (1, 2, 3, 4) if parts % value == 0))
    filters = parts * maker.rng.choice((1, 2, 4))
    if want is not None and len(want) == 4:
        filters = filters if want[0] % parts else want[0]
        maker.bind(w, (filters, max(want[1] // many, 1), *want[2:]))
    else:
        maker.bind(w, (filters, *maker.shape(3)))


def _reshape(maker: VariableBinder, node: Term, want: Shape | None) -> None:
    x, shape = node.children
    if want is not None and not maker.is_bound(x):
        maker.bind(x, _factors(maker, prod(want)))
    elements = prod(maker.tensor(x, None))
    factors = want if want is not None else _factors(maker, elements)
    maker.literal(shape, factors[0] if len(factors) == 1 else shape_text(factors))


def _factors(maker: VariableBinder, elements: int) -> Shape:
    result: list[int] = []
    for prime in (2, 3, 5):
        while elements % prime == 0:
            result.append(prime)
            elements //= prime
    result += [elements] if elements > 1 else []
    maker.rng.shuffle(result)
    while len(result) > 3 or (len(result) > 1 and maker.rng.random() < 0.4):
        result[:2] = [result[0] * result[1]]
    result += [1] if maker.rng.random() < 0.3 and len(result) < 4 else []
    return tuple(result)


def _expand(maker: VariableBinder, node: Term, want: Shape | None) -> None:
    x, shape = node.children
    wide = want if want is not None else maker.shape()
    maker.literal(shape, wide[0] if len(wide) == 1 else shape_text(wide))
    narrow = tuple(maker.rng.choice((extent, 1)) for extent in wide)
    maker.bind(x, narrow[maker.rng.randrange(len(narrow) + 1) :])


def _layer_norm(maker: VariableBinder, node: Term, want: Shape | None) -> None:
    epsilon, x, scale, bias = node.children
    maker.literal(epsilon, *LITERAL_CHOICES["epsilon"])
    shape = maker.tensor(x, want or maker.shape(max(1, maker.rank)))
    maker.bind(scale, shape[-1:])
    maker.bind(bias, shape[-1:])


def _gather(maker: VariableBinder, node: Term, _: Shape | None) -> None:
    axis, table, indices = node.children
    shape = maker.tensor(table, maker.shape(max(1, min(maker.rank, 3))))
    maker.literal(axis, *range(max(len(shape), 1)))
    if is_variable(indices) and str(indices.head) not in maker.bound:
        chosen = maker.shape(maker.rng.choice((0, 1, 2)))
        maker.bound[str(indices.head)] = TensorType(chosen, "int64", constant=True)


def _pad(maker: VariableBinder, node: Term, _: Shape | None) -> None:
    value, pads, x = node.children
    maker.literal(value, *LITERAL_CHOICES["value"])
    rank = len(maker.tensor(x, None))
    widths = tuple(maker.rng.choice((0, 0, 1, 2)) for _ in range(2 * rank))
    maker.literal(pads, shape_text(widths))


def _slice(maker: VariableBinder, node: Term, _: Shape | None) -> None:
    axis, start, stop, step, x = node.children
    shape = maker.tensor(x, None)
    along = maker.literal(axis, *range(max(len(shape), 1)))
    extent = shape[along] if isinstance(along, int) and along < len(shape) else 1
    first = maker.literal(start, *range(extent))
    maker.literal(stop, *range(int(first) + 1, max(extent, int(first) + 1) + 1))
    maker.literal(step, *LITERAL_CHOICES["step"])


_BINDERS: dict[Callable[..., Data], OperandBinder] = {
    shapes.equal_shapes: _bind_equal,
    shapes.broadcast: _broadcast,
    shapes.pooling: bind_pool,
    shapes.first_part: _half,
    shapes.second_part: _half,
    shapes.matmul: _matmul,
    shapes.convolution: bind_conv,
    shapes.concat: _concat,
    shapes.split: _split,
    shapes.transpose: _transpose,
    shapes.enlarge: _enlarge,
    shapes.merge: _merge,
    shapes.reshape: _reshape,
    shapes.expand: _expand,
    shapes.layer_norm: _layer_norm,
    shapes.gather: _gather,
    shapes.pad: _pad,
    shapes.strided_slice: _slice,
}
"""Binders by shape function: a new operator with a shape function of these needs no row."""
