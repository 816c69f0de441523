"""Memory at an address, as Python sees it. No library is called for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polygym.foreign._libc import ffi


def memory_view(address: int, size: int) -> memoryview:
    """Return ``size`` bytes where they are, to be read and written; they must outlive the view."""
    return memoryview(ffi.buffer(ffi.cast("char *", address), size))


def int64_array(values: Sequence[int]) -> Any:
    """Return memory that holds integers of 64 bits; it lasts as long as the object.

    >>> list(words((7, -1)))
    [7, -1]
    """
    return ffi.new("int64_t[]", list(values))


def address_of(memory: Any) -> int:
    """Return where such memory begins."""
    return int(ffi.cast("uintptr_t", memory))


def address_table(offset: int) -> Any:
    """Return an array over all of memory: element k is the address stored at 8k + ``offset``.

    Reading one costs a tenth of a microsecond.
    """
    return ffi.cast("uintptr_t *", offset)
