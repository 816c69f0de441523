"""The C library: memory from the kernel, clocks, ends of processes, signal handlers.

Addresses are integers. What the library refuses is a :class:`polygym.errors.ForeignCallError` with
its number and its words, or a MemoryError where there is no memory for what was asked for.
"""

import errno
import mmap
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from polygym.errors import ForeignCallError
from polygym.foreign._libc import ffi

_library = ffi.dlopen(None)

_FAILED = 2 ** (8 * ffi.sizeof("void *")) - 1  # MAP_FAILED, which is (void *) -1
_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG
_NO_RANDOM_ADDRESSES = 0x0040000  # ADDR_NO_RANDOMIZE
_ASK_PERSONALITY = 0xFFFFFFFF

# Larger than the C library's `struct sigaction` and `stack_t` on any Linux.
_SIGACTION_BYTES = 1024


def _at(address: int) -> Any:
    return ffi.cast("void *", address)


def _check(result: int, name: str) -> None:
    """Refuse the result of a call that failed, by the name of the function and what it says."""
    if result != 0:
        raise ForeignCallError(ffi.errno, f"{name}: {os.strerror(ffi.errno)}")


def map_memory(size: int, protection: int, flags: int) -> int:
    """Map zeroed anonymous memory and return its address.

    Raises:
        MemoryError: the kernel refuses.
    """
    pointer = _library.mmap(ffi.NULL, size, protection, flags | mmap.MAP_ANONYMOUS, -1, 0)
    address = int(ffi.cast("uintptr_t", pointer))
    if address == _FAILED:
        raise MemoryError(f"{size} bytes: {os.strerror(ffi.errno)}")
    return address


def unmap_memory(address: int, size: int) -> None:
    """Give mapped memory back.

    Raises:
        ForeignCallError: no page begins there.
    """
    _check(_library.munmap(_at(address), size), "munmap")


def protect(address: int, size: int, protection: int) -> None:
    """Say whether pages can be read and written from now on.

    Raises:
        MemoryError: the kernel has no memory for it, or nothing is mapped there.
        ForeignCallError: no page begins there, or it may not be changed.
    """
    result = _library.mprotect(_at(address), size, protection)
    if result != 0 and ffi.errno == errno.ENOMEM:
        raise MemoryError(f"{size} bytes: {os.strerror(errno.ENOMEM)}")
    _check(result, "mprotect")


def advise_huge_pages(address: int, size: int) -> None:
    """Ask for huge pages; the kernel may refuse, and nothing comes of it."""
    _library.madvise(_at(address), size, mmap.MADV_HUGEPAGE)


def drop_pages(address: int, size: int) -> None:
    """Give the memory of private pages back; from now on they hold zeros.

    Raises:
        ForeignCallError: no page begins there, or not all of it is mapped.
    """
    _check(_library.madvise(_at(address), size, mmap.MADV_DONTNEED), "madvise")


def drop_shared_pages(address: int, size: int) -> None:
    """Give the memory of shared pages back, in every process; from now on they hold zeros.

    Raises:
        ForeignCallError: the same, or the kernel cannot do it.
    """
    _check(_library.madvise(_at(address), size, mmap.MADV_REMOVE), "madvise")


def equal_bytes(first: int, second: int, size: int) -> bool:
    """Say whether ``size`` bytes at two addresses are the same."""
    return bool(_library.memcmp(_at(first), _at(second), size) == 0)


def copy_bytes(target: int, source: int, size: int) -> None:
    """Copy ``size`` bytes from one address to another."""
    _library.memmove(_at(target), _at(source), size)


def fill_bytes(address: int, byte: int, size: int) -> None:
    """Write a byte ``size`` times."""
    _library.memset(_at(address), byte, size)


@contextmanager
def fixed_addresses() -> Iterator[None]:
    """Have programs that this thread starts meanwhile use the same addresses each time.

    Some containers forbid it; then addresses stay random.
    """
    before = _library.personality(_ASK_PERSONALITY)
    changed = before >= 0 and _library.personality(before | _NO_RANDOM_ADDRESSES) >= 0
    try:
        yield
    finally:
        if changed:
            _library.personality(before)


def processor_clock(process_id: int) -> int:
    """Return the clock that counts the processor time of a process of the same user.

    Raises:
        ForeignCallError: there is no such process any more.
    """
    clock = ffi.new("int *")
    error = _library.clock_getcpuclockid(process_id, clock)
    if error != 0:
        raise ForeignCallError(error, f"clock_getcpuclockid: {os.strerror(error)}")
    return int(clock[0])


def exit_with_parent(parent: int) -> None:
    """Ask the kernel to kill this process when its parent ends, however it ends.

    Raises:
        ForeignCallError: it refuses.
    """
    _check(_library.prctl(_SET_PARENT_DEATH_SIGNAL, int(signal.SIGKILL), 0, 0, 0), "prctl")
    if os.getppid() != parent:  # it ended before the line above
        os._exit(1)


class SignalHandlers:
    """The signal handlers of the process, and the stack that they run on, as they are now."""

    def __init__(self) -> None:
        """Take them down."""
        self._stack = ffi.new("char[]", _SIGACTION_BYTES)
        _check(_library.sigaltstack(ffi.NULL, self._stack), "sigaltstack")
        self._actions = {}
        for number in range(1, signal.NSIG):
            action = ffi.new("char[]", _SIGACTION_BYTES)
            if _library.sigaction(number, ffi.NULL, action) == 0:
                self._actions[number] = action

    def exclude(self, number: int) -> None:
        """Leave the handler of one signal as it is when the others are put back."""
        self._actions.pop(number, None)

    def restore(self) -> None:
        """Make them those that were taken down."""
        for number, action in list(self._actions.items()):
            # Refused where no handler can be, for SIGKILL say: there it is as it was.
            _library.sigaction(number, action, ffi.NULL)
        _check(_library.sigaltstack(self._stack, ffi.NULL), "sigaltstack")
