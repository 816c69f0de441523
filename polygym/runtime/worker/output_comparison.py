"""Comparison of a program's output with the output of the original.

Bit for bit, two arrays are equal if all their bytes are: a NaN equals itself, 0.0 is not -0.0.

Under a relative tolerance t, for programs that are allowed to add in another order, an element f
stands for the expected e if both are NaN, or f = e, or

    |f - e| <= t * max(|e|, m),   m = the mean of |e| over all finite elements e of the array.

The mean m is there because a sum whose terms cancel has an error in proportion to the terms, not to
the result. Elements in single precision have a hundred times the tolerance: a sum of a thousand of
them is not known to 1e-6. Those of sixteen bits have four units of their own besides, and never
more than a tenth.

Example: (1e8 + 1) - 1e8 is 1, but 0 in single precision in another order; next to elements around
1e8 and with t = 1e-6 that is accepted (1 <= 1e4), a change of an element 1e8 by 2e4 is not.
"""

import importlib
import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from polygym.foreign.calls import memory_view
from polygym.foreign.libc import equal_bytes
from polygym.ir.types import ScalarType
from polygym.runtime.worker.problem import Buffer

SINGLE_PRECISION_FACTOR = 100.0
"""How many times the tolerance elements in single precision have."""

_HALF_PRECISION_TOLERANCE = {ScalarType.HALF: 2.0**-9, ScalarType.BFLOAT: 2.0**-6}
"""What elements of sixteen bits may differ by besides: four units, for they are rounded at last."""

_MAX_TOLERANCE = 0.1
"""The largest tolerance of elements of sixteen bits: beyond, anything would stand for anything."""

_FORMAT = {
    ScalarType.BOOL: "B",
    ScalarType.BYTE: "b",
    ScalarType.UNSIGNED_BYTE: "B",
    ScalarType.SHORT: "h",
    ScalarType.UNSIGNED_SHORT: "H",
    ScalarType.INT: "i",
    ScalarType.UNSIGNED: "I",
    ScalarType.LONG: "q",
    ScalarType.UNSIGNED_LONG: "Q",
    ScalarType.HALF: "e",
    ScalarType.BFLOAT: "H",
    ScalarType.FLOAT: "f",
    ScalarType.DOUBLE: "d",
}
"""The letters that Python's ``struct`` and NumPy have for the types, for bfloat16 of its bits."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first element (flat offset) that differs, with both values as text."""

    index: int
    expected: str
    found: str


def first_difference(
    buffer: Buffer, expected: int, actual: int, tolerance: float | None
) -> Difference | None:
    """Compare a buffer at two addresses; None means that the contents count as equal."""
    if equal_bytes(expected, actual, buffer.size):
        return None
    if tolerance is None or buffer.type.is_integer:
        index: int | None = _first_different_element(buffer, expected, actual)
    else:
        index = _first_beyond_tolerance(buffer, expected, actual, tolerance)
    if index is None:
        return None
    offset = index * buffer.type.size
    return Difference(
        index,
        _element_text(buffer.type, expected + offset),
        _element_text(buffer.type, actual + offset),
    )


def array_statistics(
    contents: memoryview, scalar: ScalarType, shape: Sequence[int], part: str
) -> dict[str, Any]:
    """Describe an array by its sum and other figures (:mod:`polybench.summary`)."""
    prepare_tolerance()
    import numpy as np

    from polybench.model import ArrayPart
    from polybench.summary import summarise

    values = _numbers(np.frombuffer(contents, dtype=_FORMAT[scalar]), scalar).reshape(shape)
    result = dict(summarise("", values, ArrayPart(part)))
    del result["array"]
    return result


def prepare_tolerance() -> None:
    """Import numpy ahead of the fork, so that not every runner has to.

    Its linear algebra library must not start threads: a process is forked safely only by its only
    thread.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    importlib.import_module("numpy")


def _first_different_element(buffer: Buffer, expected: int, actual: int) -> int:
    """Find the first different element by bisection; there is one.

    Invariant: the elements below ``low`` are equal, those from ``low`` up to ``high`` are not all.
    """
    size = buffer.type.size
    low, high = 0, buffer.elements
    while high - low > 1:
        middle = (low + high) // 2
        if equal_bytes(expected + low * size, actual + low * size, (middle - low) * size):
            low = middle
        else:
            high = middle
    return low


def _first_beyond_tolerance(
    buffer: Buffer, expected: int, actual: int, tolerance: float
) -> int | None:
    """Find the first element that the tolerance does not cover."""
    import numpy as np  # most runners compare bit for bit and never need it

    kind = np.dtype(_FORMAT[buffer.type])
    e = _numbers(np.frombuffer(memory_view(expected, buffer.size), dtype=kind), buffer.type)
    f = _numbers(np.frombuffer(memory_view(actual, buffer.size), dtype=kind), buffer.type)
    tolerance = _tolerance_of_type(tolerance, buffer.type)
    with np.errstate(all="ignore"):
        magnitude = np.abs(e.astype(np.float64))
        finite = magnitude[np.isfinite(magnitude)]
        mean = float((finite / finite.size).sum())  # no overflow on the way
        distance = np.abs(f.astype(np.float64) - e)
        covered = (distance <= tolerance * np.maximum(magnitude, mean)) & np.isfinite(e)
    equal = (f == e) | (np.isnan(f) & np.isnan(e))
    beyond = np.flatnonzero(~(covered | equal))
    return int(beyond[0]) if beyond.size else None


def _tolerance_of_type(tolerance: float, scalar: ScalarType) -> float:
    """Return the tolerance of elements of a type, of that of doubles.

    >>> _tolerance_of_type(2.0**-20, ScalarType.DOUBLE) == 2.0**-20
    True
    >>> _tolerance_of_type(0.0, ScalarType.HALF), _tolerance_of_type(1.0, ScalarType.BFLOAT)
    (0.001953125, 0.1)
    """
    match scalar:
        case ScalarType.HALF | ScalarType.BFLOAT:
            return min(
                tolerance * SINGLE_PRECISION_FACTOR + _HALF_PRECISION_TOLERANCE[scalar],
                _MAX_TOLERANCE,
            )
        case ScalarType.FLOAT:
            return tolerance * SINGLE_PRECISION_FACTOR
        case _:
            return tolerance


def _numbers(values: Any, scalar: ScalarType) -> Any:
    """Return an array as NumPy computes with it: of bfloat16 the bits are the upper half."""
    if scalar is not ScalarType.BFLOAT:
        return values
    return (values.astype("uint32") << 16).view("float32")


def _element_text(scalar: ScalarType, address: int) -> str:
    """Return an element as text; a NaN shows its bits, since NaNs may differ in nothing else."""
    data = memory_view(address, scalar.size)
    (value,) = struct.unpack(_FORMAT[scalar], data)
    if scalar is ScalarType.BFLOAT:
        (value,) = struct.unpack("=f", struct.pack("=I", value << 16))
    if scalar.is_integer:
        return str(value)
    if value == value:
        return repr(value)
    return f"nan (0x{bytes(data)[::-1].hex()})"
