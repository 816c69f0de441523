"""Functions of the C library, and how their refusals look here."""

import errno
import mmap
import os
import time
from collections.abc import Callable

import pytest

from polygym.errors import ForeignCallError, PolygymError
from polygym.foreign import calls, libc

READ_WRITE = mmap.PROT_READ | mmap.PROT_WRITE


def test_bytes_are_filled_copied_compared_and_seen() -> None:
    first, second = (libc.map_memory(8192, READ_WRITE, mmap.MAP_PRIVATE) for _ in range(2))
    libc.fill_bytes(first + 100, 0xA5, 7)
    assert bytes(calls.memory_view(first + 99, 9)) == b"\0" + 7 * b"\xa5" + b"\0"
    assert not libc.equal_bytes(first, second, 8192)
    libc.copy_bytes(second, first, 8192)
    assert libc.equal_bytes(first, second, 8192)
    calls.memory_view(second, 8192)[8191] = 1
    assert libc.equal_bytes(first, second, 8191)
    assert not libc.equal_bytes(first, second, 8192)
    for address in (first, second):
        libc.unmap_memory(address, 8192)


def test_memory_that_is_not_there_is_refused_in_words() -> None:
    with pytest.raises(MemoryError, match=f"{2**62} bytes: Cannot allocate memory"):
        libc.map_memory(2**62, READ_WRITE, mmap.MAP_PRIVATE)
    address = libc.map_memory(8192, READ_WRITE, mmap.MAP_PRIVATE)
    libc.unmap_memory(address, 8192)
    with pytest.raises(MemoryError, match="8192 bytes: Cannot allocate memory"):
        libc.protect(address, 8192, mmap.PROT_READ)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: libc.unmap_memory(8, 4096), "munmap"),
        (lambda: libc.protect(8, 4096, mmap.PROT_READ), "mprotect"),
        (lambda: libc.drop_pages(8, 4096), "madvise"),
        (lambda: libc.drop_shared_pages(8, 4096), "madvise"),
    ],
)
def test_where_no_page_begins_is_said_by_number(call: Callable[[], None], name: str) -> None:
    with pytest.raises(ForeignCallError, match=f"^.*{name}: Invalid argument") as caught:
        call()
    assert caught.value.errno == errno.EINVAL


def test_a_huge_page_is_no_more_than_a_wish() -> None:
    libc.advise_huge_pages(8, 4096)


def test_the_clock_of_a_process_counts_its_time() -> None:
    before = time.process_time_ns()
    now = time.clock_gettime_ns(libc.processor_clock(os.getpid()))
    assert before <= now <= time.process_time_ns()


def test_a_process_that_is_gone_has_no_clock() -> None:
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    with pytest.raises(ForeignCallError, match="clock_getcpuclockid: No such process") as caught:
        libc.processor_clock(child)
    assert caught.value.errno == errno.ESRCH
    assert isinstance(caught.value, PolygymError)
    assert isinstance(caught.value, OSError)


def test_a_child_can_be_made_to_die_with_its_parent() -> None:
    there, here = os.pipe()
    parent = os.fork()
    if not parent:
        mine = os.getpid()
        if not os.fork():
            os.close(there)
            libc.exit_with_parent(mine)
            os.write(here, b"x")  # the parent may end now; nobody else holds this end of the pipe
            time.sleep(60)
            os._exit(1)
        os.read(there, 1)
        os._exit(0)
    os.close(here)
    os.waitpid(parent, 0)
    assert os.read(there, 1) == b""
    os.close(there)


def test_words_and_addresses() -> None:
    words = calls.int64_array([5, -(2**63)])
    address = calls.address_of(words)
    assert calls.memory_view(address, 16).cast("q").tolist() == [5, -(2**63)]
    table = calls.int64_array([address, address + 8])
    start = calls.address_of(table)
    assert calls.address_table(start % 8 + 8)[start // 8 - 1] == address
