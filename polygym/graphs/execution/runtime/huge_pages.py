"""Memory for what a model reads and writes, in huge pages where the kernel has any.

A processor remembers where a few thousand pages lie. Of 4 KiB each that is 10 MB; the weights of a
model are more, and products read them a row here and a row there. In pages of 2 MiB each all of
them are found at once. Weights that lie wherever they were made get such pages by luck, so they are
copied next to each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from polygym.foreign.libc import advise_huge_pages
from polygym.graphs.execution.planning.arena import ALIGNMENT
from polygym.tc.array_addresses import address_of

__all__ = ["pack_arrays", "zeroed_buffer"]

_HUGE_PAGE = 1 << 21
_MIN_BYTES = 1 << 22
"""Bytes from which on huge pages are asked for."""

_Array = np.ndarray[Any, Any]


def zeroed_buffer(size: int) -> _Array:
    """Return so many bytes, all 0, that begin at a line of a cache.

    >>> memory = room(100)
    >>> memory.size, address_of(memory) % ALIGNMENT
    (100, 0)
    """
    alignment = _HUGE_PAGE if size >= _MIN_BYTES else ALIGNMENT
    whole = np.zeros(size + alignment, np.uint8)
    shift = -address_of(whole) % alignment
    if size >= _MIN_BYTES:
        advise_huge_pages(address_of(whole) + shift, size // _HUGE_PAGE * _HUGE_PAGE)
    return whole[shift : shift + size]


def pack_arrays(arrays: Sequence[_Array]) -> list[_Array]:
    """Return copies of arrays next to each other, or the arrays where they are small together."""
    sizes = [-(-array.nbytes // ALIGNMENT) * ALIGNMENT for array in arrays]
    if sum(sizes) < _MIN_BYTES:
        return list(arrays)
    memory, begin = zeroed_buffer(sum(sizes)), 0
    result = []
    for array, size in zip(arrays, sizes, strict=True):
        copy = memory[begin : begin + array.nbytes].view(array.dtype).reshape(array.shape)
        copy[...] = array
        result.append(copy)
        begin += size
    return result
