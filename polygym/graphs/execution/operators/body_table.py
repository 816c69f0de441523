"""The table of operators that do more than a function of elements, and what moves elements."""

from collections.abc import Callable

from polygym.graphs.execution.ir.nests import GuardedSelect, TextTemplate, index_named
from polygym.graphs.execution.ir.operations import ArrayOperation
from polygym.graphs.execution.operators.bodies import NestBuilder, OperatorBody, index_names
from polygym.graphs.execution.operators.products import (
    blocked_matmul_body,
    conv_body,
    matmul_body,
    pool_body,
    windows_body,
)
from polygym.graphs.execution.operators.reductions import layer_norm_body, reduce_body, softmax_body
from polygym.graphs.operators.element_text import literal_text
from polygym.graphs.operators.types import parse_numbers


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
    pads = parse_numbers(word) if isinstance(word, str) else (int(word),)
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
    "softmax": softmax_body,
    "layer-norm": layer_norm_body,
    "gather": _gather,
    "pad": _pad,
    "merge": _merge,
}
"""The operators that do more than a function of elements."""
