"""Addresses of an array's elements, for calls of a few microseconds.

NumPy says it in a dictionary that it makes for the question (``__array_interface__``, 2 µs) or an
object (``array.ctypes``, 1 µs). In CPython the address is the first field of the array object
behind the header that every object has (0.15 µs). Extensions are compiled with that place in them
(``PyArray_DATA`` is a line in NumPy's headers), so it stays where it is. All the same it is
compared with what NumPy says once, when polygym is imported, and where that differs NumPy is asked
every time.
"""

import sys
from collections.abc import Callable

import numpy as np

from polygym.foreign import calls

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
    return (
        address_by_field
        if all(address_by_field(sample) == address_by_interface(sample) for sample in samples)
        else address_by_interface
    )


address_of = _address_function()
