"""A function in C: what it takes, what it writes to, and which sizes it was made for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from polygym.errors import InputError
from polygym.terms.code.c_values import CArray, CScalar
from polygym.terms.language.program import TermProgram
from polygym.terms.language.types import FLOAT, VectorSize


@dataclass(frozen=True, slots=True)
class TermCode:
    """A function in C: its text, its arguments, and which of them are written to.

    ``inputs`` are the arguments that are read, in the order of the program's parameters, a vector
    of tuples being several; ``results`` those that are written; ``outline`` says how these make up
    the program's value.
    """

    name: str
    text: str
    inputs: tuple[CArray, ...]
    results: tuple[CArray, ...]
    outline: Any


def integer_value(program: TermProgram, name: str, sizes: Mapping[str, int]) -> int:
    """Return the value of an Integer by its name."""
    if name not in sizes:
        raise InputError(f"{program.name}: expected a value of {name}, found none")
    return sizes[name]


def size_value(program: TermProgram, size: VectorSize, sizes: Mapping[str, int]) -> int:
    """Return the size of a vector, which must have elements."""
    if size is None:
        raise InputError(
            f"{program.name}: expected a name or a number as the size of a vector, found _"
        )
    result = size if isinstance(size, int) else integer_value(program, size, sizes)
    if result < 1:
        raise InputError(f"{program.name}: expected a size of 1 or more, found {size} = {result}")
    return result


def as_argument(one: CArray) -> CArray:
    """Return how an input is handed over: Floats by value, other scalars as data in memory."""
    return one if one.kind == FLOAT else box_scalar(one)


def box_scalar(one: CArray | CScalar) -> CArray:
    """Return a scalar as an array of one element, which a function can write to."""
    extents = one.extents if isinstance(one, CArray) else ()
    return CArray("", (), extents or (1,), one.kind)


def unbox_array(made: CArray, shape: CArray | CScalar) -> CArray:
    """Return the element of such an array where a scalar is meant."""
    is_scalar = isinstance(shape, CScalar) or not shape.extents
    return made.at("0") if is_scalar and made.extents else made
