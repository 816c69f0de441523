"""Exceptions of polygym: one tree; a message names the place, the expected and the found.

A user meets three kinds of trouble: a source text that is outside the class of programs polygym
understands (:class:`SourceError`), a value that does not fit (:class:`InputError`: an unknown
kernel, a schedule that does not parse, a parameter below its bound), and a schedule that would
change what the program computes (:class:`IllegalScheduleError`). What happens to *running* code is
never an exception where it is measured: see :mod:`polygym.runtime.worker.outcome`. Where it is
called, it may find that its arguments make no sense (:class:`OutOfRangeError`).
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "IllegalScheduleError",
    "InputError",
    "InternalError",
    "LimitError",
    "LongWaitWarning",
    "MissingLibraryError",
    "OutOfRangeError",
    "PolygymError",
    "SourceError",
    "SourceLocation",
    "UnknownValueError",
    "printable",
]


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """A position in a source text: file, line and column (both from 1) and the line itself."""

    file: str
    line: int
    column: int
    text: str = ""

    def __str__(self) -> str:
        """Render as the compilers do: ``file:line:column``."""
        return f"{printable(self.file)}:{self.line}:{self.column}"

    def excerpt(self) -> str:
        """Return the source line with a caret under the column, or nothing without a line.

        What is not printable is escaped, or the text could steer the terminal that shows it.

        >>> print(SourceLocation("a.c", 3, 5, "x = y;").excerpt())
            x = y;
                ^
        """
        if not self.text:
            return ""
        column = min(max(self.column, 1), len(self.text) + 1)
        before = printable(self.text[: column - 1])
        lead = "".join("\t" if character == "\t" else " " for character in before)
        return f"    {printable(self.text)}\n    {lead}^"


def printable(text: str) -> str:
    """Return the text with control characters escaped, tabs apart.

    >>> printable(chr(7) + "bell") == chr(92) + "x07bell"
    True
    """
    return "".join(
        character if character.isprintable() or character == "\t" else ascii(character)[1:-1]
        for character in text
    )


def _render_at(location: SourceLocation, message: str, hint: str = "") -> str:
    """Return what is said of a place: the sentence, the line with a caret, the hint."""
    lines = [f"{location}: error: {printable(message)}"]
    if excerpt := location.excerpt():
        lines.append(excerpt)
    if hint:
        lines.append(f"    hint: {printable(hint)}")
    return "\n".join(lines)


class PolygymError(Exception):
    """The root: whatever polygym raises on purpose derives from it."""


class InputError(PolygymError):
    """A value handed in by a user does not fit; the message says what would."""


class MissingLibraryError(InputError, ImportError):
    """An optional library is not installed; the message names the extra that has it.

    >>> print(MissingLibraryError("Parquet files", "pyarrow", "cost"))
    Parquet files: expected the package pyarrow, found none: pip install 'polygym[cost]'
    """

    def __init__(self, purpose: str, library: str, extra: str) -> None:
        """Make the message; ``extra`` is an extra of the package polygym."""
        super().__init__(
            f"{purpose}: expected the package {library}, found none: pip install 'polygym[{extra}]'"
        )


class LimitError(InputError):
    """The question is well posed, but answering it exactly went past the bound on the work."""

    @classmethod
    def at(cls, location: SourceLocation, message: str) -> LimitError:
        """Return the error of a place in a source text."""
        return cls(_render_at(location, message))


class IllegalScheduleError(InputError):
    """A schedule breaks a dependence; it must not reach the code generator."""


class SourceError(InputError):
    """A source text was refused at a place.

    ``message`` is one sentence saying why; ``hint`` (optional) says what to do about it.
    """

    def __init__(self, location: SourceLocation, message: str, hint: str = "") -> None:
        """Keep the parts, and render all of them as the text of the exception."""
        self.location = location
        self.message = message
        self.hint = hint
        super().__init__(_render_at(location, message, hint))


class UnknownValueError(SourceError):
    """A source text is understood where the values of some ``names`` are given, and only there."""

    def __init__(
        self, location: SourceLocation, message: str, hint: str, names: tuple[str, ...]
    ) -> None:
        """Keep the names beside the rest."""
        self.names = names
        super().__init__(location, message, hint)


class OutOfRangeError(InputError, IndexError):
    """A subscript that a comprehension computes from its arguments is none of the tensor's."""


class ForeignCallError(PolygymError, OSError):
    """The system refused what a function of another library was asked for: its number, its words.

    >>> ForeignCallError(3, "clock_getcpuclockid: No such process").errno
    3
    """


class MissingDeviceError(InputError):
    """There is no device of the kind that was asked for; the message names what is needed."""


class DriverError(ForeignCallError):
    """The driver of a device refused something, or a kernel failed.

    >>> error = DriverError(700, "CUDA_ERROR_ILLEGAL_ADDRESS", "cuStreamSynchronize: an address")
    >>> print(error.name, error.is_fatal)
    CUDA_ERROR_ILLEGAL_ADDRESS True
    """

    _FATAL = frozenset({700, 702, 709, 710, *range(714, 720), 999})

    def __init__(self, number: int, name: str, details: str) -> None:
        """Keep the driver's number and name of the error, and what it says."""
        super().__init__(number, f"{name}: {details}")
        self.number = number
        self.name = name
        self.details = details

    @property
    def is_fatal(self) -> bool:
        """Whether the process can do nothing more with the device."""
        return self.number in self._FATAL

    def __reduce__(self) -> tuple[type, tuple[int, str, str]]:
        """Return what a copy is made of."""
        return type(self), (self.number, self.name, self.details)


class InternalError(PolygymError):
    """An invariant of polygym's own does not hold: a defect here, not in the input."""


class LongWaitWarning(UserWarning):
    """Something takes long; the message says when it is given up."""
