"""What every operator computes, as statements of a nest.

A function for an operator says in which statements its result comes about, and how an element of
the result is read from them, so that element-wise functions can follow in the same nest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import prod

from polygym.graphs.running.functions import number
from polygym.graphs.running.nests import (
    Access,
    Affine,
    Apply,
    Array,
    Expression,
    Select,
    Statement,
    Subscript,
    constant,
    index,
)
from polygym.graphs.running.operations import Operation
from polygym.graphs.running.views import View
from polygym.graphs.types import numbers_in

__all__ = ["HEADS", "MAIN", "Body", "Draft", "body_of", "broadcast"]

MAIN = "main"
"""The name of a temporary array that may become the result: it has its shape."""

_WIDE = 4
"""Columns from which on kernels of single channels are written out, if windows leave some out and
rows of the result fill vectors."""

_VECTOR = 16
"""Elements in single precision that the widest vectors hold."""

_LARGEST_WINDOW = 8
"""Rows and columns of windows that are written out element by element."""


@dataclass
class Draft:
    """The parameters of a nest that is being written, and which views they are."""

    views: list[View] = field(default_factory=list)
    arrays: list[Array] = field(default_factory=list)

    def read(self, view: View, at: Sequence[Subscript]) -> Access:
        """Return an element of a view; subscripts that are accesses ask for a plain one."""
        keys = [(one.source, one.start, one.extents) for one in self.views]
        key = (view.source, view.start, view.extents)
        place = keys.index(key) if key in keys else len(keys)
        if place == len(keys):
            self.views.append(view)
            self.arrays.append(Array(f"p{place}", view.extents, view.dtype))
        affine = [one for one in at if isinstance(one, Affine)]
        if len(affine) < len(at):
            assert view.is_plain
            return Access(f"p{place}", tuple(at))
        return Access(f"p{place}", view.subscripts(affine))


@dataclass(frozen=True, slots=True)
class Body:
    """Statements, and an element of the result.

    ``at`` are the indices of the result in the order of its memory, ``logical`` where an element is
    for every axis of the result.
    """

    extents: dict[str, int]
    statements: tuple[Statement, ...]
    temporaries: tuple[Array, ...]
    value: Expression
    at: tuple[str, ...]
    logical: tuple[Affine, ...]


def broadcast(shape: tuple[int, ...], logical: Sequence[Affine]) -> tuple[Affine, ...]:
    """Return where the element for a place of a result lies in an array that is broadcast to it."""
    last = logical[len(logical) - len(shape) :]
    return tuple(
        constant(0) if extent == 1 else one for extent, one in zip(shape, last, strict=True)
    )


def body_of(operation: Operation | None, draft: Draft, shape: tuple[int, ...]) -> Body:
    """Return the statements of an operator; without one, the indices of a shape."""
    if operation is not None:
        return HEADS[operation.head.rstrip("0123456789")](operation, draft)
    at, extents = _indices("o", shape)
    return Body(extents, (), (), Apply("0"), at, tuple(map(index, at)))


def _indices(letter: str, shape: Sequence[int]) -> tuple[tuple[str, ...], dict[str, int]]:
    names = tuple(f"{letter}{place}" for place in range(len(shape)))
    return names, dict(zip(names, shape, strict=True))


def _reduced(
    operation: Operation,
    at: tuple[str, ...],
    extents: dict[str, int],
    operator: str,
    value: Expression,
    logical: tuple[Affine, ...] | None = None,
) -> Body:
    """Return the body of one reduction into the result."""
    shape = tuple(extents[name] for name in at)
    places = tuple(map(index, at))
    return Body(
        extents,
        (Statement(MAIN, at, operator, value),),
        (Array(MAIN, shape, operation.result.dtype),),
        Access(MAIN, places),
        at,
        places if logical is None else logical,
    )


def _matmul(operation: Operation, draft: Draft) -> Body:
    x, y = operation.operands
    at, extents = _indices("o", operation.result.shape)
    extents["k"] = x.shape[-1]
    *batch, row, column = map(index, at)
    inner = index("k")
    left = draft.read(x, (*batch, row, inner))
    right = draft.read(y, (*(batch if len(y.shape) > 2 else ()), inner, column))
    return _reduced(operation, at, extents, "+=!", Apply("{0} * {1}", (left, right)))


def _conv(operation: Operation, draft: Draft) -> Body:
    stride = [int(one) for one in operation.literals]
    x, w = operation.operands
    count, filters, height, width = operation.result.shape
    inner = w.shape[1]
    groups = x.shape[1] // inner
    each = filters // groups
    extents = {"n": count, "g": groups, "f": each, "h": height, "w": width}
    at = tuple(extents)
    extents |= {"c": inner, "y": w.shape[2], "x": w.shape[3]}
    n, g, f, h, v, c, down, across = (index(name) for name in extents)
    channel, filter_ = g * inner + c, g * each + f
    left = draft.read(x, (n, channel, h * stride[0] + down, v * stride[1] + across))
    right = draft.read(w, (filter_, c, down, across))
    value: Expression = Apply("{0} * {1}", (left, right))
    if inner == 1 and stride[1] > 1 and w.shape[3] >= _WIDE and width >= _VECTOR:
        del extents["x"]
        terms = [
            (
                draft.read(x, (n, channel, h * stride[0] + down, v * stride[1] + place)),
                draft.read(w, (filter_, c, down, constant(place))),
            )
            for place in range(w.shape[3])
        ]
        value = _joined("({0} + {1})", [Apply("{0} * {1}", term) for term in terms])
    return _reduced(operation, at, extents, "+=!", value, (n, filter_, h, v))


def _matmul_row(operation: Operation, draft: Draft) -> Body:
    """Return a product of a single row with a matrix in blocks of columns."""
    x, y = operation.operands
    ones, extents = _indices("o", x.shape[:-1])
    extents |= {"a": y.shape[0], "b": y.shape[2]}
    at = tuple(extents)
    extents["k"] = y.shape[1]
    a, b, inner = index("a"), index("b"), index("k")
    row = tuple(map(index, ones))
    left, right = draft.read(x, (*row, inner)), draft.read(y, (a, inner, b))
    logical = (*row, a * y.shape[2] + b)
    return _reduced(operation, at, extents, "+=!", Apply("{0} * {1}", (left, right)), logical)


def _windows(operation: Operation, draft: Draft) -> Body:
    """Return the windows of an image below each other, as the columns of a matrix."""
    height, width, *stride = (int(one) for one in operation.literals)
    (x,) = operation.operands
    count, channels = x.shape[:2]
    rows, columns = operation.result.shape[2:]
    extents = {"n": count, "c": channels, "y": height, "x": width, "h": rows, "w": columns}
    n, c, down, across, h, w = (index(name) for name in extents)
    value = draft.read(x, (n, c, h * stride[0] + down, w * stride[1] + across))
    logical = (n, c * (height * width) + down * width + across, h, w)
    return Body(extents, (), (), value, tuple(extents), logical)


def _pool(operation: Operation, draft: Draft) -> Body:
    """Return what comes of windows: of their columns first, then of rows of such.

    So a window of 3 by 3 takes 4 operations instead of 8, and the first ones run along rows.
    """
    rows, columns, *stride = (int(one) for one in operation.literals)
    (image, *shares), dtype = operation.operands, operation.result.dtype
    at, extents = _indices("o", operation.result.shape)
    n, c, h, w = map(index, at)
    join = "max({0}, {1})" if operation.head == "poolmax" else "({0} + {1})"
    body: Body
    is_one = prod(operation.result.shape[2:]) == 1
    if is_one or max(rows, columns) > _LARGEST_WINDOW:
        operator = "max=!" if operation.head == "poolmax" else "+=!"
        extents |= {"y": rows, "x": columns}
        place = (n, c, h * stride[0] + index("y"), w * stride[1] + index("x"))
        body = _reduced(operation, at, extents, operator, draft.read(image, place))
    else:
        extents["all"] = image.shape[3]
        column = _joined(
            join, [draft.read(image, (n, c, h * stride[0] + y, index("all"))) for y in range(rows)]
        )
        between = (*at[:3], "all")
        value = _joined(
            join, [Access("columns", (n, c, h, w * stride[1] + x)) for x in range(columns)]
        )
        body = Body(
            extents,
            (Statement("columns", between, "=", column),),
            (Array("columns", tuple(extents[one] for one in between), dtype),),
            value,
            at,
            (n, c, h, w),
        )
    if operation.head == "poolmax":
        return body
    share: Expression = Apply(number(1 / (rows * columns), dtype))
    if shares:
        share = draft.read(shares[0], (h, w))
    return replace(body, value=Apply("{0} * {1}", (body.value, share)))


def _joined(text: str, parts: Sequence[Expression]) -> Expression:
    """Return one of many, two by two.

    >>> _joined("({0} + {1})", [Apply("a")]).text
    'a'
    """
    found = parts[0]
    for one in parts[1:]:
        found = Apply(text, (found, one))
    return found


def _reduction(operation: Operation, draft: Draft) -> Body:
    axes, keep = operation.literals
    along = numbers_in(axes) if isinstance(axes, str) else (int(axes),)
    (x,) = operation.operands
    at, extents = _indices("o", operation.result.shape)
    places: list[Affine] = []
    names = iter(at)
    for axis, extent in enumerate(x.shape):
        if axis not in along:
            places.append(index(next(names)))
            continue
        if keep:
            next(names)
        extents[f"r{axis}"] = extent
        places.append(index(f"r{axis}"))
    if operation.head == "reduce-max":
        statements, temporaries = _largest(x, draft, at, extents, places, MAIN)
        out = tuple(map(index, at))
        return Body(extents, statements, temporaries, Access(MAIN, out), at, out)
    body = _reduced(operation, at, extents, "+=!", draft.read(x, places))
    if operation.head != "reduce-mean":
        return body
    count = number(prod(x.shape[axis] for axis in along), operation.result.dtype)
    return replace(body, value=Apply(f"{{0}} / {count}", (body.value,)))


def _largest(
    x: View,
    draft: Draft,
    at: tuple[str, ...],
    extents: dict[str, int],
    places: Sequence[Affine],
    name: str,
) -> tuple[tuple[Statement, ...], tuple[Array, ...]]:
    """Return statements that find the largest along indices that are not in ``at``.

    A long row is looked at in pieces as wide as a vector; the last one may overlap the one before.
    """
    shape = tuple(extents[one] for one in at)
    found, out = Array(name, shape, x.dtype), tuple(map(index, at))
    row, last = tuple(places[:-1]), places[-1].plain
    length = x.shape[-1] if x.shape else 1
    if last is None or last in at or length < 2 * _VECTOR:
        return (Statement(name, at, "max=!", draft.read(x, places)),), (found,)
    extents |= {"piece": length // _VECTOR, "lane": _VECTOR}
    piece, lane, beside = index("piece"), index("lane"), (*at, "lane")
    statements = [
        Statement("lanes", beside, "max=!", draft.read(x, (*row, piece * _VECTOR + lane)))
    ]
    if length % _VECTOR:
        element = draft.read(x, (*row, lane + (length - _VECTOR)))
        statements.append(Statement("lanes", beside, "max=", element))
    statements.append(Statement(name, at, "max=!", Access("lanes", (*out, lane))))
    return tuple(statements), (Array("lanes", (*shape, _VECTOR), x.dtype), found)


def _softmax(operation: Operation, draft: Draft) -> Body:
    axis = int(operation.literals[0])
    (x,) = operation.operands
    at, extents = _indices("o", x.shape)
    rows = tuple(name for place, name in enumerate(at) if place != axis)
    places, row = tuple(map(index, at)), tuple(map(index, rows))
    shape, dtype = tuple(extents[name] for name in rows), x.dtype
    element = draft.read(x, places)
    share = Apply("exp({0} - {1})", (element, Access("top", row)))
    first, lanes = _largest(x, draft, rows, extents, places, "top")
    statements = (
        *first,
        Statement(MAIN, at, "=", share),
        Statement("sum", rows, "+=!", Access(MAIN, places)),
    )
    temporaries = (
        *lanes,
        Array(MAIN, x.shape, dtype),
        Array("sum", shape, dtype),
    )
    value = Apply("{0} / {1}", (Access(MAIN, places), Access("sum", row)))
    return Body(extents, statements, temporaries, value, at, places)


def _layer_norm(operation: Operation, draft: Draft) -> Body:
    x, scale, bias = operation.operands
    dtype, length = x.dtype, number(x.shape[-1], x.dtype)
    epsilon = number(float(operation.literals[0]), dtype)
    at, extents = _indices("o", x.shape)
    rows, last = at[:-1], index(at[-1])
    places, row = tuple(map(index, at)), tuple(map(index, rows))
    element = draft.read(x, places)
    centred = Apply("({0} - {1})", (element, Access("mean", row)))
    statements = (
        Statement("sum", rows, "+=!", element),
        Statement("mean", rows, "=", Apply(f"{{0}} / {length}", (Access("sum", row),))),
        Statement("squares", rows, "+=!", Apply("{0} * {0}", (centred,))),
        Statement(
            "factor",
            rows,
            "=",
            Apply(
                f"{number(1, dtype)} / sqrt({{0}} / {length} + {epsilon})",
                (Access("squares", row),),
            ),
        ),
    )
    shape = x.shape[:-1]
    temporaries = tuple(Array(name, shape, dtype) for name in ("sum", "mean", "squares", "factor"))
    value = Apply(
        "{0} * {1} * {2} + {3}",
        (centred, Access("factor", row), draft.read(scale, (last,)), draft.read(bias, (last,))),
    )
    return Body(extents, statements, temporaries, value, at, places)


def _gather(operation: Operation, draft: Draft) -> Body:
    axis = int(operation.literals[0])
    table, chosen = operation.operands
    at, extents = _indices("o", operation.result.shape)
    places = tuple(map(index, at))
    rank = len(chosen.shape)
    row = draft.read(chosen, places[axis : axis + rank])
    value = draft.read(table, (*places[:axis], row, *places[axis + rank :]))
    return Body(extents, (), (), value, at, places)


def _pad(operation: Operation, draft: Draft) -> Body:
    value, word = operation.literals
    pads = numbers_in(word) if isinstance(word, str) else (int(word),)
    (x,) = operation.operands
    at, extents = _indices("o", operation.result.shape)
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
    "matmul": _matmul,
    "matmul-row": _matmul_row,
    "windows": _windows,
    "conv": _conv,
    "poolmax": _pool,
    "poolavg": _pool,
    "reduce-sum": _reduction,
    "reduce-mean": _reduction,
    "reduce-max": _reduction,
    "softmax": _softmax,
    "layer-norm": _layer_norm,
    "gather": _gather,
    "pad": _pad,
    "merge": _merge,
}
"""The operators that do more than a function of elements."""
