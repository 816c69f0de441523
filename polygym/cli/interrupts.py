"""Ctrl-C: what it does while a command is at work.

An exception in the middle of anything, which is what Python makes of Ctrl-C, is not safe here: the
integer set library calls Python back and loses or does not survive exceptions, and so do imports.
Therefore the command leaves at once instead, from within the signal's handler. It may do so because
little depends on its orderly end: the worker's processes end with it, and temporary folders are
removed. Where a part of the answer is worth having, :func:`interrupts_raise` brings the exception
back, and :func:`interrupts_deferred` keeps it out of what would not stand it.

This module imports little, so that it is in place early.
"""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

EXIT_INTERRUPTED = 130
_SHOW_CURSOR = b"\r\x1b[K\x1b[?25h"  # and clear the line on which progress was shown


def exit_on_interrupt(as_json: bool) -> None:
    """From now on Ctrl-C writes what there is, says ``interrupted``, and ends the process."""

    def leave(_: int, __: FrameType | None) -> None:
        with suppress(OSError, ValueError, RuntimeError):  # the last: in the middle of a write
            sys.stdout.flush()
        if (files := sys.modules.get("polygym.files")) is not None:
            files.remove_temporary_folders()
        with suppress(OSError):
            if os.isatty(2) and os.environ.get("TERM") != "dumb":
                os.write(2, _SHOW_CURSOR)
            os.write(*((1, b'{"error": "interrupted"}\n') if as_json else (2, b"interrupted\n")))
        os._exit(EXIT_INTERRUPTED)

    signal.signal(signal.SIGINT, leave)


def ignore_interrupts() -> None:
    """From now on Ctrl-C does nothing: only the answer is left to be written."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def interrupts_raise() -> Iterator[None]:
    """Inside, Ctrl-C is a KeyboardInterrupt."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Inside, Ctrl-C has to wait; its exception comes at the end."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
