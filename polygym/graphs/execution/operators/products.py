"""Products of matrices and convolutions as bodies.

Windows of images as bodies: pools, and all windows as the columns of a matrix.
"""

from collections.abc import Callable
from dataclasses import replace
from math import prod

from polygym.graphs.execution.ir.nests import (
    ArrayAccess,
    Expression,
    GuardedSelect,
    NestArray,
    NestStatement,
    TextTemplate,
    constant_index,
    index_named,
)
from polygym.graphs.execution.ir.views import ArrayOperation
from polygym.graphs.execution.operators.bodies import (
    VECTOR_LENGTH,
    NestBuilder,
    OperatorBody,
    combine_pairwise,
    index_names,
    layer_norm_body,
    reduce_body,
    reduction_body,
    softmax_body,
)
from polygym.graphs.operators.definition import literal_numbers, literal_text

BLOCKED = "in blocks"
"""The literal of a product whose known matrix lies in blocks of columns."""

_MIN_COLUMNS = 4
"""Columns from which on kernels of single channels are written out, if windows leave some out and
rows of the result fill vectors."""


def matmul_body(operation: ArrayOperation, draft: NestBuilder) -> OperatorBody:
    """Return a product of matrices, or of batches of them."""
    x, y = operation.operands
    if operation.literals == (BLOCKED,):
        return blocked_matmul_body(operation, draft)
    at, extents = index_names("o", operation.result.shape)
    extents["k"] = x.shape[-1]
    *batch, row, column = map(index_named, at)
    inner = index_named("k")
    left = draft.read(x, (*batch, row, inner))
    right = draft.read(y, (*(batch if len(y.shape) > 2 else ()), inner, column))
    return reduction_body(operation, at, extents, "+=!", TextTemplate("{0} * {1}", (left, right)))


def conv_body(operation: ArrayOperation, draft: NestBuilder) -> OperatorBody:
    """Return a convolution in groups, of an image that is padded already.

    Functions of elements that follow are computed beside the sums: over windows of several
    elements, code that reads and writes its sums again was 3 % slower.
    """
    stride = [int(head) for head in operation.literals]
    x, w = operation.operands
    if len(w.shape) == 5:
        return _blocked_conv_body(operation, draft)
    count, filters, height, width = operation.result.shape
    inner = w.shape[1]
    groups = x.shape[1] // inner
    each = filters // groups
    extents = {"n": count, "g": groups, "f": each, "h": height, "w": width}
    at = tuple(extents)
    extents |= {"c": inner, "y": w.shape[2], "x": w.shape[3]}
    n, g, f, h, v, c, down, across = (index_named(name) for name in extents)
    channel, filter_ = g * inner + c, g * each + f
    left = draft.read(x, (n, channel, h * stride[0] + down, v * stride[1] + across))
    right = draft.read(w, (filter_, c, down, across))
    value: Expression = TextTemplate("{0} * {1}", (left, right))
    if inner == 1 and stride[1] > 1 and w.shape[3] >= _MIN_COLUMNS and width >= VECTOR_LENGTH:
        del extents["x"]
        terms = [
            (
                draft.read(x, (n, channel, h * stride[0] + down, v * stride[1] + place)),
                draft.read(w, (filter_, c, down, constant_index(place))),
            )
            for place in range(w.shape[3])
        ]
        value = combine_pairwise("({0} + {1})", [TextTemplate("{0} * {1}", term) for term in terms])
    body = reduction_body(operation, at, extents, "+=!", value, (n, filter_, h, v))
    return replace(body, in_place=w.shape[2:] == (1, 1))


def blocked_matmul_body(operation: ArrayOperation, draft: NestBuilder) -> OperatorBody:
    """Return a product by a known matrix in blocks of columns, (a, k, b).

    Axes of the result after the columns have extent 1.
    """
    x, y = operation.operands
    rows, extents = index_names("o", x.shape[:-1])
    extents |= {"a": y.shape[0], "b": y.shape[2]}
    at = tuple(extents)
    extents["k"] = y.shape[1]
    a, b, inner = index_named("a"), index_named("b"), index_named("k")
    row = tuple(map(index_named, rows))
    left, right = draft.read(x, (*row, inner)), draft.read(y, (a, inner, b))
    logical = (*row, a * y.shape[2] + b)
    logical += (constant_index(0),) * (len(operation.result.shape) - len(logical))
    return reduction_body(
        operation, at, extents, "+=!", TextTemplate("{0} * {1}", (left, right)), logical
    )


def _blocked_conv_body(operation: ArrayOperation, draft: NestBuilder) -> OperatorBody:
    """Return a convolution in one group by weights in blocks of filters, (q, c, y, x, f)."""
    stride = [int(head) for head in operation.literals]
    x, w = operation.operands
    count, _, height, width = operation.result.shape
    blocks, inner, *window, block = w.shape
    extents = {"n": count, "q": blocks, "f": block, "h": height, "w": width}
    at = tuple(extents)
    extents |= {"c": inner, "y": window[0], "x": window[1]}
    n, q, f, h, v, c, down, across = (index_named(name) for name in extents)
    left = draft.read(x, (n, c, h * stride[0] + down, v * stride[1] + across))
    right = draft.read(w, (q, c, down, across, f))
    value = TextTemplate("{0} * {1}", (left, right))
    body = reduction_body(operation, at, extents, "+=!", value, (n, q * block + f, h, v))
    return replace(body, in_place=window == [1, 1])


_MAX_UNROLLED = 8
"""Rows and columns of windows that are written out element by element."""


