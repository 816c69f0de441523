"""Placement of buffers, guards and patterns, and the shared copies."""

import ctypes
import mmap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.measure.worker.memory import HeldSet, SharedSet, WorkingSet, place
from polygym.native.libc import equal_bytes, map_memory

PAGE = mmap.PAGESIZE
HUGE = 2 * 1024 * 1024


@given(st.lists(st.integers(0, 5_000_000), max_size=12))
@settings(max_examples=200, deadline=None)
def test_placement_keeps_its_promises(sizes):
    end = 0
    for placement, size in zip(place(sizes), sizes, strict=True):
        assert placement.begin >= end + PAGE, "no guard page below"
        assert placement.begin % PAGE == placement.end % PAGE == 0
        assert placement.start % 64 == 0
        assert placement.begin <= placement.start
        assert placement.start + size <= placement.end
        assert placement.end - (placement.start + size) <= PAGE, "the upper guard is too far away"
        if size >= 256 * 1024:
            assert placement.begin % HUGE == placement.end % HUGE == 0
        end = placement.end


def test_equal_arrays_do_not_alias_modulo_a_page():
    starts = [placement.start % PAGE for placement in place([8_000_000] * 8)]
    assert starts == [0, 512, 1024, 1536, 2048, 2560, 3072, 3584]


def test_shared_set_publishes_and_restores():
    source, shared = WorkingSet([100, 0, 9000]), SharedSet([100, 0, 9000])
    ctypes.memset(source.addresses[0], 1, 100)
    ctypes.memset(source.addresses[2], 3, 9000)
    shared.publish(source, [0, 1])
    assert bytes(shared.view(0)) == b"\1" * 100
    assert bytes(shared.view(1)) == b""
    assert bytes(shared.view(2)) == bytes(9000)
    target = WorkingSet([100, 0, 9000])
    target.restore(shared)
    assert ctypes.string_at(target.addresses[0], 100) == b"\1" * 100
    assert target.addresses[0] != source.addresses[0]
    shared.close()


def test_what_is_held_is_moved_once_and_inherited():
    sizes = [100, 9000]
    first, second = SharedSet(sizes), SharedSet(sizes)
    for number, shared in enumerate((first, second)):
        source = WorkingSet(sizes)
        for address, size in zip(source.addresses, sizes, strict=True):
            ctypes.memset(address, number + 1, size)
        shared.take(source)
        assert ctypes.string_at(source.addresses[1], 9000) == bytes(9000), "it is given back"
    held = HeldSet(sizes, [1])
    held.take(first)
    assert bytes(first.view(0)) == b"\1" * 100
    assert bytes(first.view(1)) == bytes(9000), "it is not there twice"
    target = WorkingSet(sizes, held)
    target.restore(first)
    target.restore(second)
    assert ctypes.string_at(target.addresses[0], 100) == b"\2" * 100
    assert ctypes.string_at(target.addresses[1], 9000) == b"\1" * 9000
    assert target.addresses[1] == held.addresses[1]
    assert target.overrun(0) is target.overrun(1) is None
    for address, placement in zip(target.addresses, place(sizes), strict=True):
        assert address % PAGE == placement.start % PAGE, "staggered as if all were in one set"
    for one in (first, second, held):
        one.close()


def test_a_view_of_more_than_two_gibibytes():
    size = 2**31 + 16
    shared = SharedSet([size, 8])  # no page of it is ever touched but the last
    contents = shared.view(0)
    assert contents.nbytes == size
    assert bytes(contents[-16:]) == bytes(16)
    contents.release()
    shared.close()


@pytest.mark.parametrize("offset", [-1, -64, 800, 863])
def test_overrun_finds_the_byte(offset):
    working = WorkingSet([4096, 800])  # the second one has bytes beside it on both sides
    assert working.overrun(1) is None
    ctypes.memset(working.addresses[1] + offset, 0, 1)
    assert working.overrun(0) is None
    assert working.overrun(1) == offset


def test_refused_memory_is_a_memory_error():
    with pytest.raises(MemoryError, match="bytes: "):
        map_memory(2**60, mmap.PROT_READ, mmap.MAP_PRIVATE)


def test_equal_bytes():
    first, second = ctypes.create_string_buffer(b"abcd"), ctypes.create_string_buffer(b"abxd")
    addresses = ctypes.addressof(first), ctypes.addressof(second)
    assert equal_bytes(*addresses, 2)
    assert not equal_bytes(*addresses, 4)
