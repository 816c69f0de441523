"""Calls of generated code and of users' libraries, and memory at an address.

The entry point of every object (:mod:`polygym.runtime.loader`) is ::

    int32_t polygym_run(void **arguments, int64_t *nanoseconds);

Addresses are integers here, so the first argument is declared as what it is in memory: an array of
them. A list of Python's is copied into such an array for the time of the call, so that several
threads may call at once.

Memory at an address, as Python sees it. No library is called for it.

Libraries that a user lends: their functions by address, each library for itself.

A library is opened from its bytes, under a name that no other one has: two of one path, before and
after it was built anew, are two, and neither sees the other's names.
"""

import hashlib
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, TypeAlias

from polygym.errors import ForeignCallError
from polygym.foreign._libc import ffi


def memory_view(address: int, size: int) -> memoryview:
    """Return ``size`` bytes where they are, to be read and written; they must outlive the view."""
    return memoryview(ffi.buffer(ffi.cast("char *", address), size))


def int64_array(values: Sequence[int]) -> Any:
    """Return memory that holds integers of 64 bits; it lasts as long as the object.

    >>> list(int64_array((7, -1)))
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


EntryPoint: TypeAlias = Callable[[Sequence[int], Any], int]
"""A function that takes the argument block and the place of the time, a :func:`time_cell`, say."""

ForkFunction: TypeAlias = Callable[[int, int, int, int], None]
"""A function that runs a task in threads: its address, its data, how many threads, flags."""

_ENTRY = ffi.typeof("int32_t(*)(uintptr_t *, int64_t *)")
_TASK = ffi.typeof("void(*)(uintptr_t)")
_FORK = ffi.typeof("void(*)(uintptr_t, uintptr_t, unsigned, unsigned)")


def entry_point(address: int) -> EntryPoint:
    """Return the function at an address, to be called without the interpreter's lock."""
    function: EntryPoint = ffi.cast(_ENTRY, address)
    return function


def argument_block(addresses: Sequence[int]) -> Any:
    """Return an argument block that can be used again; it lasts as long as the object."""
    return ffi.new("uintptr_t[]", list(addresses))


def time_cell(value: int = -1) -> Any:
    """Return the place where a program writes its time: an array of one number of nanoseconds."""
    return ffi.new("int64_t[1]", [value])


def fork_function_at(address: int) -> ForkFunction:
    """Return the function like ``GOMP_parallel`` that is at an address."""
    function: ForkFunction = ffi.cast(_FORK, address)
    return function


def fork_callback(function: ForkFunction) -> Any:
    """Return a function of Python as one of C; it lasts as long as the object."""
    return ffi.callback(_FORK, function)


def _call_once(task: int, data: int, threads: int, flags: int) -> None:
    """Run a parallel task in the calling thread."""
    ffi.cast(_TASK, task)(data)


_serial_fork = fork_callback(_call_once)


def serial_fork_address() -> int:
    """Return the address of a function that runs a parallel task once, in the calling thread."""
    return address_of(_serial_fork)


@cache
def load_library(name: str) -> Any:
    """Load a library whose functions generated code may call; None where there is none."""
    with suppress(OSError):
        return ffi.dlopen(name, ffi.RTLD_NOW | ffi.RTLD_GLOBAL)
    return None


_library = ffi.dlopen(None)
_NOW, _LOCAL = 2, 0  # RTLD_NOW, RTLD_LOCAL


def library_digest(content: bytes) -> str:
    """Return what tells a library from others."""
    return hashlib.sha256(content).hexdigest()


@cache
def open_library(path: str, digest: str) -> int:
    """Open a library, whose file must have that digest; return its handle.

    Raises:
        OSError: there is no such file.
        ForeignCallError: the file has changed, or is no library.
    """
    with open(path, "rb") as file:
        content = file.read()
    if library_digest(content) != digest:
        raise ForeignCallError(0, f"{path} has changed since the program was read")
    descriptor = os.memfd_create("polygym-lent")
    with open(descriptor, "wb", closefd=False) as memory:
        memory.write(content)
    handle = _library.dlopen(f"/proc/self/fd/{descriptor}".encode(), _NOW | _LOCAL)
    if handle == ffi.NULL:
        raise ForeignCallError(0, f"{path}: {_loader_error()}")
    return int(ffi.cast("uintptr_t", handle))


def function_at(library: int, name: str) -> int | None:
    """Return the address of a library's function, None if it has none of that name."""
    result = _library.dlsym(ffi.cast("void *", library), name.encode())
    return None if result == ffi.NULL else int(ffi.cast("uintptr_t", result))


def _loader_error() -> str:
    text = _library.dlerror()
    return "no library" if text == ffi.NULL else ffi.string(text).decode(errors="replace")
