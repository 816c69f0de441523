"""Arrays whose accesses are checked against their bounds, and recorded.

An array is in global memory, which all blocks share, in shared memory, of which each block has a
copy, or local: each thread has one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from typing import Any

import numpy as np

from polygym.errors import PolygymError

Element = tuple[int, ...]


class DeviceError(PolygymError):
    """A program for a device did what no program may do."""


class MemorySpace(Enum):
    """The threads that see an array."""

    GLOBAL = "global"
    SHARED = "shared"
    LOCAL = "local"


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread: its block and its number in it, each along x, y and z."""

    block: tuple[int, int, int]
    number: tuple[int, int, int]

    def __str__(self) -> str:
        """Return the text of errors."""
        return f"thread {self.number} of block {self.block}"


@dataclass
class DeviceArray:
    """An array: the number of every element, and which have been written where that matters."""

    name: str
    space: MemorySpace
    values: np.ndarray[Any, Any]
    places: Mapping[Element, int]
    written: set[int] | None = None

    @staticmethod
    def given(name: str, values: np.ndarray[Any, Any]) -> DeviceArray:
        """Return an array in global memory."""
        return DeviceArray(name, MemorySpace.GLOBAL, values, element_numbers(values.shape))

    @staticmethod
    def unwritten(name: str, space: MemorySpace, shape: tuple[int, ...], dtype: Any) -> DeviceArray:
        """Return an array of which no element has a value."""
        values = np.zeros(shape, dtype)
        return DeviceArray(name, space, values, element_numbers(shape), set())


@lru_cache(maxsize=64)
def element_numbers(shape: tuple[int, ...]) -> Mapping[Element, int]:
    """Return the elements of an array by their subscripts, numbered row by row."""
    return {element: number for number, element in enumerate(np.ndindex(shape))}


@dataclass
class AccessLog:
    """The accesses of threads to memory since the launch: a row for each.

    Rows are the array, the element's number, the block, the barriers that it has passed, the
    thread, whether it writes, whether it is atomic, and the statement.
    """

    rows: list[tuple[int, int, int, int, int, bool, bool, int]] = field(default_factory=list)
