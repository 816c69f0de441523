"""What a term's value is in C: expressions, arrays, and tuples of them.

A vector of tuples is a tuple of arrays: ``(Vec n (Tuple Float (Vec m Float)))`` is ``double a[n]``
and ``double b[n][m]``. So every value is a tree of tuples with arrays and scalars as its leaves, an
element of a vector is the tree of the leaves' elements, and the size of a vector is that of any
leaf. All sizes are numbers: code is made for the sizes of its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from polygym.compiler.ir.types import ScalarType
from polygym.rewrite.term import Term
from polygym.terms.language.types import BOOL, FLOAT, INTEGER, Base, Pair, Size, Type, Vector

__all__ = [
    "C_TYPES",
    "Array",
    "Closure",
    "Data",
    "Scalar",
    "Scope",
    "Value",
    "element",
    "extent",
    "leaves",
    "literal",
    "mapped",
    "outline",
    "sizes_of",
]

C_TYPES = {
    FLOAT: ScalarType.DOUBLE,
    INTEGER: ScalarType.LONG,
    BOOL: ScalarType.BOOL,
}
"""The types of C that numbers and truth values have."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number or truth value: the text of a C expression without effects.

    ``known`` is its value where that does not depend on data or counters. ``is_fixed`` says that it
    depends on counters alone, in a way that isl can follow; ``weight`` is how many operators and
    names it has, ``depth`` how deep they are.
    """

    text: str
    kind: Base
    known: int | bool | None = None
    is_fixed: bool = False
    weight: int = 1
    depth: int = 1

    @property
    def is_simple(self) -> bool:
        """Whether repeating the text repeats no work."""
        return self.weight == 1


@dataclass(frozen=True, slots=True)
class Array:
    """A C array, or the part of one at some subscripts; ``extents`` are the sizes that are left."""

    name: str
    subscripts: tuple[str, ...]
    extents: tuple[int, ...]
    kind: Base

    @property
    def text(self) -> str:
        """The element, or what begins there."""
        return self.name + "".join(f"[{one}]" for one in self.subscripts)

    def at(self, subscript: str) -> Array:
        """Return an element of a vector."""
        return Array(self.name, (*self.subscripts, subscript), self.extents[1:], self.kind)

    def inside(self, subscripts: Sequence[str]) -> Array:
        """Return an element of an element, and so on."""
        count = len(subscripts)
        return Array(self.name, (*self.subscripts, *subscripts), self.extents[count:], self.kind)


Scope: TypeAlias = "tuple[Any, Any] | None"
"""The values of the binders around a term, the innermost first, as nested pairs."""


def looked_up(scope: Scope, index: int) -> Any:
    """Return the value of the binder ``index`` steps out."""
    for _ in range(index):
        assert scope is not None
        scope = scope[1]
    assert scope is not None
    return scope[0]


@dataclass(frozen=True, slots=True, eq=False)
class Closure:
    """A function: the body, and what its binders are where it stands."""

    body: Term
    scope: Scope = field(repr=False)


Data: TypeAlias = "Scalar | Array | tuple[Any, ...]"
Value: TypeAlias = "Scalar | Array | tuple[Any, ...] | Closure"


def leaves(value: Value) -> Iterator[Array | Scalar]:
    """Yield the arrays and scalars of a value, from the left."""
    if isinstance(value, tuple):
        for one in value:
            yield from leaves(one)
    elif not isinstance(value, Closure):
        yield value


def mapped(change: Callable[..., Any], *values: Any) -> Any:
    """Return the tree of what a function makes of the leaves of trees of one shape."""
    if isinstance(values[0], tuple):
        return tuple(mapped(change, *parts) for parts in zip(*values, strict=True))
    return change(*values)


def element(value: Any, subscript: str) -> Any:
    """Return an element of a vector."""
    return mapped(lambda one: one.at(subscript), value)


def extent(value: Any) -> int:
    """Return the size of a vector."""
    found: Any = next(leaves(value))
    return int(found.extents[0])


def literal(value: float | bool) -> Scalar:
    """Return a constant.

    >>> literal(-2).text, literal(0.1).text, literal(float("-inf")).text
    ('(-2)', '0.1', '(-1.0 / 0.0)')
    """
    if isinstance(value, bool):
        return Scalar(str(int(value)), BOOL, known=value, is_fixed=True)
    if isinstance(value, int):
        return Scalar(_whole(value), INTEGER, known=value, is_fixed=True)
    text = repr(value)
    if value != value:
        text = "(0.0 / 0.0)"
    elif value in (float("inf"), float("-inf")):
        text = f"({'-' if value < 0 else ''}1.0 / 0.0)"
    elif text.startswith("-"):
        text = f"({text})"
    return Scalar(text, FLOAT)


def _whole(value: int) -> str:
    if value == -(2**63):  # which C has no literal for
        return f"(-{2**63 - 1} - 1)"
    return str(value) if value >= 0 else f"({value})"


def sizes_of(kind: Type) -> list[Size]:
    """Return the sizes of all vectors in a type, in the order that :func:`outline` wants."""
    match kind:
        case Vector(inner, size):
            return [size, *sizes_of(inner)]
        case Pair(parts):
            return [size for part in parts for size in sizes_of(part)]
        case _:
            return []


def outline(kind: Type, sizes: Sequence[int], name: str = "") -> Any:
    """Return a value of a type whose vectors have the given sizes, in the order of the type."""
    left = list(sizes)

    def made(one: Type, extents: tuple[int, ...]) -> Any:
        match one:
            case Vector(inner):
                return made(inner, (*extents, left.pop(0)))
            case Pair(parts):
                return tuple(made(part, extents) for part in parts)
            case Base():
                return Array(name, (), extents, one)
            case _:
                raise AssertionError("functions are no data")

    return made(kind, ())
