"""A function in C: what it takes, what it writes to, and which sizes it was made for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from polygym.errors import InputError
from polygym.terms.code.layout import Array, Scalar
from polygym.terms.language.program import Program
from polygym.terms.language.types import FLOAT, Size

__all__ = ["Code", "as_argument", "boxed", "given", "size_given", "unboxed"]


@dataclass(frozen=True, slots=True)
class Code:
    """A function in C: its text, its arguments, and which of them are written to.

    ``inputs`` are the arguments that are read, in the order of the program's parameters, a vector
    of tuples being several; ``results`` those that are written; ``shape`` says how these make up
    the program's value.
    """

    name: str
    text: str
    inputs: tuple[Array, ...]
    results: tuple[Array, ...]
    shape: Any


def given(program: Program, name: str, sizes: Mapping[str, int]) -> int:
    """Return the value of an Integer by its name."""
    if name not in sizes:
        raise InputError(f"{program.name}: expected a value of {name}, found none")
    return sizes[name]


def size_given(program: Program, size: Size, sizes: Mapping[str, int]) -> int:
    """Return the size of a vector, which must have elements."""
    if size is None:
        raise InputError(
            f"{program.name}: expected a name or a number as the size of a vector, found _"
        )
    found = size if isinstance(size, int) else given(program, size, sizes)
    if found < 1:
        raise InputError(f"{program.name}: expected a size of 1 or more, found {size} = {found}")
    return found


def as_argument(one: Array) -> Array:
    """Return how an input is handed over: Floats by value, other scalars as data in memory."""
    return one if one.kind == FLOAT else boxed(one)


def boxed(one: Array | Scalar) -> Array:
    """Return a scalar as an array of one element, which a function can write to."""
    extents = one.extents if isinstance(one, Array) else ()
    return Array("", (), extents or (1,), one.kind)


def unboxed(made: Array, shape: Array | Scalar) -> Array:
    """Return the element of such an array where a scalar is meant."""
    is_scalar = isinstance(shape, Scalar) or not shape.extents
    return made.at("0") if is_scalar and made.extents else made
