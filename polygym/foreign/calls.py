"""Calls of code that polygym has generated, and calls from it.

The entry point of every object (:mod:`polygym.runtime.loader`) is ::

    int32_t polygym_run(void **arguments, int64_t *nanoseconds);

Addresses are integers here, so the first argument is declared as what it is in memory: an array of
them. A list of Python's is copied into such an array for the time of the call, so that several
threads may call at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, TypeAlias

from polygym.foreign._libc import ffi
from polygym.foreign.memory import address_of

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
