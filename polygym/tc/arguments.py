"""Arguments of a call: checked against the declaration, made contiguous, their sizes read off.

Addresses of an array's elements, for calls of a few microseconds.

NumPy says it in a dictionary that it makes for the question (``__array_interface__``, 2 µs) or an
object (``array.ctypes``, 1 µs). In CPython the address is the first field of the array object
behind the header that every object has (0.15 µs). Extensions are compiled with that place in them
(``PyArray_DATA`` is a line in NumPy's headers), so it stays where it is. All the same it is
compared with what NumPy says once, when polygym is imported, and where that differs NumPy is asked
every time.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polygym.errors import InputError
from polygym.foreign import calls
from polygym.frontend.tc.semantics.types import SCALAR_TYPES
from polygym.frontend.tc.syntax.tree import ElementType, NameUse, NumberLiteral, TcDefinition
from polygym.programs import dtypes

# Objects lie at multiples of 8, so that the field of one at 8k is element k of this.
_first_fields = calls.address_table(object.__basicsize__)


def address_by_interface(array: np.ndarray) -> int:
    """Return the address of the first element, as NumPy says it."""
    return int(array.__array_interface__["data"][0])


def address_by_field(array: np.ndarray) -> int:
    """Return the address of the first element, from the array object itself."""
    address: int = _first_fields[id(array) >> 3]
    return address


def _address_function() -> Callable[[np.ndarray], int]:
    if sys.implementation.name != "cpython":
        return address_by_interface
    whole = np.arange(6.0)
    samples = (whole, whole[2:], whole.reshape(2, 3).T, np.array(1, np.int8))
    is_known = all(address_by_field(sample) == address_by_interface(sample) for sample in samples)
    return address_by_field if is_known else address_by_interface


address_of = _address_function()


def dtype_of(scalar: ElementType) -> np.dtype[Any]:
    """Return NumPy's type of elements."""
    return dtypes.dtype_of(SCALAR_TYPES[scalar])


# Indices come as either, from other libraries.
_INDEX_TYPES = {np.dtype(np.int32), np.dtype(np.int64)}


@dataclass(frozen=True, slots=True)
class ExpectedArgument:
    """What an argument has to be, as its parameter declares it."""

    name: str
    dtype: np.dtype[Any]
    rank: int


def expected_arguments(definition: TcDefinition) -> tuple[ExpectedArgument, ...]:
    """Return what the arguments of a definition have to be."""
    return tuple(
        ExpectedArgument(parameter.name, dtype_of(parameter.type), len(parameter.sizes))
        for parameter in definition.parameters
    )


def complete_arguments(
    definition: TcDefinition, given: Sequence[Any], named: Mapping[str, Any], out: Any
) -> tuple[Any, ...]:
    """Return the arguments in the order of the parameters.

    Behind those that are ``given`` come those that are ``named``; the last parameters that are
    updated may be missing if ``out`` has their memory.

    Raises:
        InputError: a name is no parameter's, or the argument is given twice, or one is missing.
    """
    names = [parameter.name for parameter in definition.parameters]
    for name in named:
        if name not in names[len(given) :]:
            why = "it is given by its place already" if name in names else "there is no such one"
            raise InputError(
                f"{definition.name}: argument {name}: {why}; the parameters are {', '.join(names)}"
            )
    outputs = [output.name for output in definition.outputs]
    memory = listed_outputs(out)
    updated = dict(zip(outputs, memory, strict=False)) if out is not None else {}
    rest = names[len(given) :]
    if updated and all(name in named or name in updated for name in rest):
        named = {**{name: updated[name] for name in rest if name not in named}, **named}
    if named and (missing := [name for name in rest if name not in named]):
        raise InputError(f"{definition.name}: argument {missing[0]} is missing")
    return (*given, *(named[name] for name in rest if name in named))


def prepare_arguments(
    name: str, expected: Sequence[ExpectedArgument], given: Sequence[Any]
) -> list[np.ndarray]:
    """Return the arguments as arrays in C's order, of the declared types and ranks.

    An array of another type is refused, since converting it would hide a copy or lose digits, but
    for those of int32 and int64, which are taken for each other if the numbers fit, and single
    numbers. Python's numbers and lists have no type, and get the declared one.

    ``name`` is the operator's.

    Raises:
        InputError: one does not fit its declaration.
    """
    check_argument_count(name, [argument.name for argument in expected], given)
    return [
        value
        if _fits(argument, value)
        else _prepare_argument(f"{name}: {argument.name}", argument, value)
        for argument, value in zip(expected, given, strict=True)
    ]


