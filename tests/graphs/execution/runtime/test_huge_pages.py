"""Memory in one piece: what is copied is what it was, and nothing overlaps."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from polygym.graphs.execution.planning.arena import ALIGNMENT
from polygym.graphs.execution.runtime.compiled_model import pack_arrays, zeroed_buffer
from polygym.tc.arguments import address_of


def test_small_arrays_stay_where_they_are() -> None:
    arrays = [np.arange(3.0), np.zeros((2, 0), np.float32)]
    assert all(array is other for array, other in zip(pack_arrays(arrays), arrays, strict=True))


def test_large_ones_are_copied_next_to_each_other() -> None:
    arrays = [
        np.arange(1 << 20, dtype=np.float32).reshape(1 << 10, -1),
        np.arange(5, dtype=np.int64),
        np.array(2.5),
        np.ones((3, 7), np.float32),
    ]
    packed = pack_arrays(arrays)
    for array, other in zip(packed, arrays, strict=True):
        np.testing.assert_array_equal(array, other)
        assert array.dtype == other.dtype
        assert address_of(array) % ALIGNMENT == 0
        assert not np.may_share_memory(array, other)
    for array, other in pairwise(packed):
        assert address_of(array) + array.nbytes <= address_of(other)


def test_room_is_empty_and_aligned() -> None:
    for size in (1, 64, (1 << 22) + 5):
        memory = zeroed_buffer(size)
        assert memory.size == size
        assert not memory.any()
        assert address_of(memory) % ALIGNMENT == 0
