"""Values of terms in C: expressions, arrays, and tuples of them.

A vector of tuples is a tuple of arrays: ``(Vec n (Tuple Float (Vec m Float)))`` is ``double a[n]``
and ``double b[n][m]``. So every value is a tree of tuples with arrays and scalars as its leaves, an
element of a vector is the tree of the leaves' elements, and the size of a vector is that of any
leaf. All sizes are numbers: code is made for the sizes of its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from polygym.ir.types import ScalarType
from polygym.rewrite.term import Term
from polygym.terms.language.types import (
    BOOL,
    FLOAT,
    INTEGER,
    BaseType,
    TupleType,
    Type,
    VectorSize,
    VectorType,
)

C_TYPES = {
    FLOAT: ScalarType.DOUBLE,
    INTEGER: ScalarType.LONG,
    BOOL: ScalarType.BOOL,
}
"""The types of C that numbers and truth values have."""


@dataclass(frozen=True, slots=True)
class CScalar:
    """A number or truth value: the text of a C expression without effects.

    ``known_value`` is its value where that does not depend on data or counters. ``is_affine`` says
    that it depends on counters alone, in a way that isl can follow; ``weight`` is how many
    operators and names it has, ``depth`` how deep they are.
    """

    text: str
    kind: BaseType
    known_value: int | bool | None = None
    is_affine: bool = False
    weight: int = 1
    depth: int = 1

    @property
    def is_simple(self) -> bool:
        """Whether repeating the text repeats no work."""
        return self.weight == 1


@dataclass(frozen=True, slots=True)
class CArray:
    """A C array, or the part of one at some subscripts; ``extents`` are the sizes that are left."""

    name: str
    subscripts: tuple[str, ...]
    extents: tuple[int, ...]
    kind: BaseType

    @property
    def text(self) -> str:
        """The element, or what begins there."""
        return self.name + "".join(f"[{subscript}]" for subscript in self.subscripts)

    def at(self, subscript: str) -> CArray:
        """Return an element of a vector."""
        return CArray(self.name, (*self.subscripts, subscript), self.extents[1:], self.kind)

    def inside(self, subscripts: Sequence[str]) -> CArray:
        """Return an element of an element, and so on."""
        count = len(subscripts)
        return CArray(self.name, (*self.subscripts, *subscripts), self.extents[count:], self.kind)


ValueScope: TypeAlias = "tuple[Any, Any] | None"
"""The values of the binders around a term, the innermost first, as nested pairs."""


def look_up(scope: ValueScope, index: int) -> Any:
    """Return the value of the binder ``index`` steps out."""
    for _ in range(index):
        assert scope is not None
        scope = scope[1]
    assert scope is not None
    return scope[0]


@dataclass(frozen=True, slots=True, eq=False)
class CClosure:
    """A function: the body, and what its binders are where it stands."""

    body: Term
    scope: ValueScope = field(repr=False)


CData: TypeAlias = "CScalar | CArray | tuple[Any, ...]"
CValue: TypeAlias = "CScalar | CArray | tuple[Any, ...] | CClosure"


def leaves(value: CValue) -> Iterator[CArray | CScalar]:
    """Yield the arrays and scalars of a value, from the left."""
    if isinstance(value, tuple):
        for one in value:
            yield from leaves(one)
    elif not isinstance(value, CClosure):
        yield value


def map_leaves(change: Callable[..., Any], *values: Any) -> Any:
    """Return the tree of what a function makes of the leaves of trees of one shape."""
    if isinstance(values[0], tuple):
        return tuple(map_leaves(change, *parts) for parts in zip(*values, strict=True))
    return change(*values)


def element(value: Any, subscript: str) -> Any:
    """Return an element of a vector."""
    return map_leaves(lambda one: one.at(subscript), value)


def extent(value: Any) -> int:
    """Return the size of a vector."""
    result: Any = next(leaves(value))
    return int(result.extents[0])


def literal(value: float | bool) -> CScalar:
    """Return a constant.

    >>> literal(-2).text, literal(0.1).text, literal(float("-inf")).text
    ('(-2)', '0.1', '(-1.0 / 0.0)')
    """
    if isinstance(value, bool):
        return CScalar(str(int(value)), BOOL, known_value=value, is_affine=True)
    if isinstance(value, int):
        return CScalar(_whole(value), INTEGER, known_value=value, is_affine=True)
    text = repr(value)
    if value != value:
        text = "(0.0 / 0.0)"
    elif value in (float("inf"), float("-inf")):
        text = f"({'-' if value < 0 else ''}1.0 / 0.0)"
    elif text.startswith("-"):
        text = f"({text})"
    return CScalar(text, FLOAT)


def _whole(value: int) -> str:
    if value == -(2**63):  # which C has no literal for
        return f"(-{2**63 - 1} - 1)"
    return str(value) if value >= 0 else f"({value})"


def sizes_of(kind: Type) -> list[VectorSize]:
    """Return the sizes of all vectors in a type, in the order that :func:`value_outline` wants."""
    match kind:
        case VectorType(inner, size):
            return [size, *sizes_of(inner)]
        case TupleType(parts):
            return [size for part in parts for size in sizes_of(part)]
        case _:
            return []


def value_outline(kind: Type, sizes: Sequence[int], name: str = "") -> Any:
    """Return a value of a type whose vectors have the given sizes, in the order of the type."""
    left = list(sizes)

    def made(one: Type, extents: tuple[int, ...]) -> Any:
        match one:
            case VectorType(inner):
                return made(inner, (*extents, left.pop(0)))
            case TupleType(parts):
                return tuple(made(part, extents) for part in parts)
            case BaseType():
                return CArray(name, (), extents, one)
            case _:
                raise AssertionError("functions are no data")

    return made(kind, ())
