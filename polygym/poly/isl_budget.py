"""A bound on the operations of isl.

Presburger arithmetic is decidable but not cheap: a few lines of a user's text can ask isl for more
work than there is time. isl counts its basic operations, which is deterministic (unlike a clock),
so every entry point that meets a user's input runs under :func:`bounded_operations`. Twenty million
operations take some seconds; the largest kernels of the suite need less than three.

The count and the bound belong to isl's context, which all threads share: what one does would count
against the bound of another, and fail where that is passed. So one thread at a time has a bound,
and entry points that threads share keep the others out, :func:`exclusive_isl`.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import islpy as isl

from polygym.errors import InternalError, LimitError

DEFAULT_OPERATIONS = 20_000_000

_EXCEEDED = "maximal number of operations exceeded"


class _Turn:
    """Whose turn it is: a lock that one thread may take several times."""

    lock = threading.RLock()

    @classmethod
    def forked(cls) -> None:
        """Take the lock, and the bound, from a thread that a forked process does not have."""
        if cls.lock.acquire(blocking=False):
            cls.lock.release()
            return
        cls.lock = threading.RLock()
        isl.DEFAULT_CONTEXT.set_max_operations(0)
        isl.DEFAULT_CONTEXT.reset_operations()


os.register_at_fork(after_in_child=_Turn.forked)


@contextmanager
def exclusive_isl() -> Iterator[None]:
    """Keep other threads from isl, as far as they ask for it, until the body ends."""
    with _Turn.lock:
        yield


@contextmanager
def bounded_operations(purpose: str, operations: int = DEFAULT_OPERATIONS) -> Iterator[None]:
    """Run the body with at most so many isl operations in the default context.

    Past the bound a :class:`LimitError` names the ``purpose``. Any other failure of isl inside is
    ours, an :class:`InternalError`. A ``bounded_operations`` inside another one keeps the outer
    bound. Other threads that ask for a bound wait.
    """
    with _Turn.lock:
        yield from _bounded(purpose, operations)


def _bounded(purpose: str, operations: int) -> Iterator[None]:
    context = isl.DEFAULT_CONTEXT
    outermost = context.get_max_operations() == 0
    if outermost:
        context.reset_operations()
        context.set_max_operations(operations)
    try:
        yield
    except isl.Error as error:
        if _EXCEEDED in str(error) or is_exhausted():
            raise LimitError(
                f"{purpose} took more than {context.get_max_operations():,} operations on integer "
                "sets; the program is too large or too irregular to be answered exactly"
            ) from None
        raise InternalError(f"{purpose}: {error}") from error
    finally:
        if outermost:
            context.set_max_operations(0)
            context.reset_operations()


@contextmanager
def attempt_bounded(operations: int, context: isl.Context = isl.DEFAULT_CONTEXT) -> Iterator[None]:
    """Run the body with at most so many operations, for which there is another way if it fails.

    The bound around it holds again afterwards, for what follows alone. Where that is the smaller
    one, it holds inside too.
    """
    with _Turn.lock:
        yield from _attempted(operations, context)


def _attempted(operations: int, context: isl.Context) -> Iterator[None]:
    around = context.get_max_operations()
    if 0 < around <= operations:
        yield
        return
    context.reset_operations()
    context.set_max_operations(operations)
    try:
        yield
    finally:
        context.set_max_operations(around)
        context.reset_operations()


@contextmanager
def unbounded_operations() -> Iterator[None]:
    """Lift the bound for the body, which must not do much: a callback that isl cannot interrupt."""
    context = isl.DEFAULT_CONTEXT
    before = context.get_max_operations()
    context.set_max_operations(0)
    try:
        yield
    finally:
        context.set_max_operations(before)


def is_exhausted(context: isl.Context = isl.DEFAULT_CONTEXT) -> bool:
    """Whether the bound was passed; isl's reader reports that as a syntax error."""
    try:
        isl.Set.read_from_str(context, "{ [i] : i > 0 }")
    except isl.Error:
        return True
    return False
