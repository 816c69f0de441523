"""Sums, means and largest elements along axes, and what is made by them, as bodies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from polygym.graphs.ir.types import numbers_in
from polygym.graphs.running.bodies import MAIN, VECTOR, Body, Draft, indices, reduced
from polygym.graphs.running.functions import number
from polygym.graphs.running.nests import Access, Affine, Apply, Array, Statement, index
from polygym.graphs.running.operations import Operation
from polygym.graphs.running.views import View

__all__ = ["layer_norm", "reduction", "softmax"]


def reduction(operation: Operation, draft: Draft) -> Body:
    """Return a sum, a mean or the largest along axes."""
    axes, keep = operation.literals
    along = numbers_in(axes) if isinstance(axes, str) else (int(axes),)
    (x,) = operation.operands
    at, extents = indices("o", operation.result.shape)
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
    body = reduced(operation, at, extents, "+=!", draft.read(x, places))
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
    if last is None or last in at or length < 2 * VECTOR:
        return (Statement(name, at, "max=!", draft.read(x, places)),), (found,)
    extents |= {"piece": length // VECTOR, "lane": VECTOR}
    piece, lane, beside = index("piece"), index("lane"), (*at, "lane")
    statements = [Statement("lanes", beside, "max=!", draft.read(x, (*row, piece * VECTOR + lane)))]
    if length % VECTOR:
        element = draft.read(x, (*row, lane + (length - VECTOR)))
        statements.append(Statement("lanes", beside, "max=", element))
    statements.append(Statement(name, at, "max=!", Access("lanes", (*out, lane))))
    return tuple(statements), (Array("lanes", (*shape, VECTOR), x.dtype), found)


def softmax(operation: Operation, draft: Draft) -> Body:
    """Return shares along an axis; the largest is subtracted first, so that nothing overflows."""
    axis = int(operation.literals[0])
    (x,) = operation.operands
    at, extents = indices("o", x.shape)
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


def layer_norm(operation: Operation, draft: Draft) -> Body:
    """Return rows with mean 0 and variance 1, scaled and moved; two passes, for accuracy's sake."""
    x, scale, bias = operation.operands
    dtype, length = x.dtype, number(x.shape[-1], x.dtype)
    epsilon = number(float(operation.literals[0]), dtype)
    at, extents = indices("o", x.shape)
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
