r"""Printing: for people on a terminal, for other programs in a pipe, and as JSON on request.

Text from outside, made fit for a terminal: nothing hidden in it, and nothing endless.

What a user hands in (file names, options, lines of a source) comes back in messages and listings. A
terminal obeys control characters, and a stream may refuse half a surrogate pair; both are written
as escapes here, ``\x1b`` for ESC.

Tables: with rules on a terminal that is wide enough, as aligned text anywhere else.

Result of a command: an exit code and, under ``--json``, one document.

Commands print for people as they go, but return their document: it is written in one place, once,
after everything that can fail or be interrupted (:mod:`polygym.cli.dispatch`).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import click

from polygym.errors import SourceError, SourceLocation
from polygym.runtime.worker.background_load import BackgroundLoad
from polygym.runtime.worker.outcome import Ok, Outcome

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn
    from rich.table import Table

_LONG_WORD = re.compile(r"\S{161,}")
_LONGEST_MESSAGE = 4000
_TOO_LARGE = re.compile(r"the memory of a run: expected at most (\d+) bytes, found (\d+)")


def printable(text: str) -> str:
    r"""Return the text with everything escaped that does not show, line ends and tabs excepted.

    >>> printable("a\x1b[31m b\n")
    'a\\x1b[31m b\n'
    """
    return "".join(
        character
        if character.isprintable() or character in "\n\t"
        else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def counted(count: int, noun: str) -> str:
    """Return how many there are of something.

    >>> counted(1, "row"), counted(2, "row")
    ('1 row', '2 rows')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def sizes_text(sizes: Iterable[tuple[str, object]]) -> str:
    """Return sizes as text.

    >>> sizes_text([("n", 4), ("m", 5)])
    'n = 4, m = 5'
    """
    return ", ".join(f"{name} = {value}" for name, value in sizes)


def shorten(text: str, limit: int = 120) -> str:
    """Return the text, its end cut off past the limit.

    >>> shorten("abcdefgh", 5)
    'abcd…'
    """
    return text if len(text) <= limit else text[: limit - 1] + "…"


def message_of(error: Exception) -> str:
    """Return an error's message with its long values shortened and hidden characters shown."""
    if isinstance(error, SourceError):
        shown = _shown_place(error.location)
        error = SourceError(shown, brief(error.message), brief(error.hint))
        return str(error)
    return brief(str(error))


def in_gigabytes(text: str) -> str:
    """Return a message in which a lack of memory is a plain sentence.

    >>> in_gigabytes("the memory of a run: expected at most 8000000000 bytes, found 240000000048")
    'to run it takes 240.0 GB of memory, at most 8.0 GB are there: choose smaller sizes'
    """
    return _TOO_LARGE.sub(
        lambda match: (
            f"to run it takes {int(match[2]) / 1e9:,.1f} GB of memory, at most "
            f"{int(match[1]) / 1e9:,.1f} GB are there: choose smaller sizes"
        ),
        text,
    )


def brief(text: str) -> str:
    """Cut the middle out of long words, and the end off a long message."""
    cut = _LONG_WORD.sub(lambda match: f"{match[0][:100]}…{match[0][-20:]}", text)
    return printable(shorten(cut, _LONGEST_MESSAGE))


def _shown_place(place: SourceLocation) -> SourceLocation:
    """Return the place with a printable line, and the column moved to where the caret belongs."""
    before = printable(place.text[: place.column - 1])
    return SourceLocation(
        printable(place.file),
        place.line,
        len(before) + 1 if place.text else place.column,
        printable(place.text),
    )


def listed(text: str) -> tuple[str, ...]:
    """Return the entries of a list with commas.

    >>> listed("gcc, polly,")
    ('gcc', 'polly')
    """
    return tuple(filter(None, (part.strip() for part in text.split(","))))


def print_json(value: Any) -> None:
    """Write one JSON document; numbers that JSON does not have (NaN, infinity) become null."""
    click.echo(json.dumps(_finite(value), indent=2))


