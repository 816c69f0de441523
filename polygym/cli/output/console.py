"""Printing: for people on a terminal, for other programs in a pipe, and as JSON on request."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from polygym.cli.output.text import in_gigabytes, printable
from polygym.runtime.worker.background_load import BackgroundLoad
from polygym.runtime.worker.outcome import Ok, Outcome

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn


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
        write_text(load.warning, err=True)


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