def windows_body(operation: ArrayOperation, draft: NestBuilder) -> OperatorBody:
    """Return the windows of an image below each other, as the columns of a matrix."""
    height, width, *stride = (int(head) for head in operation.literals)
    (x,) = operation.operands
    count, channels = x.shape[:2]
    rows, columns = operation.result.shape[2:]
    extents = {"n": count, "c": channels, "y": height, "x": width, "h": rows, "w": columns}
    n, c, down, across, h, w = (index_named(name) for name in extents)
    value = draft.read(x, (n, c, h * stride[0] + down, w * stride[1] + across))
    logical = (n, c * (height * width) + down * width + across, h, w)
    return OperatorBody(extents, (), (), value, tuple(extents), logical)


def pool_body(operation: ArrayOperation, draft: NestBuilder) -> OperatorBody:
    """Return what comes of windows: of their columns first, then of rows of such.

    So a window of 3 by 3 takes 4 operations instead of 8, and the first ones run along rows.
    """
    rows, columns, *stride = (int(head) for head in operation.literals)
    (image, *shares), dtype = operation.operands, operation.result.dtype
    at, extents = index_names("o", operation.result.shape)
    n, c, h, w = map(index_named, at)
    join = "max({0}, {1})" if operation.head == "poolmax" else "({0} + {1})"
    body: OperatorBody
    is_one = prod(operation.result.shape[2:]) == 1
    if is_one or max(rows, columns) > _MAX_UNROLLED:
        operator = "max=!" if operation.head == "poolmax" else "+=!"
        extents |= {"y": rows, "x": columns}
        place = (n, c, h * stride[0] + index_named("y"), w * stride[1] + index_named("x"))
        body = reduction_body(operation, at, extents, operator, draft.read(image, place))
    else:
        extents["all"] = image.shape[3]
        column = combine_pairwise(
            join,
            [draft.read(image, (n, c, h * stride[0] + y, index_named("all"))) for y in range(rows)],
        )
        between = (*at[:3], "all")
        value = combine_pairwise(
            join, [ArrayAccess("columns", (n, c, h, w * stride[1] + x)) for x in range(columns)]
        )
        body = OperatorBody(
            extents,
            (NestStatement("columns", between, "=", column),),
            (NestArray("columns", tuple(extents[index] for index in between), dtype),),
            value,
            at,
            (n, c, h, w),
        )
    if operation.head == "poolmax":
        return body
    share: Expression = TextTemplate(literal_text(1 / (rows * columns), dtype))
    if shares:
        share = draft.read(shares[0], (h, w))
    return replace(body, result=TextTemplate("{0} * {1}", (body.result, share)))


def operator_body(
    operation: ArrayOperation | None, draft: NestBuilder, shape: tuple[int, ...]
) -> OperatorBody:
    """Return the statements of an operator; without one, the indices of a shape."""
    if operation is not None:
        return BODIES[operation.head.rstrip("0123456789")](operation, draft)
    at, extents = index_names("o", shape)
    return OperatorBody(extents, (), (), TextTemplate("0"), at, tuple(map(index_named, at)))


def _gather(operation: ArrayOperation, draft: NestBuilder) -> OperatorBody:
    axis = int(operation.literals[0])
    table, chosen = operation.operands
    at, extents = index_names("o", operation.result.shape)
    places = tuple(map(index_named, at))
    rank = len(chosen.shape)
    row = draft.read(chosen, places[axis : axis + rank])
    value = draft.read(table, (*places[:axis], row, *places[axis + rank :]))
    return OperatorBody(extents, (), (), value, at, places)


def _pad(operation: ArrayOperation, draft: NestBuilder) -> OperatorBody:
    value, word = operation.literals
    pads = literal_numbers(word)
    (x,) = operation.operands
    at, extents = index_names("o", operation.result.shape)
    places = tuple(map(index_named, at))
    before, after = pads[: len(at)], pads[len(at) :]
    element = draft.read(x, [index + -first for index, first in zip(places, before, strict=True)])
    ranges = tuple(
        (affine_index, first, first + extent)
        for affine_index, first, last, extent in zip(places, before, after, x.shape, strict=True)
        if first or last
    )
    around = TextTemplate(literal_text(float(value), x.dtype))
    return OperatorBody(extents, (), (), GuardedSelect(ranges, element, around), at, places)


def _merge(operation: ArrayOperation, draft: NestBuilder) -> OperatorBody:
    """Return a kernel whose groups, ``many`` at a time, are one, with zeros between them."""
    many, parts = (int(head) for head in operation.literals)
    (w,) = operation.operands
    filters, inner, *window = w.shape
    each = filters // parts
    extents = {"a": parts // many, "q": many, "f": each, "r": many, "c": inner}
    extents |= dict(zip(("y", "x"), window, strict=True))
    a, q, f, r, c, down, across = (index_named(name) for name in extents)
    filter_ = a * (many * each) + q * each + f
    element = draft.read(w, (filter_, c, down, across))
    is_own = ((q + r * -1, 0, 1),)
    zero = TextTemplate(literal_text(0, w.dtype))
    logical = (filter_, r * inner + c, down, across)
    return OperatorBody(
        extents, (), (), GuardedSelect(is_own, element, zero), tuple(extents), logical
    )


BODIES: dict[str, Callable[[ArrayOperation, NestBuilder], OperatorBody]] = {
    "matmul": matmul_body,
    "matmul-row": blocked_matmul_body,
    "windows": windows_body,
    "conv": conv_body,
    "poolmax": pool_body,
    "poolavg": pool_body,
    "reduce-sum": reduce_body,
    "reduce-mean": reduce_body,
    "reduce-max": reduce_body,
    "reduce-prod": reduce_body,
    "softmax": softmax_body,
    "layer-norm": layer_norm_body,
    "gather": _gather,
    "pad": _pad,
    "merge": _merge,
}
"""The operators that do more than a function of elements."""
