"""Exceptions as messages and exit codes; nothing that goes wrong shows as a traceback.

A defect of polygym itself is one line that asks for a report; with ``POLYGYM_DEBUG=1`` in the
environment the traceback stands above it.
"""

from __future__ import annotations

import io
import os
import traceback
from dataclasses import dataclass

import click

from polygym.cli.interrupts import INTERRUPTED
from polygym.cli.text import brief, in_gigabytes, message_of, printable
from polygym.errors import IllegalScheduleError, InternalError, PolygymError, SourceError
from polygym.measure.worker.outcome import OutOfMemory, ProblemError

NO = 1
CANNOT_BE_ASKED = 2


@dataclass(frozen=True, slots=True)
class Failure:
    """What to say: ``message`` is for JSON, ``text`` for people, under the heading ``label``."""

    message: str
    code: int
    label: str = "error: "
    text: str = ""


def failure_of(error: BaseException) -> Failure:
    """Return what an exception means for the user."""
    match error:
        case click.ClickException():
            return Failure(brief(error.format_message()), CANNOT_BE_ASKED, "", _usage(error))
        case KeyboardInterrupt() | click.Abort():
            return Failure("interrupted", INTERRUPTED, "")
        case SourceError():  # begins with its place, as compilers' messages do
            return Failure(message_of(error), CANNOT_BE_ASKED, "")
        case ProblemError(outcome=OutOfMemory(message)):
            return Failure(f"not enough memory: {brief(in_gigabytes(message))}", NO)
        case IllegalScheduleError() | ProblemError():
            return Failure(message_of(error), NO)
        case PolygymError() if not isinstance(error, InternalError):
            return Failure(message_of(error), CANNOT_BE_ASKED)
        case RecursionError():
            return Failure("the input nests too deeply", CANNOT_BE_ASKED)
        case MemoryError():
            detail = message_of(error)
            return Failure(
                f"not enough memory: {detail}" if detail else "not enough memory", CANNOT_BE_ASKED
            )
        case OSError():
            return Failure(_system(error), CANNOT_BE_ASKED)
        case _:
            return _defect(error)


def _usage(error: click.ClickException) -> str:
    """Return what click shows of a wrong usage: the usage, a pointer to the help, the message.

    Long values are shortened in the last of these, the only one that repeats the user's words.
    """
    shown = io.StringIO()
    error.show(file=shown)
    text = shown.getvalue().rstrip()
    message = error.format_message()
    if text.endswith(message):
        text = text.removesuffix(message) + brief(message)
    return printable(text)


def _system(error: OSError) -> str:
    """Return what the operating system refused, and about which file."""
    try:
        os.getcwd()
    except OSError:
        return "the working directory no longer exists: change to another one"
    reason = error.strerror or str(error) or type(error).__name__
    return printable(f"{error.filename}: {reason}" if error.filename else reason)


def _defect(error: BaseException) -> Failure:
    detail = " ".join(str(error).split())
    name = type(error).__name__
    line = f"{name}: {detail}" if detail else name
    message = f"internal error: {brief(line)}; please report it"
    text = message
    if os.environ.get("POLYGYM_DEBUG") == "1":
        text = printable("".join(traceback.format_exception(error))) + message
    return Failure(message, CANNOT_BE_ASKED, "", text)
