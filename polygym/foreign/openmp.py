"""The OpenMP library of this machine: start of threads, and their time to spin.

At the end of a parallel loop threads wait for each other, and after it for the next one. libgomp
lets them spin for 300,000 turns, some milliseconds, before they sleep. On a machine that something
else uses too that ruins what is measured: a thread that spins holds the core which the one that it
waits for needs. So they are to spin for _SPINS turns here, which bridges the way from one parallel
loop to the next. Medians in milliseconds at MEDIUM, two threads on two cores, alone and beside one
busy process::

                300,000 turns       1,000 turns         none
    jacobi-2d   9.4      104.2      9.1      17.0      8.3      19.0
    cholesky    9.4      256.2      8.2      19.7      8.8      19.5
    lu          5.1      111.9      5.4       8.2      5.9       8.3

A library that is there already, PyTorch's libgomp for instance, is used as it was loaded: a second
one would have threads of its own, and the two would stand in each other's way.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from polygym.foreign._openmp import ffi

_GNU_NAMES = ("libgomp.so.1",)
_LLVM_NAMES = ("libomp.so.5", "libomp.so", "libiomp5.so")

_SPINS = 1000

# What the libraries read: turns for libgomp, milliseconds for the others.
_SPIN_SETTINGS = {"GOMP_SPINCOUNT": str(_SPINS), "KMP_BLOCKTIME": "0"}
_USER_VARIABLES = ("OMP_WAIT_POLICY", *_SPIN_SETTINGS)


def openmp_library() -> Any:
    """Return the OpenMP library of this process, loaded now if not before, None without any.

    That is GNU's where there is one, unless :func:`use_llvm_library` has loaded LLVM's.
    """
    return _loaded() or _load((*_GNU_NAMES, *_LLVM_NAMES))


def use_llvm_library() -> None:
    """Load LLVM's OpenMP library, which code that clang has compiled needs, if none is loaded.

    It has GNU's functions too, so that all code of the process shares the threads of one library.
    """
    if _loaded() is None:
        _load(_LLVM_NAMES)


_LIBRARIES: list[Any] = []


def _loaded() -> Any:
    """Return the library that has been loaded, None before that."""
    return _LIBRARIES[0] if _LIBRARIES else None


def _load(names: Sequence[str]) -> Any:
    """Load the first of some libraries that exists; return it, or None."""
    with _short_spinning():
        for name in names:
            with suppress(OSError, AttributeError):
                lib = ffi.dlopen(name, ffi.RTLD_NOW | ffi.RTLD_GLOBAL)
                _ = lib.GOMP_parallel
                lib.omp_get_max_threads()  # LLVM's reads its variables at the first call
                _LIBRARIES.append(lib)
                return lib
    return None


@contextmanager
def _short_spinning() -> Iterator[None]:
    """Ask for short spinning where the user has not said what to do.

    The libraries read environment variables, once, when they are loaded. So these exist for that
    moment only: other libraries of the process, and the processes that it starts, do not see them.
    """
    if any(name in os.environ for name in _USER_VARIABLES):
        yield
        return
    os.environ.update(_SPIN_SETTINGS)
    try:
        yield
    finally:
        for name in _SPIN_SETTINGS:
            del os.environ[name]


def fork_address() -> int | None:
    """Return the address of ``GOMP_parallel``; None without a library."""
    result = openmp_library()
    return None if result is None else int(ffi.cast("uintptr_t", result.GOMP_parallel))