def _finite(value: Any) -> Any:
    match value:
        case float() if value != value or value in (float("inf"), float("-inf")):
            return None
        case dict():
            return {key: _finite(item) for key, item in value.items()}
        case list() | tuple():
            return [_finite(item) for item in value]
        case _:
            return value


def is_plain_output() -> bool:
    """Whether the user wants no colours, or has a terminal that shows none."""
    return bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"


def write_text(text: str, *, err: bool = False, newline: bool = True, **style: Any) -> None:
    """Write text that may hold words of the user's; styled on a terminal that shows it."""
    colour = False if is_plain_output() else None  # None: click looks whether it is a terminal
    click.secho(printable(text), err=err, nl=newline, color=colour, **style)


def write_wrapped(text: str, *, err: bool = False) -> None:
    """Write a paragraph; a terminal that is too narrow gets it in lines broken at spaces."""
    stream = sys.stderr if err else sys.stdout
    if stream.isatty():
        width = shutil.get_terminal_size().columns
        indent = " " * (len(text) - len(text.lstrip()))
        lines = textwrap.wrap(
            text,
            width,
            subsequent_indent=f"{indent}  ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        text = "\n".join(lines)
    write_text(text, err=err)


def write_verdict(verdict: str, text: str, *, err: bool = False, good: bool = False) -> None:
    """Write what was decided, in green or in red, and the text behind it."""
    write_text(verdict, err=err, newline=False, fg="green" if good else "red", bold=True)
    write_text(text, err=err)


def heading(text: str) -> None:
    """Write a heading: bold on a terminal."""
    write_text(text, bold=True)


def terminal_bar(columns: Sequence[ProgressColumn]) -> Progress:
    """Return a bar on the terminal's standard error that leaves nothing behind."""
    from rich.console import Console
    from rich.progress import Progress

    return Progress(*columns, console=Console(stderr=True), transient=True)


@contextmanager
def progress(items: Sequence[str], purpose: str) -> Iterator[Iterator[str]]:
    """Give the items one after the other, with a bar on the terminal's standard error."""
    if not sys.stderr.isatty():
        yield iter(items)
        return
    from rich import progress as bars

    description = bars.TextColumn("{task.description}", markup=False)
    columns = description, bars.BarColumn(), bars.MofNCompleteColumn(), bars.TimeRemainingColumn()
    with terminal_bar(columns) as bar:
        task = bar.add_task(purpose, total=len(items))

        def walk() -> Iterator[str]:
            for item in items:
                bar.update(task, description=printable(f"{purpose} {item}"))
                yield item
                bar.advance(task)

        yield walk()


@contextmanager
def spinner(purpose: str) -> Iterator[None]:
    """Show on the terminal's standard error what is being waited for."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status(Text(printable(purpose)), refresh_per_second=4):
        yield


def report_background_load(load: BackgroundLoad | None) -> None:
    """Say on standard error that others used the machine too, if they did."""
    if load is not None and load.warning:
        write_wrapped(load.warning, err=True)


def attributes(value: object, *names: str) -> dict[str, Any]:
    """Return some attributes of a value by their names, for a document."""
    return {name: getattr(value, name) for name in names}


def format_seconds(value: float | None) -> str:
    """Return a time with three significant digits and a unit; a dash for none.

    >>> format_seconds(0.00123), format_seconds(None)
    ('1.23 ms', '-')
    """
    if value is None:
        return "-"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def status_line(outcome: Outcome) -> None:
    """Write an outcome in one line: green when the program ran and was right, red otherwise."""
    is_ok = isinstance(outcome, Ok)
    text = outcome.status.value if is_ok else in_gigabytes(str(outcome))
    write_text(text, fg="green" if is_ok else "red", bold=True)


_Rows: TypeAlias = list[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Record:
    """A row of a table as a list: a title, and names with their cells; empty ones are left out."""

    title: str
    cells: tuple[tuple[str, str], ...]


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    right: str = "",
    optional: Sequence[str] = (),
    records: Sequence[Record] | None = None,
) -> tuple[str, ...]:
    """Write a table, and return the columns that it leaves out.

    ``right`` has one letter a column: ``r`` aligns it to the right, anything else to the left. The
    columns in ``optional`` are left out one by one, in this order, while a terminal is too narrow
    for all. What still does not fit is folded at spaces; where not even the longest words fit, each
    row is written as a list of its columns, or as its record where there are ``records``.
    """
    header = tuple(columns)
    sides = right.ljust(len(header), "l")
    cells = [tuple(printable(str(cell)) for cell in row) for row in rows]
    if not sys.stdout.isatty():
        _print_plain(header, cells, sides)
        return ()
    from rich.console import Console

    from polygym.cli.output.table_widths import column_widths, full_width, least_width

    console = Console(color_system=None if is_plain_output() else "auto")
    full = [full_width(*column) for column in _columns(header, cells)]
    for name in optional:
        if sum(full) + _borders(header) <= console.width:
            break
        header, cells, sides = _without(header.index(name), header, cells, sides)
        full = [full_width(*column) for column in _columns(header, cells)]
    least = [
        least_width(*column, side == "r")
        for column, side in zip(_columns(header, cells), sides, strict=True)
    ]
    widths = column_widths(least, full, console.width - _borders(header))
    if widths is None:
        _print_records(_column_records(header, cells) if records is None else records)
    else:
        console.print(_rich_table(header, cells, sides, widths))
    return tuple(name for name in columns if name not in header)


def _print_plain(header: tuple[str, ...], rows: _Rows, sides: str) -> None:
    """Write aligned columns, two spaces between them."""
    widths = [max(len(cell) for cell in column) for column in zip(header, *rows, strict=True)]
    for row in (header, *rows):
        cells = (
            cell.rjust(width) if side == "r" else cell.ljust(width)
            for cell, width, side in zip(row, widths, sides, strict=True)
        )
        click.echo("  ".join(cells).rstrip())


def _column_records(header: tuple[str, ...], rows: _Rows) -> list[Record]:
    return [Record(row[0], tuple(zip(header[1:], row[1:], strict=True))) for row in rows]


def _print_records(records: Sequence[Record]) -> None:
    """Write each row below its title, a named cell a line."""
    width = max((len(name) for record in records for name, _ in record.cells), default=0)
    for record in records:
        click.echo(printable(record.title))
        for name, cell in record.cells:
            if cell:
                click.echo(printable(f"  {name.ljust(width)}  {cell}"))


def _without(
    index: int, header: tuple[str, ...], rows: _Rows, sides: str
) -> tuple[tuple[str, ...], _Rows, str]:
    """Return the table without one column."""
    kept = [row[:index] + row[index + 1 :] for row in (header, *rows)]
    return kept[0], kept[1:], sides[:index] + sides[index + 1 :]


def _rich_table(header: tuple[str, ...], rows: _Rows, sides: str, widths: Sequence[int]) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, header_style="bold")
    for column, side, width in zip(header, sides, widths, strict=True):
        justify: Literal["left", "right"] = "right" if side == "r" else "left"
        table.add_column(Text(column), justify=justify, overflow="fold", width=width)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table


def _columns(header: tuple[str, ...], rows: _Rows) -> list[tuple[str, tuple[str, ...]]]:
    """Return each heading with its cells."""
    return [(name, tuple(row[place] for row in rows)) for place, name in enumerate(header)]


def _borders(header: tuple[str, ...]) -> int:
    """Return how many characters of a line stand between columns and around them."""
    return 3 * len(header) + 1


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The exit code (see :mod:`polygym.cli.dispatch`) and the document, None for people."""

    code: int = 0
    document: Any = None


def changed(message: str, as_json: bool) -> CommandResult:
    """Return that a record does not lead to what it led to before, or say it."""
    document = {"agrees": False, "error": message}
    return answer(as_json, document, lambda: write_verdict("changed", f": {message}", err=True), 1)


def answer(
    as_json: bool, document: Any, show: Callable[[], object] | None = None, code: int = 0
) -> CommandResult:
    """Return a document, or show for people what it says."""
    if as_json:
        return CommandResult(code, document)
    if show is not None:
        show()
    return CommandResult(code)
