"""Values of terms in C: expressions, arrays, and tuples of them.

A vector of tuples is a tuple of arrays: ``(Vec n (Tuple Float (Vec m Float)))`` is ``double a[n]``
and ``double b[n][m]``. So every value is a tree of tuples with arrays and scalars as its leaves, an
element of a vector is the tree of the leaves' elements, and the size of a vector is that of any
leaf. Sizes are numbers where code is made for the sizes of its arguments, and linear forms of names
where these are arguments of the function (:mod:`polygym.terms.code.sizes`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from polygym.errors import InputError
from polygym.ir.types import ScalarType
from polygym.terms.code.sizes import Extent, number_of, size_text
from polygym.terms.language import types
from polygym.terms.language.program import TermProgram
from polygym.terms.language.values import Closure

C_TYPES = {
    types.FLOAT: ScalarType.DOUBLE,
    types.INTEGER: ScalarType.LONG,
    types.BOOL: ScalarType.BOOL,
}
"""The types of C that numbers and truth values have."""


@dataclass(frozen=True, slots=True)
class CScalar:
    """A number or truth value: the text of a C expression without effects.

    ``known_value`` is its value where that does not depend on data or counters. ``is_affine`` says
    that it depends on counters alone, in a way that isl can follow; ``weight`` is how many
    operators and names it has, ``depth`` how deep they are. ``form`` is an Integer as a size, if it
    can be one; ``facts`` are forms that are 0 or more if a truth value holds, and if it does not.
    With ``is_decided_by_facts`` it holds if all of the first are, or not if all of the second are,
    where there are some.
    """

    text: str
    kind: types.BaseType
    known_value: int | bool | None = None
    is_affine: bool = False
    weight: int = 1
    depth: int = 1
    form: Extent | None = None
    facts: tuple[tuple[Extent, ...], tuple[Extent, ...]] = ((), ())
    is_decided_by_facts: bool = False

    @property
    def is_simple(self) -> bool:
        """Whether repeating the text repeats no work."""
        return self.weight == 1


@dataclass(frozen=True, slots=True)
class CArray:
    """A C array, or the part of one at some subscripts; ``extents`` are the sizes that are left."""

    name: str
    subscripts: tuple[str, ...]
    extents: tuple[Extent, ...]
    kind: types.BaseType

    @property
    def text(self) -> str:
        """The element, or what begins there."""
        return self.name + "".join(f"[{subscript}]" for subscript in self.subscripts)

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes, where all are numbers."""
        return tuple(map(number_of, self.extents))

    def at(self, subscript: str) -> CArray:
        """Return an element of a vector."""
        return CArray(self.name, (*self.subscripts, subscript), self.extents[1:], self.kind)

    def inside(self, subscripts: Sequence[str]) -> CArray:
        """Return an element of an element, and so on."""
        count = len(subscripts)
        return CArray(self.name, (*self.subscripts, *subscripts), self.extents[count:], self.kind)


CData: TypeAlias = "CScalar | CArray | tuple[Any, ...]"
CValue: TypeAlias = "CScalar | CArray | tuple[Any, ...] | Closure"


def leaves(value: CValue) -> Iterator[CArray | CScalar]:
    """Yield the arrays and scalars of a value, from the left."""
    if isinstance(value, tuple):
        for part in value:
            yield from leaves(part)
    elif not isinstance(value, Closure):
        yield value


def map_leaves(change: Callable[..., Any], *values: Any) -> Any:
    """Return the tree of what a function makes of the leaves of trees of one shape."""
    if isinstance(values[0], tuple):
        return tuple(map_leaves(change, *parts) for parts in zip(*values, strict=True))
    return change(*values)


def element(value: Any, subscript: str) -> Any:
    """Return an element of a vector."""
    return map_leaves(lambda leaf: leaf.at(subscript), value)


def extent(value: Any) -> Extent:
    """Return the size of a vector."""
    result: Any = next(leaves(value))
    size: Extent = result.extents[0]
    return size


