"""Calls of compiled code in this process: threads after a fork, and what a failed call means."""

import os
from collections.abc import Sequence

from polygym.codegen.llvm.core import binary_interface
from polygym.errors import InputError, InternalError, OutOfRangeError


class _ThreadState:
    """Whether threads have been started here; a forked child has none of its parent's.

    OpenMP does not know that it is in a child, and would wait for them forever.
    """

    started = False
    lost = False

    @classmethod
    def forked(cls) -> None:
        """Take note in a child."""
        cls.lost = cls.started


os.register_at_fork(after_in_child=_ThreadState.forked)


def note_threads() -> None:
    """Take note that code with threads is called next.

    Raises:
        InputError: this is a forked process whose parent has used threads.
    """
    if _ThreadState.lost:
        raise InputError(
            "threads cannot run in a forked process whose parent has used them: start the "
            "process with spawn, or use threads=1"
        )
    _ThreadState.started = True


def call_error(code: int, range_errors: Sequence[str], subject: str) -> Exception:
    """Return the error of a call that returned another code than 0; ``subject`` was called."""
    if code == binary_interface.OUT_OF_MEMORY:
        return MemoryError(f"the {subject} could not allocate memory for its copies")
    if code in binary_interface.BROKEN_ASSUMPTION_TEXTS:
        reason = binary_interface.BROKEN_ASSUMPTION_TEXTS[code]
        return InternalError(f"the {subject}'s code stopped itself: {reason}")
    return OutOfRangeError(range_errors[code - binary_interface.FIRST_OUT_OF_RANGE])
