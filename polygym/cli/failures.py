"""Exceptions as messages and exit codes; nothing that goes wrong shows as a traceback.

A defect of polygym itself is one line that asks for a report; with ``POLYGYM_DEBUG=1`` in the
environment the traceback stands above it.
"""

import io
import os
import traceback
from dataclasses import dataclass

import click

from polygym.cli.interrupts import EXIT_INTERRUPTED
from polygym.cli.output.console import brief, in_gigabytes, message_of, printable
from polygym.errors import IllegalScheduleError, InternalError, PolygymError, SourceError
from polygym.runtime.worker.outcome import OutOfMemory, ProblemError

EXIT_NEGATIVE = 1
EXIT_USAGE = 2


@dataclass(frozen=True, slots=True)
class ErrorReport:
    """What to say: ``message`` is for JSON, ``text`` for people, under the heading ``label``."""

    message: str
    code: int
    label: str = "error: "
    text: str = ""


def error_report(error: BaseException) -> ErrorReport:
    """Return what an exception means for the user."""
    match error:
        case click.ClickException():
            return ErrorReport(brief(error.format_message()), EXIT_USAGE, "", _usage(error))
        case KeyboardInterrupt() | click.Abort():
            return ErrorReport("interrupted", EXIT_INTERRUPTED, "")
        case SourceError():  # begins with its place, as compilers' messages do
            return ErrorReport(message_of(error), EXIT_USAGE, "")
        case ProblemError(outcome=OutOfMemory(message)):
            return ErrorReport(f"not enough memory: {brief(in_gigabytes(message))}", EXIT_NEGATIVE)
        case IllegalScheduleError() | ProblemError():
            return ErrorReport(message_of(error), EXIT_NEGATIVE)
        case PolygymError() if not isinstance(error, InternalError):
            return ErrorReport(message_of(error), EXIT_USAGE)
        case RecursionError():
            return ErrorReport("the input nests too deeply", EXIT_USAGE)
        case MemoryError():
            detail = message_of(error)
            return ErrorReport(
                f"not enough memory: {detail}" if detail else "not enough memory", EXIT_USAGE
            )
        case OSError():
            return ErrorReport(_system(error), EXIT_USAGE)
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


def _defect(error: BaseException) -> ErrorReport:
    detail = " ".join(str(error).split())
    name = type(error).__name__
    line = f"{name}: {detail}" if detail else name
    message = f"internal error: {brief(line)}; please report it"
    text = message
    if os.environ.get("POLYGYM_DEBUG") == "1":
        text = printable("".join(traceback.format_exception(error))) + message
    return ErrorReport(message, EXIT_USAGE, "", text)