def size_scalar(size: Extent) -> CScalar:
    """Return a size as an Integer."""
    if isinstance(size, int):
        return literal(size)
    is_name = len(size.terms) == 1 and size.terms[0][1] == 1 and not size.constant
    text = size_text(size)
    weight = 1 if is_name else 1 + 2 * len(size.terms)
    return CScalar(
        text if is_name else f"({text})", types.INTEGER, is_affine=True, weight=weight, form=size
    )


def literal(value: float | bool) -> CScalar:
    """Return a constant.

    >>> literal(-2).text, literal(0.1).text, literal(float("-inf")).text
    ('(-2)', '0.1', '(-1.0 / 0.0)')
    """
    if isinstance(value, bool):
        return CScalar(str(int(value)), types.BOOL, known_value=value, is_affine=True)
    if isinstance(value, int):
        whole = _whole(value)
        return CScalar(whole, types.INTEGER, known_value=value, is_affine=True, form=value)
    text = repr(value)
    if value != value:
        text = "(0.0 / 0.0)"
    elif value in (float("inf"), float("-inf")):
        text = f"({'-' if value < 0 else ''}1.0 / 0.0)"
    elif text.startswith("-"):
        text = f"({text})"
    return CScalar(text, types.FLOAT)


def _whole(value: int) -> str:
    if value == -(2**63):  # which C has no literal for
        return f"(-{2**63 - 1} - 1)"
    return str(value) if value >= 0 else f"({value})"


def value_outline(kind: types.Type, sizes: Sequence[Extent], name: str = "") -> Any:
    """Return a value of a type whose vectors have the given sizes, in the order of the type."""
    left = list(sizes)

    def made(part_kind: types.Type, extents: tuple[Extent, ...]) -> Any:
        match part_kind:
            case types.VectorType(inner):
                return made(inner, (*extents, left.pop(0)))
            case types.TupleType(parts):
                return tuple(made(part, extents) for part in parts)
            case types.BaseType():
                return CArray(name, (), extents, part_kind)
            case _:
                raise AssertionError("functions are no data")

    return made(kind, ())


@dataclass(frozen=True, slots=True)
class TermCode:
    """A function in C: its text, its arguments, and which of them are written to.

    ``sizes`` are the arguments that are Integers, by their names in the program; ``inputs`` are
    those that are read, in the order of the program's parameters, a vector of tuples being several;
    ``results`` those that are written; ``outline`` says how these make up the program's value.
    """

    name: str
    text: str
    inputs: tuple[CArray, ...]
    results: tuple[CArray, ...]
    outline: Any
    sizes: tuple[tuple[str, str], ...] = ()


def integer_value(program: TermProgram, name: str, sizes: Mapping[str, Extent]) -> Extent:
    """Return the value of an Integer by its name."""
    if name not in sizes:
        raise InputError(f"{program.name}: expected a value of {name}, found none")
    return sizes[name]


def size_value(program: TermProgram, size: types.VectorSize, sizes: Mapping[str, Extent]) -> Extent:
    """Return the size of a vector, which must have elements."""
    if size is None:
        raise InputError(
            f"{program.name}: expected a name or a number as the size of a vector, found _"
        )
    result = size if isinstance(size, int) else integer_value(program, size, sizes)
    if isinstance(result, int) and result < 1:
        raise InputError(f"{program.name}: expected a size of 1 or more, found {size} = {result}")
    return result


def as_argument(array: CArray) -> CArray:
    """Return how an input is handed over: Floats by value, other scalars as data in memory."""
    return array if array.kind == types.FLOAT else box_scalar(array)


def box_scalar(scalar: CArray | CScalar) -> CArray:
    """Return a scalar as an array of one element, which a function can write to."""
    extents = scalar.extents if isinstance(scalar, CArray) else ()
    return CArray("", (), extents or (1,), scalar.kind)


def unbox_array(made: CArray, shape: CArray | CScalar) -> CArray:
    """Return the element of such an array where a scalar is meant."""
    is_scalar = isinstance(shape, CScalar) or not shape.extents
    return made.at("0") if is_scalar and made.extents else made
