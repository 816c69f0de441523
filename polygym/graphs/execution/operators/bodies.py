"""Bodies: what an operator computes, as statements of a nest.

A body says in which statements a result comes about, and how an element of it is read from them, so
that element-wise functions can follow in the same nest. A draft has the parameters meanwhile.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod

from polygym.graphs.execution.ir.nests import (
    AffineIndex,
    ArrayAccess,
    Expression,
    NestArray,
    NestStatement,
    Subscript,
    TextTemplate,
    constant_index,
    index_named,
)
from polygym.graphs.execution.ir.views import ArrayOperation, ArrayView
from polygym.graphs.operators.definition import literal_numbers, literal_text

MAIN_STATEMENT = "main"
"""The name of a temporary array that may become the result: it has its shape."""

VECTOR_LENGTH = 16
"""Elements in single precision that the widest vectors hold."""


@dataclass
class NestBuilder:
    """The parameters of a nest that is being written, and which views they are."""

    views: list[ArrayView] = field(default_factory=list)
    arrays: list[NestArray] = field(default_factory=list)

    def read(self, view: ArrayView, at: Sequence[Subscript]) -> ArrayAccess:
        """Return an element of a view; subscripts that are accesses ask for a plain one."""
        keys = [
            (array_view.source, array_view.start, array_view.extents) for array_view in self.views
        ]
        key = (view.source, view.start, view.extents)
        place = keys.index(key) if key in keys else len(keys)
        if place == len(keys):
            self.parameter(view, view.extents)
        affine = [subscript for subscript in at if isinstance(subscript, AffineIndex)]
        if len(affine) < len(at):
            assert view.is_whole_array
            return ArrayAccess(f"p{place}", tuple(at))
        return ArrayAccess(f"p{place}", view.subscripts(affine))

    def parameter(self, view: ArrayView, shape: tuple[int, ...]) -> str:
        """Add a parameter, and return its name."""
        name = f"p{len(self.views)}"
        self.views.append(view)
        self.arrays.append(NestArray(name, shape, view.dtype))
        return name


@dataclass(frozen=True, slots=True)
class OperatorBody:
    """Statements, and an element of the result.

    ``at`` are the indices of the result in the order of its memory, ``logical`` where an element is
    for every axis of the result. ``in_place`` says that what follows is best written over the sums.
    """

    extents: dict[str, int]
    statements: tuple[NestStatement, ...]
    temporaries: tuple[NestArray, ...]
    result: Expression
    indices: tuple[str, ...]
    logical: tuple[AffineIndex, ...]
    in_place: bool = True


def broadcast_indices(
    shape: tuple[int, ...], logical: Sequence[AffineIndex]
) -> tuple[AffineIndex, ...]:
    """Return where the element for a place of a result lies in an array that is broadcast to it."""
    last = logical[len(logical) - len(shape) :]
    return tuple(
        constant_index(0) if extent == 1 else index
        for extent, index in zip(shape, last, strict=True)
    )


def index_names(letter: str, shape: Sequence[int]) -> tuple[tuple[str, ...], dict[str, int]]:
    """Return names of indices for a shape, and their extents."""
    names = tuple(f"{letter}{place}" for place in range(len(shape)))
    return names, dict(zip(names, shape, strict=True))


def reduction_body(
    operation: ArrayOperation,
    indices_: tuple[str, ...],
    extents: dict[str, int],
    operator: str,
    value: Expression,
    logical: tuple[AffineIndex, ...] | None = None,
) -> OperatorBody:
    """Return the body of one reduction into the result."""
    shape = tuple(extents[name] for name in indices_)
    places = tuple(map(index_named, indices_))
    return OperatorBody(
        extents,
        (NestStatement(MAIN_STATEMENT, indices_, operator, value),),
        (NestArray(MAIN_STATEMENT, shape, operation.result.dtype),),
        ArrayAccess(MAIN_STATEMENT, places),
        indices_,
        places if logical is None else logical,
    )


def combine_pairwise(text: str, parts: Sequence[Expression]) -> Expression:
    """Return one of many, two by two.

    >>> combine_pairwise("({0} + {1})", [TextTemplate("a")]).text
    'a'
    """
    expression = parts[0]
    for part in parts[1:]:
        expression = TextTemplate(text, (expression, part))
    return expression


def reduce_body(operation: ArrayOperation, draft: NestBuilder) -> OperatorBody:
    """Return a sum, a mean, a product or the largest along axes."""
    axes, keep = operation.literals
    along = literal_numbers(axes)
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
    join = "*=!" if operation.head == "reduce-prod" else "+=!"
    body = reduction_body(operation, at, extents, join, draft.read(x, places))
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
    shape = tuple(extents[index] for index in at)
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
