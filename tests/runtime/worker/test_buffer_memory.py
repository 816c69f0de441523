"""Placement of buffers, guards and patterns, and the shared copies."""

import ctypes
import hashlib
import mmap
import os
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.errors import ForeignCallError
from polygym.foreign.libc import copy_bytes, equal_bytes, map_memory
from polygym.ir.types import ScalarType
from polygym.runtime.worker import buffer_memory
from polygym.runtime.worker.buffer_memory import (
    ReadOnlyBuffers,
    SharedBuffers,
    WorkingBuffers,
    place_buffers,
)
from polygym.runtime.worker.connection import SUPERVISOR
from polygym.runtime.worker.problem import Buffer, CompiledProgram, Problem
from polygym.runtime.worker.worker import Worker
from tests.runtime.worker import objects
from tests.runtime.worker.processes import children_of

PAGE = mmap.PAGESIZE
HUGE = 2 * 1024 * 1024


@given(st.lists(st.integers(0, 5_000_000), max_size=12))
@settings(max_examples=200, deadline=None)
def test_placement_keeps_its_promises(sizes):
    end = 0
    for placement, size in zip(place_buffers(sizes), sizes, strict=True):
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
    starts = [placement.start % PAGE for placement in place_buffers([8_000_000] * 8)]
    assert starts == [0, 512, 1024, 1536, 2048, 2560, 3072, 3584]


def test_shared_set_publishes_and_restores():
    source, shared = WorkingBuffers([100, 0, 9000]), SharedBuffers([100, 0, 9000])
    ctypes.memset(source.addresses[0], 1, 100)
    ctypes.memset(source.addresses[2], 3, 9000)
    shared.publish(source, [0, 1])
    assert bytes(shared.view(0)) == b"\1" * 100
    assert bytes(shared.view(1)) == b""
    assert bytes(shared.view(2)) == bytes(9000)
    target = WorkingBuffers([100, 0, 9000])
    target.restore(shared)
    assert ctypes.string_at(target.addresses[0], 100) == b"\1" * 100
    assert target.addresses[0] != source.addresses[0]
    shared.close()


def test_what_is_held_is_moved_once_and_inherited():
    sizes = [100, 9000]
    first, second = SharedBuffers(sizes), SharedBuffers(sizes)
    for number, shared in enumerate((first, second)):
        source = WorkingBuffers(sizes)
        for address, size in zip(source.addresses, sizes, strict=True):
            ctypes.memset(address, number + 1, size)
        shared.move_from(source)
        assert ctypes.string_at(source.addresses[1], 9000) == bytes(9000), "it is given back"
    held = ReadOnlyBuffers(sizes, [1])
    held.move_from(first)
    assert bytes(first.view(0)) == b"\1" * 100
    assert bytes(first.view(1)) == bytes(9000), "it is not there twice"
    target = WorkingBuffers(sizes, held)
    target.restore(first)
    target.restore(second)
    assert ctypes.string_at(target.addresses[0], 100) == b"\2" * 100
    assert ctypes.string_at(target.addresses[1], 9000) == b"\1" * 9000
    assert target.addresses[1] == held.addresses[1]
    assert target.overrun(0) is target.overrun(1) is None
    for address, placement in zip(target.addresses, place_buffers(sizes), strict=True):
        assert address % PAGE == placement.start % PAGE, "staggered as if all were in one set"
    for memory in (first, second, held):
        memory.close()


