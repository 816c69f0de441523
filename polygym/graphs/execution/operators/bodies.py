"""Bodies: what an operator computes, as statements of a nest.

A body says in which statements a result comes about, and how an element of it is read from them, so
that element-wise functions can follow in the same nest. A draft has the parameters meanwhile.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

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
from polygym.graphs.execution.ir.operations import ArrayOperation
from polygym.graphs.execution.ir.views import ArrayView

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
            self.views.append(view)
            self.arrays.append(NestArray(f"p{place}", view.extents, view.dtype))
        affine = [subscript for subscript in at if isinstance(subscript, AffineIndex)]
        if len(affine) < len(at):
            assert view.is_whole_array
            return ArrayAccess(f"p{place}", tuple(at))
        return ArrayAccess(f"p{place}", view.subscripts(affine))


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