def listed_outputs(out: Any) -> list[Any]:
    """Return what a caller gave as ``out``: a list of one for a single output."""
    return list(out) if isinstance(out, list | tuple) else [out]


def check_argument_count(name: str, expected: Sequence[str], given: Sequence[Any]) -> None:
    """Refuse too few or too many arguments; ``expected`` are their names.

    Raises:
        InputError: they are not as many as expected.
    """
    if len(given) != len(expected):
        raise InputError(
            f"{name}: expected {len(expected)} arguments ({', '.join(expected)}), "
            f"found {len(given)}"
        )


def _fits(expected: ExpectedArgument, value: Any) -> bool:
    """Whether a value is taken as it is, which most are; the answer takes a tenth of a µs."""
    return (
        type(value) is np.ndarray
        and value.dtype == expected.dtype
        and value.ndim == expected.rank
        and value.flags.c_contiguous
        and value.flags.aligned
    )


def _prepare_argument(place: str, expected: ExpectedArgument, value: Any) -> np.ndarray:
    if isinstance(value, (int, float, list, tuple)):
        try:
            value = _convert_argument(np.asarray(value), expected.dtype)
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"{place}: {error}") from None
    if isinstance(value, np.ma.MaskedArray):
        raise InputError(
            f"{place}: expected an array without a mask, found one with; .filled() says what is "
            "masked, .data what is behind"
        )
    is_array = hasattr(value, "__array__") or hasattr(value, "__array_interface__")
    if not is_array and hasattr(value, "__dlpack__"):
        value = _from_dlpack(place, value)
    if "jax" in sys.modules and isinstance(value, sys.modules["jax"].core.Tracer):
        raise InputError(
            f"{place}: expected an array, found one that JAX traces; "
            "polygym.tc.jax_function() makes a function for it"
        )
    array = np.asarray(value)
    is_other_integer = {array.dtype, expected.dtype} == _INDEX_TYPES
    if array.dtype != expected.dtype and (is_other_integer or not array.ndim + expected.rank):
        try:
            array = _convert_argument(array, expected.dtype)
        except (TypeError, ValueError) as error:
            raise InputError(f"{place}: {error}") from None
    if array.dtype != expected.dtype:
        raise InputError(
            f"{place}: expected elements of type {expected.dtype}, found {array.dtype}"
        )
    if array.ndim != expected.rank:
        raise InputError(f"{place}: expected {expected.rank} dimension(s), found {array.ndim}")
    return np.require(array, requirements=["C", "A"])


def _from_dlpack(place: str, value: Any) -> np.ndarray:
    """Return an array that shares the memory of another library's."""
    try:
        return np.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError) as error:
        raise InputError(
            f"{place}: expected an array in main memory, of a type that NumPy has: {error}"
        ) from None


def _convert_argument(given: np.ndarray, wanted: np.dtype[Any]) -> np.ndarray:
    """Return Python's numbers in the declared type, unless they are too large or lose digits.

    Numbers with a fraction may be rounded to the declared precision.
    """
    with np.errstate(all="ignore"):
        converted = given.astype(wanted)
        is_real = wanted.kind == "f" or wanted.name == "bfloat16"
        if is_real and given.dtype.kind in "fiub":
            fits = np.isfinite(converted.astype(float)) | ~np.isfinite(given.astype(float))
        else:
            fits = np.asarray(converted == given)
    if not fits.all():
        wrong = np.asarray(given)[~fits].flat[0]
        raise ValueError(f"expected numbers that {wanted} holds, found {wrong}")
    return converted


def sizes_of_arguments(
    definition: TcDefinition, shapes: Mapping[str, Sequence[int]]
) -> dict[str, int]:
    """Return the values of the symbolic sizes.

    Raises:
        InputError: two arguments, or one and its declaration, do not agree.
    """
    result: dict[str, int] = {}
    said: dict[str, str] = {}
    for parameter in definition.parameters:
        for place, size in enumerate(parameter.sizes):
            length = shapes[parameter.name][place]
            here = f"dimension {place} of {parameter.name}"
            match size:
                case NumberLiteral(value):
                    expected, because = int(value), "as declared"
                case NameUse(name):
                    expected = result.setdefault(name, length)
                    because = f"which is {name} of {said.setdefault(name, here)}"
            if length != expected:
                raise InputError(
                    f"{definition.name}: {here}: expected {expected}, {because}, found {length}"
                )
    return result
