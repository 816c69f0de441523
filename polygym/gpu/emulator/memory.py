"""Arrays whose accesses are checked against their bounds, and recorded.

An array is in global memory, which all blocks share, in shared memory, of which each block has a
copy, or local: each thread has one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

from polygym.errors import PolygymError

Element = tuple[int, ...]


class DeviceError(PolygymError):
    """A program for a device did what no program may do."""


class MemorySpace(Enum):
    """Who sees an array."""

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
    """An array, and which elements have been written where that matters."""

    name: str
    space: MemorySpace
    values: np.ndarray[Any, Any]
    written: np.ndarray[Any, Any] | None = None

    @staticmethod
    def unwritten(name: str, space: MemorySpace, shape: tuple[int, ...], dtype: Any) -> DeviceArray:
        """Return an array of which no element has a value."""
        return DeviceArray(name, space, np.zeros(shape, dtype), np.zeros(shape, np.bool_))


@dataclass
class AccessLog:
    """What threads did to memory since the launch: a row for each access.

    Rows are the array, the element's number, the block, the barriers that it has passed, the
    thread, whether it writes, whether it is atomic, and the statement.
    """

    rows: list[tuple[int, int, int, int, int, bool, bool, int]] = field(default_factory=list)


def check_element(
    array: DeviceArray, element: Element, statement: str, thread: Thread, *, writes: bool
) -> None:
    """Refuse an element outside of an array, or one that is read before it has a value."""
    shape = array.values.shape
    if len(element) != len(shape) or any(
        not 0 <= at < extent for at, extent in zip(element, shape, strict=True)
    ):
        raise DeviceError(
            f"{statement}: expected an element of {array.name}{list(shape)}, found "
            f"{list(element)}, by {thread}"
        )
    if not writes and array.written is not None and not array.written[element]:
        raise DeviceError(
            f"{statement}: expected a value in {array.space.value} {array.name}{list(element)}, "
            f"found none, by {thread}"
        )
