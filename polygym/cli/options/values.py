"""Options by the type of their value: counts, factors, durations, bytes, files, choices.

Options of one type have one metavar, and help texts print no ranges.

Reading a file that a user named: a small regular file with text in it, or a message.
"""

import re
import stat
from collections.abc import Callable, Iterable
from math import nan
from pathlib import Path
from typing import Any, TypeVar

import click

from polygym.cli.output.console import shorten
from polygym.durations import parse_duration
from polygym.errors import InputError

F = TypeVar("F", bound=Callable[..., Any])

MOST = 2**62
"""The largest count that an option takes."""

_BYTE_UNITS = {"": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_BYTES = re.compile(r"(\d+)\s*(|KiB|MiB|GiB)")


class Duration(click.ParamType[float]):
    """A duration with a unit, such as ``90s``, ``10m`` or ``1.5h``, in seconds; never 0."""

    name = "duration"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the seconds of a text."""
        if isinstance(value, float):
            return value
        try:
            seconds = parse_duration(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if not 0 < seconds < float("inf"):
            self.fail(f"expected a duration above 0s, found {value!r}", param, ctx)
        return seconds


class ByteCount(click.ParamType[int]):
    """A number of bytes, with or without a unit: ``4096``, ``512MiB``."""

    name = "bytes"

    def __init__(self, least: int = 0) -> None:
        """Set the least number of bytes."""
        self.least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the bytes of a text."""
        if isinstance(value, int):
            return value
        match = _BYTES.fullmatch(value.strip())
        result = int(match[1]) * _BYTE_UNITS[match[2]] if match else -1
        if not self.least <= result <= MOST:
            least = f" of at least {self.least}" if self.least else ""
            self.fail(f"expected a number of bytes{least} such as 512MiB, found {value!r}", param)
        return result


def parsed_by(parse: Callable[[Any], Any], limit: int = 300) -> Callable[..., Any]:
    """Return a callback that parses a value where one is given; so long are messages at most."""

    def callback(_: click.Context, __: click.Parameter, value: Any) -> Any:
        try:
            return None if value is None else parse(value)
        except (InputError, ValueError) as error:
            raise click.BadParameter(shorten(str(error), limit)) from None

    return callback


def combined(*options: Callable[[Any], Any]) -> Callable[[F], F]:
    """Return a decorator that adds options in this order."""

    def add(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return add


class BoundedNumber(click.ParamType[float]):
    """A whole or real number within bounds; errors name the bounds that matter.

    >>> BoundedNumber(int, 1).range_text, BoundedNumber(float, 0.5, 2.0).range_text
    ('from 1 on', 'from 0.5 to 2')
    """

    name = "number"

    def __init__(self, kind: type[int | float], least: float, most: float = MOST) -> None:
        """Set the type and the bounds."""
        self.kind, self.least, self.most = kind, least, most

    @property
    def range_text(self) -> str:
        """The bounds in words."""
        form = "d" if self.kind is int else "g"
        end = "on" if self.most == MOST else f"to {self.most:{form}}"
        return f"from {self.least:{form}} {end}"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number of a text."""
        try:
            number = self.kind(value)
        except (ValueError, OverflowError):
            number = nan  # which no bounds hold
        if not self.least <= number <= self.most:
            what = "a whole number" if self.kind is int else "a number"
            self.fail(f"expected {what} {self.range_text}, found {value!r}", param, ctx)
        return number


def _option(*names: str, default: Any = None, **named: Any) -> Callable[[F], F]:
    shown = default is not None
    return click.option(*names, default=default, show_default=shown, **named)


def count_option(
    *names: str, help: str, least: int = 1, most: int = MOST, default: int | None = None
) -> Callable[[F], F]:
    """Return a decorator that adds an option for a whole number."""
    kind = BoundedNumber(int, least, most)
    return _option(*names, type=kind, metavar="N", default=default, help=help)


def factor_option(
    *names: str, help: str, least: float, most: float, default: float
) -> Callable[[F], F]:
    """Return a decorator that adds an option for a real number."""
    kind = BoundedNumber(float, least, most)
    return _option(*names, type=kind, metavar="X", default=default, help=help)


def duration_option(*names: str, help: str, default: str | None = None) -> Callable[[F], F]:
    """Return a decorator that adds an option for a duration, in seconds for the command."""
    return _option(*names, type=Duration(), metavar="DURATION", default=default, help=help)


def bytes_option(*names: str, help: str, least: int = 0, **named: Any) -> Callable[[F], F]:
    """Return a decorator that adds an option for a number of bytes."""
    return _option(*names, type=ByteCount(least), metavar="BYTES", help=help, **named)


def choice_option(
    *names: str, choices: Iterable[str], help: str, default: str | None = None
) -> Callable[[F], F]:
    """Return a decorator that adds an option for one of some names."""
    return _option(*names, type=click.Choice(list(choices)), default=default, help=help)


def file_option(
    *names: str, help: str, metavar: str = "FILE", multiple: bool = False
) -> Callable[[F], F]:
    """Return a decorator that adds an option for the path of a file."""
    kind = click.Path(dir_okay=False, path_type=Path)
    return click.option(*names, type=kind, metavar=metavar, multiple=multiple, help=help)


def file_argument(name: str, metavar: str, *, required: bool = True) -> Callable[[F], F]:
    """Return a decorator that adds an argument for the path of a file."""
    kind = click.Path(dir_okay=False, path_type=Path)
    shown = metavar if required else f"[{metavar}]"
    return click.argument(name, metavar=shown, type=kind, required=required)


_LARGEST_FILE = 1


def read_small_file(
    name: str, what: str, instead: str = "a file", mebibytes: int = _LARGEST_FILE
) -> str:
    """Return the text of a file.

    What is not a small regular file is left alone: a device or a pipe may never end. ``what`` is
    meant to be in it, ``instead`` says what else the user could have written where there is none;
    small is what has so many ``mebibytes`` at most.
    """
    path = Path(name)
    shown = f"{what}: {shorten(name)}"
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise InputError(
                f"{shown}: expected a file, found something that is not a regular file"
            )
        if status.st_size > mebibytes * 2**20:
            raise InputError(
                f"{shown}: expected a small file, found one larger than {mebibytes} MiB"
            )
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"{shown}: expected {instead}; there is no such file") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{shown}: expected UTF-8 text: {error.reason}") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{shown}: cannot read it: {reason}") from None
