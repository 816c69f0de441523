"""Sums, means and largest elements along axes, and what is made by them, as bodies."""

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from polygym.graphs.execution.ir.nests import (
    AffineIndex,
    ArrayAccess,
    NestArray,
    NestStatement,
    TextTemplate,
    index_named,
)
from polygym.graphs.execution.ir.operations import ArrayOperation
from polygym.graphs.execution.ir.views import ArrayView
from polygym.graphs.execution.operators.bodies import (
    MAIN_STATEMENT,
    VECTOR_LENGTH,
    NestBuilder,
    OperatorBody,
    index_names,
    reduction_body,
)
from polygym.graphs.operators.element_text import literal_text
from polygym.graphs.operators.types import parse_numbers


def reduce_body(operation: ArrayOperation, draft: NestBuilder) -> OperatorBody:
    """Return a sum, a mean or the largest along axes."""
    axes, keep = operation.literals
    along = parse_numbers(axes) if isinstance(axes, str) else (int(axes),)
    (x,) = operation.operands
    at, extents = index_names("o", operation.result.shape)
    places: list[AffineIndex] = []
    names = iter(at)
    for axis, extent in enumerate(x.shape):
        if axis not in along:
            places.append(index_named(next(names)))
            continue
        if keep:
            next(names)
        extents[f"r{axis}"] = extent
        places.append(index_named(f"r{axis}"))
    if operation.head == "reduce-max":
        statements, temporaries = _row_maximum(x, draft, at, extents, places, MAIN_STATEMENT)
        out = tuple(map(index_named, at))
        return OperatorBody(
            extents, statements, temporaries, ArrayAccess(MAIN_STATEMENT, out), at, out
        )
    body = reduction_body(operation, at, extents, "+=!", draft.read(x, places))
    if operation.head != "reduce-mean":
        return body
    count = literal_text(prod(x.shape[axis] for axis in along), operation.result.dtype)
    return replace(body, result=TextTemplate(f"{{0}} / {count}", (body.result,)))


def _row_maximum(
    x: ArrayView,
    draft: NestBuilder,
    at: tuple[str, ...],
    extents: dict[str, int],
    places: Sequence[AffineIndex],
    name: str,
) -> tuple[tuple[NestStatement, ...], tuple[NestArray, ...]]:
    """Return statements that find the largest along indices that are not in ``at``.

    A long row is looked at in pieces as wide as a vector; the last one may overlap the one before.
    """
    shape = tuple(extents[one] for one in at)
    nest_array, out = NestArray(name, shape, x.dtype), tuple(map(index_named, at))
    row, last = tuple(places[:-1]), places[-1].single_index
    length = x.shape[-1] if x.shape else 1
    if last is None or last in at or length < 2 * VECTOR_LENGTH:
        return (NestStatement(name, at, "max=!", draft.read(x, places)),), (nest_array,)
    extents |= {"piece": length // VECTOR_LENGTH, "lane": VECTOR_LENGTH}
    piece, lane, beside = index_named("piece"), index_named("lane"), (*at, "lane")
    statements = [
        NestStatement("lanes", beside, "max=!", draft.read(x, (*row, piece * VECTOR_LENGTH + lane)))
    ]
    if length % VECTOR_LENGTH:
        element = draft.read(x, (*row, lane + (length - VECTOR_LENGTH)))
        statements.append(NestStatement("lanes", beside, "max=", element))
    statements.append(NestStatement(name, at, "max=!", ArrayAccess("lanes", (*out, lane))))
    return tuple(statements), (NestArray("lanes", (*shape, VECTOR_LENGTH), x.dtype), nest_array)


def softmax_body(operation: ArrayOperation, draft: NestBuilder) -> OperatorBody:
    """Return shares along an axis; the largest is subtracted first, so that nothing overflows."""
    axis = int(operation.literals[0])
    (x,) = operation.operands
    at, extents = index_names("o", x.shape)
    rows = tuple(name for place, name in enumerate(at) if place != axis)
    places, row = tuple(map(index_named, at)), tuple(map(index_named, rows))
    shape, dtype = tuple(extents[name] for name in rows), x.dtype
    element = draft.read(x, places)
    share = TextTemplate("exp({0} - {1})", (element, ArrayAccess("top", row)))
    first, lanes = _row_maximum(x, draft, rows, extents, places, "top")
    statements = (
        *first,
        NestStatement(MAIN_STATEMENT, at, "=", share),
        NestStatement("sum", rows, "+=!", ArrayAccess(MAIN_STATEMENT, places)),
    )
    temporaries = (
        *lanes,
        NestArray(MAIN_STATEMENT, x.shape, dtype),
        NestArray("sum", shape, dtype),
    )
    value = TextTemplate(
        "{0} / {1}", (ArrayAccess(MAIN_STATEMENT, places), ArrayAccess("sum", row))
    )
    return OperatorBody(extents, statements, temporaries, value, at, places)


def layer_norm_body(operation: ArrayOperation, draft: NestBuilder) -> OperatorBody:
    """Return rows with mean 0 and variance 1, scaled and moved; two passes, for accuracy's sake."""
    x, scale, bias = operation.operands
    dtype, length = x.dtype, literal_text(x.shape[-1], x.dtype)
    epsilon = literal_text(float(operation.literals[0]), dtype)
    at, extents = index_names("o", x.shape)
    rows, last = at[:-1], index_named(at[-1])
    places, row = tuple(map(index_named, at)), tuple(map(index_named, rows))
    element = draft.read(x, places)
    centred = TextTemplate("({0} - {1})", (element, ArrayAccess("mean", row)))
    statements = (
        NestStatement("sum", rows, "+=!", element),
        NestStatement(
            "mean", rows, "=", TextTemplate(f"{{0}} / {length}", (ArrayAccess("sum", row),))
        ),
        NestStatement("squares", rows, "+=!", TextTemplate("{0} * {0}", (centred,))),
        NestStatement(
            "factor",
            rows,
            "=",
            TextTemplate(
                f"{literal_text(1, dtype)} / sqrt({{0}} / {length} + {epsilon})",
                (ArrayAccess("squares", row),),
            ),
        ),
    )
    shape = x.shape[:-1]
    temporaries = tuple(
        NestArray(name, shape, dtype) for name in ("sum", "mean", "squares", "factor")
    )
    value = TextTemplate(
        "{0} * {1} * {2} + {3}",
        (
            centred,
            ArrayAccess("factor", row),
            draft.read(scale, (last,)),
            draft.read(bias, (last,)),
        ),
    )
    return OperatorBody(extents, statements, temporaries, value, at, places)
