"""Windows of images as bodies: pools, and all windows as the columns of a matrix."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from polygym.graphs.running.bodies import Body, Draft, indices, joined, reduced
from polygym.graphs.running.functions import number
from polygym.graphs.running.nests import Access, Apply, Array, Expression, Statement, index
from polygym.graphs.running.operations import Operation

__all__ = ["pool", "windows"]

_LARGEST_WINDOW = 8
"""Rows and columns of windows that are written out element by element."""


def windows(operation: Operation, draft: Draft) -> Body:
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


def pool(operation: Operation, draft: Draft) -> Body:
    """Return what comes of windows: of their columns first, then of rows of such.

    So a window of 3 by 3 takes 4 operations instead of 8, and the first ones run along rows.
    """
    rows, columns, *stride = (int(one) for one in operation.literals)
    (image, *shares), dtype = operation.operands, operation.result.dtype
    at, extents = indices("o", operation.result.shape)
    n, c, h, w = map(index, at)
    join = "max({0}, {1})" if operation.head == "poolmax" else "({0} + {1})"
    body: Body
    is_one = prod(operation.result.shape[2:]) == 1
    if is_one or max(rows, columns) > _LARGEST_WINDOW:
        operator = "max=!" if operation.head == "poolmax" else "+=!"
        extents |= {"y": rows, "x": columns}
        place = (n, c, h * stride[0] + index("y"), w * stride[1] + index("x"))
        body = reduced(operation, at, extents, operator, draft.read(image, place))
    else:
        extents["all"] = image.shape[3]
        column = joined(
            join, [draft.read(image, (n, c, h * stride[0] + y, index("all"))) for y in range(rows)]
        )
        between = (*at[:3], "all")
        value = joined(
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
