"""Binary interface of compiled code: names of functions, numbers that they return.

An object exports one function::

    int32_t polygym_run(void **arguments, int64_t *nanoseconds);

It returns 0 and stores how long its kernel took, or returns 1 when it could not allocate memory, or
2 + k when the computed subscript number k was out of range (:mod:`polygym.ir.gathers`), or
the negative number of a promise that it would have broken (:class:`BrokenAssumption`); then what it
has left in its outputs means nothing.

Parallel code asks for its threads through one function that it is given::

    void polygym_fork(void (*task)(void *), void *data, unsigned threads, unsigned flags);

Code that calls functions of a user's library names the library in a text of its own, the functions
as :func:`foreign_symbol` says; the loader opens the one and finds the others
(:mod:`polygym.foreign.calls`).

The emitters make code that keeps to this, and the loader and its callers rely on it; neither knows
the other.
"""

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType

ENTRY_POINT = "polygym_run"
"""The name of the function that every object exports."""

FORK_FUNCTION = "polygym_fork"
"""The name of the function by which code asks for threads."""

LIBRARY_PREFIX = "polygym-library"
"""What the text begins with that names a user's library; its digest and its path follow."""

FOREIGN_PREFIX = "polygym_foreign"
"""What the names of a user's functions begin with."""


def library_text(digest: str, path: str) -> bytes:
    """Return the text that names a user's library."""
    return f"{LIBRARY_PREFIX}:{digest}:{path}".encode() + bytes(1)


def foreign_symbol(digest: str, name: str) -> str:
    """Return the name that a function of a user's library has in code."""
    return f"{FOREIGN_PREFIX}_{digest[:16]}_{name}"


OUT_OF_MEMORY = 1
FIRST_OUT_OF_RANGE = 2


class BrokenAssumption(IntEnum):
    """A promise that was not kept, by the number that the kernel returns for it."""

    OUT_OF_BOUNDS = -1
    OVERFLOW = -2
    EMPTY_LANES = -3
    INEXACT_DIVISION = -4


BROKEN_ASSUMPTION_TEXTS: Mapping[int, str] = MappingProxyType(
    {
        BrokenAssumption.OUT_OF_BOUNDS: "its loops would leave an array",
        BrokenAssumption.OVERFLOW: "its index arithmetic does not fit 64 bits",
        BrokenAssumption.EMPTY_LANES: "it runs a vector without lanes",
        BrokenAssumption.INEXACT_DIVISION: "a division leaves a remainder",
    }
)
"""What code that was refused as it ran was about to do; it has touched nothing outside its arrays.
"""
