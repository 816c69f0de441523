"""NumPy's structured arrays as the memory of C's structures, and complex ones as pairs.

A program has structures as rows of numbers of one type. A caller has them as they are in C::

    struct body { char tag; double x, v[3]; };

    np.dtype([("tag", "i1"), ("x", "f8"), ("v", "f8", 3)], align=True)

Both are the same memory if the sizes are, and the places of the members that the program uses.
"""

import re
from typing import Any

import numpy as np

from polygym.errors import InputError
from polygym.ir.scop import Array
from polygym.programs.dtypes import dtype_of

_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")


def argument_name(array: Array) -> str:
    """Return the name of the argument that has an array: that of the variable with structures."""
    if array.structure is None or "." in array.structure.name:
        return array.name
    return array.structure.name


def rows_of_structures(array: Array, structures: np.ndarray, length: int) -> np.ndarray:
    """Return structures as rows of numbers, in the same memory.

    Raises:
        InputError: they have another layout than the program's.
    """
    layout = array.structure
    assert layout is not None
    kind, name = structures.dtype, argument_name(array)
    if kind.itemsize != layout.size:
        raise InputError(
            f"{name}: expected structures of {layout.size} bytes, found {kind.itemsize}; "
            "np.dtype(…, align=True) has the padding of C"
        )
    for way, offset in layout.members:
        if member_place(kind, way) != (offset, dtype_of(array.type)):
            raise InputError(
                f"{name}: expected {way[1:]} of {dtype_of(array.type)} at byte {offset}, "
                f"found {kind}"
            )
    if not structures.flags.c_contiguous or not structures.flags.aligned:
        raise InputError(f"{name}: expected an array in one piece, in the order of C")
    shape = (*structures.shape, length)
    rows = np.ndarray(shape, dtype_of(array.type), buffer=structures.data)
    rows.flags.writeable = structures.flags.writeable
    return rows


def pairs_of_reals(name: str, numbers: np.ndarray) -> np.ndarray:
    """Return complex numbers as pairs of reals, in the same memory; flat ones stay flat.

    >>> pairs_of_reals("a", np.array([[1 + 2j, 3]])).tolist()
    [[[1.0, 2.0], [3.0, 0.0]]]

    Raises:
        InputError: they do not lie in one piece.
    """
    if not numbers.flags.c_contiguous:
        raise InputError(f"{name}: expected an array in one piece, in the order of C")
    parts = numbers.view(numbers.real.dtype)
    return parts if numbers.ndim == 1 else parts.reshape(*numbers.shape, 2)


def member_place(kind: np.dtype[Any], way: str) -> tuple[int, np.dtype[Any]] | None:
    """Return the offset and the type of a member, None if there is none.

    >>> member_place(np.dtype([("id", "i4"), ("at", [("x", "f8"), ("w", "f8", 2)])]), ".at.w[1]")
    (20, dtype('float64'))
    """
    offset = 0
    for name, subscript in _STEP.findall(way):
        if name:
            if kind.fields is None or name not in kind.fields:
                return None
            kind, start = kind.fields[name][:2]
            offset += start
            continue
        if not kind.shape:
            return None
        element = kind.base if len(kind.shape) == 1 else np.dtype((kind.base, kind.shape[1:]))
        offset += int(subscript) * element.itemsize
        kind = element
    return offset, kind