@pytest.mark.parametrize("size", [40 * 2**20 + 8, 12 * 2**20])
def test_what_moves_is_never_there_twice(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for one chunk: here of 4 MiB, of buffers that are huge pages in private memory."""
    monkeypatch.setattr(buffer_memory, "CHUNK", 4 * 2**20)
    taken: list[int] = []

    def copy(target: int, source: int, length: int) -> None:
        copy_bytes(target, source, length)
        taken.append(own_bytes(os.getpid()))

    monkeypatch.setattr(buffer_memory, "copy_bytes", copy)
    sizes = [1000, size]
    most = own_bytes(os.getpid()) + size + (4 + 2 + 2) * 2**20  # a chunk, a huge page, and air
    source, shared, held = WorkingBuffers(sizes), SharedBuffers(sizes), ReadOnlyBuffers(sizes, [1])
    ctypes.memset(source.addresses[0], 1, 1000)
    for start in range(0, size, 2**20):  # every MiB is another one
        ctypes.memset(source.addresses[1] + start, start >> 20, min(2**20, size - start))
    expected = hashlib.sha256(buffer_memory.memory_view(source.addresses[1], size)).digest()
    shared.move_from(source)
    assert hashlib.sha256(shared.view(1)).digest() == expected
    # Looked at where it is: a copy's memory may stay with the process, and count below.
    assert not np.frombuffer(
        buffer_memory.memory_view(source.addresses[1], size), np.uint8
    ).any(), "given back"
    held.move_from(shared)
    assert hashlib.sha256(held.view(1)).digest() == expected
    assert bytes(shared.view(0)) == b"\1" * 1000, "what is not held stays"
    assert len(taken) == 1 + 2 * -(-size // (4 * 2**20))
    assert max(taken) < most
    shared.close()
    held.close()


def test_a_run_takes_what_is_said() -> None:
    """A large array that is only read: never two of it, in no process, while it is made and moved.

    The supervisor and the runner are watched; each has at most one, but for a chunk.
    """
    elements = 24 * 2**20
    read = Buffer("read", ScalarType.DOUBLE, elements, constant=True)
    written = Buffer("written", ScalarType.DOUBLE, 100)
    fill = CompiledProgram(objects.iota(), (0,), (elements,))
    problem = Problem((read, written), fill, CompiledProgram(objects.doubled(), (1,), (100,)))
    assert problem.memory == problem.size + buffer_memory.CHUNK
    amounts, over = [0], Event()
    others = set(children_of(os.getpid()))
    with Worker() as worker:
        worker.open(objects.problem())
        new = set(children_of(os.getpid())) - others
        (supervisor,) = (process for process in new if is_supervisor(process))

        def watch() -> None:
            while not over.is_set():
                for process in (supervisor, *children_of(supervisor)):
                    with suppress(OSError, KeyError):  # a runner that has ended
                        amounts.append(own_bytes(process))

        watcher = Thread(target=watch)
        watcher.start()
        try:
            assert worker.open(problem).baseline
        finally:
            over.set()
            watcher.join()
    assert problem.size <= max(amounts) < problem.memory + 64 * 2**20


def test_a_kernel_that_keeps_shared_pages_costs_memory_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(address: int, size: int) -> None:
        raise ForeignCallError(22, "madvise: Invalid argument")

    monkeypatch.setattr(buffer_memory, "drop_shared_pages", refuse)
    source, shared, held = (
        WorkingBuffers([9000]),
        SharedBuffers([9000]),
        ReadOnlyBuffers([9000], [0]),
    )
    ctypes.memset(source.addresses[0], 7, 9000)
    shared.move_from(source)
    held.move_from(shared)
    assert bytes(held.view(0)) == b"\7" * 9000
    shared.close()
    held.close()


def own_bytes(process_id: int) -> int:
    """Return the memory of a process that is in no file, as the kernel counts it at the moment."""
    lines = Path(f"/proc/{process_id}/status").read_text(encoding="ascii").splitlines()
    numbers = dict(line.split(":") for line in lines)
    return 1024 * sum(int(numbers[key].split()[0]) for key in ("RssAnon", "RssShmem"))


def is_supervisor(process_id: int) -> bool:
    return SUPERVISOR in Path(f"/proc/{process_id}/cmdline").read_text(encoding="utf-8")


def test_a_view_of_more_than_two_gibibytes():
    size = 2**31 + 16
    shared = SharedBuffers([size, 8])  # no page of it is ever touched but the last
    contents = shared.view(0)
    assert contents.nbytes == size
    assert bytes(contents[-16:]) == bytes(16)
    contents.release()
    shared.close()


@pytest.mark.parametrize("offset", [-1, -64, 800, 863])
def test_overrun_finds_the_byte(offset):
    working = WorkingBuffers([4096, 800])  # the second one has bytes beside it on both sides
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
