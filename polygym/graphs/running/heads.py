"""The table of operators that do more than a function of elements, and what moves elements."""

from __future__ import annotations

from collections.abc import Callable

from polygym.graphs.ir.types import numbers_in
from polygym.graphs.running.bodies import Body, Draft, indices
from polygym.graphs.running.functions import number
from polygym.graphs.running.nests import Apply, Select, index
from polygym.graphs.running.operations import Operation
from polygym.graphs.running.products import conv, matmul, matmul_in_blocks
from polygym.graphs.running.sums import layer_norm, reduction, softmax
from polygym.graphs.running.windows import pool, windows

__all__ = ["HEADS", "body_of"]


def body_of(operation: Operation | None, draft: Draft, shape: tuple[int, ...]) -> Body:
    """Return the statements of an operator; without one, the indices of a shape."""
    if operation is not None:
        return HEADS[operation.head.rstrip("0123456789")](operation, draft)
    at, extents = indices("o", shape)
    return Body(extents, (), (), Apply("0"), at, tuple(map(index, at)))


def _gather(operation: Operation, draft: Draft) -> Body:
    axis = int(operation.literals[0])
    table, chosen = operation.operands
    at, extents = indices("o", operation.result.shape)
    places = tuple(map(index, at))
    rank = len(chosen.shape)
    row = draft.read(chosen, places[axis : axis + rank])
    value = draft.read(table, (*places[:axis], row, *places[axis + rank :]))
    return Body(extents, (), (), value, at, places)


def _pad(operation: Operation, draft: Draft) -> Body:
    value, word = operation.literals
    pads = numbers_in(word) if isinstance(word, str) else (int(word),)
    (x,) = operation.operands
    at, extents = indices("o", operation.result.shape)
    places = tuple(map(index, at))
    before, after = pads[: len(at)], pads[len(at) :]
    element = draft.read(x, [one + -first for one, first in zip(places, before, strict=True)])
    ranges = tuple(
        (one, first, first + extent)
        for one, first, last, extent in zip(places, before, after, x.shape, strict=True)
        if first or last
    )
    around = Apply(number(float(value), x.dtype))
    return Body(extents, (), (), Select(ranges, element, around), at, places)


def _merge(operation: Operation, draft: Draft) -> Body:
    """Return a kernel whose groups, ``many`` at a time, are one, with zeros between them."""
    many, parts = (int(one) for one in operation.literals)
    (w,) = operation.operands
    filters, inner, *window = w.shape
    each = filters // parts
    extents = {"a": parts // many, "q": many, "f": each, "r": many, "c": inner}
    extents |= dict(zip(("y", "x"), window, strict=True))
    a, q, f, r, c, down, across = (index(name) for name in extents)
    filter_ = a * (many * each) + q * each + f
    element = draft.read(w, (filter_, c, down, across))
    is_own = ((q + r * -1, 0, 1),)
    zero = Apply(number(0, w.dtype))
    logical = (filter_, r * inner + c, down, across)
    return Body(extents, (), (), Select(is_own, element, zero), tuple(extents), logical)


HEADS: dict[str, Callable[[Operation, Draft], Body]] = {
    "matmul": matmul,
    "matmul-row": matmul_in_blocks,
    "windows": windows,
    "conv": conv,
    "poolmax": pool,
    "poolavg": pool,
    "reduce-sum": reduction,
    "reduce-mean": reduction,
    "reduce-max": reduction,
    "softmax": softmax,
    "layer-norm": layer_norm,
    "gather": _gather,
    "pad": _pad,
    "merge": _merge,
}
"""The operators that do more than a function of elements."""
