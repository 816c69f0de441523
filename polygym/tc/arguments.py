"""Arguments of a call: checked against the declaration, made contiguous, their sizes read off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from polygym.errors import InputError
from polygym.programs.outputs import DTYPES
from polygym.tc.language.syntax import Definition, Name, Number, Parameter, Scalar
from polygym.tc.language.types import SCALARS


def dtype_of(scalar: Scalar) -> np.dtype[Any]:
    """Return NumPy's type of elements."""
    return DTYPES[SCALARS[scalar]]


def prepared(definition: Definition, given: Sequence[Any]) -> list[np.ndarray]:
    """Return the arguments as arrays in C's order, of the declared types and ranks.

    An array of another type is refused, since converting it would hide a copy or lose digits;
    Python's numbers and lists have no type, and get the declared one.

    Raises:
        InputError: one does not fit its declaration.
    """
    if len(given) != len(definition.parameters):
        names = ", ".join(one.name for one in definition.parameters)
        raise InputError(
            f"{definition.name}: expected {len(definition.parameters)} arguments ({names}), found "
            f"{len(given)}"
        )
    return [
        _prepared(definition, parameter, value)
        for parameter, value in zip(definition.parameters, given, strict=True)
    ]


def _prepared(definition: Definition, parameter: Parameter, value: Any) -> np.ndarray:
    wanted = dtype_of(parameter.type)
    if isinstance(value, (int, float, list, tuple)):
        try:
            value = _converted(np.asarray(value), wanted)
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"{definition.name}: {parameter.name}: {error}") from None
    if isinstance(value, np.ma.MaskedArray):
        raise InputError(
            f"{definition.name}: {parameter.name}: expected an array without a mask, found one "
            "with; .filled() says what is masked, .data what is behind"
        )
    array = np.asarray(value)
    if array.dtype != wanted:
        raise InputError(
            f"{definition.name}: {parameter.name}: expected elements of type {wanted}, found "
            f"{array.dtype}"
        )
    if array.ndim != len(parameter.sizes):
        raise InputError(
            f"{definition.name}: {parameter.name}: expected {len(parameter.sizes)} dimension(s), "
            f"found {array.ndim}"
        )
    return np.ascontiguousarray(array) if array.ndim else array


def _converted(found: np.ndarray, wanted: np.dtype[Any]) -> np.ndarray:
    """Return Python's numbers in the declared type, unless they are too large or lose digits.

    Numbers with a fraction may be rounded to the declared precision.
    """
    with np.errstate(all="ignore"):
        converted = found.astype(wanted)
        if wanted.kind == "f" and found.dtype.kind in "fiub":
            fits = np.isfinite(converted) | ~np.isfinite(found.astype(float))
        else:
            fits = np.asarray(converted == found)
    if not fits.all():
        wrong = np.asarray(found)[~fits].flat[0]
        raise ValueError(f"expected numbers that {wanted} holds, found {wrong}")
    return converted


def sizes_of_arguments(
    definition: Definition, shapes: Mapping[str, Sequence[int]]
) -> dict[str, int]:
    """Return the values of the symbolic sizes.

    Raises:
        InputError: two arguments, or one and its declaration, do not agree.
    """
    found: dict[str, int] = {}
    said: dict[str, str] = {}
    for parameter in definition.parameters:
        for place, size in enumerate(parameter.sizes):
            length = shapes[parameter.name][place]
            here = f"dimension {place} of {parameter.name}"
            match size:
                case Number(value):
                    expected, because = int(value), "as declared"
                case Name(name):
                    expected = found.setdefault(name, length)
                    because = f"which is {name} of {said.setdefault(name, here)}"
            if length != expected:
                raise InputError(
                    f"{definition.name}: {here}: expected {expected}, {because}, found {length}"
                )
    return found
