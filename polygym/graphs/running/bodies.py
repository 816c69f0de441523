"""Bodies: what an operator computes, as statements of a nest.

A body says in which statements a result comes about, and how an element of it is read from them, so
that element-wise functions can follow in the same nest. A draft has the parameters meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from polygym.graphs.running.nests import (
    Access,
    Affine,
    Apply,
    Array,
    Expression,
    Statement,
    Subscript,
    constant,
    index,
)
from polygym.graphs.running.operations import Operation
from polygym.graphs.running.views import View

__all__ = ["MAIN", "VECTOR", "Body", "Draft", "broadcast", "indices", "joined", "reduced"]

MAIN = "main"
"""The name of a temporary array that may become the result: it has its shape."""

VECTOR = 16
"""Elements in single precision that the widest vectors hold."""


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
    for every axis of the result. ``in_place`` says that what follows is best written over the sums.
    """

    extents: dict[str, int]
    statements: tuple[Statement, ...]
    temporaries: tuple[Array, ...]
    value: Expression
    at: tuple[str, ...]
    logical: tuple[Affine, ...]
    in_place: bool = True


def broadcast(shape: tuple[int, ...], logical: Sequence[Affine]) -> tuple[Affine, ...]:
    """Return where the element for a place of a result lies in an array that is broadcast to it."""
    last = logical[len(logical) - len(shape) :]
    return tuple(
        constant(0) if extent == 1 else one for extent, one in zip(shape, last, strict=True)
    )


def indices(letter: str, shape: Sequence[int]) -> tuple[tuple[str, ...], dict[str, int]]:
    """Return names of indices for a shape, and their extents."""
    names = tuple(f"{letter}{place}" for place in range(len(shape)))
    return names, dict(zip(names, shape, strict=True))


def reduced(
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


def joined(text: str, parts: Sequence[Expression]) -> Expression:
    """Return one of many, two by two.

    >>> joined("({0} + {1})", [Apply("a")]).text
    'a'
    """
    found = parts[0]
    for one in parts[1:]:
        found = Apply(text, (found, one))
    return found
