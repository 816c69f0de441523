"""Printing: for people on a terminal, for other programs in a pipe, and as JSON on request."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from polygym.measure.outcome import Ok, Outcome


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


def heading(text: str) -> None:
    """Write a heading: bold on a terminal."""
    click.secho(text, bold=True)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], right: str = "") -> None:
    """Write a table, with rules and colours on a terminal and aligned text in a pipe.

    ``right`` has one letter a column: ``r`` aligns it to the right, anything else to the left.
    """
    aligned = right.ljust(len(columns), "l")
    table = [tuple(str(cell) for cell in row) for row in rows]
    if sys.stdout.isatty():
        _rich_table(columns, table, aligned)
        return
    widths = [max(len(cell) for cell in column) for column in zip(columns, *table, strict=True)]
    for row in (columns, *table):
        cells = (
            cell.rjust(width) if side == "r" else cell.ljust(width)
            for cell, width, side in zip(row, widths, aligned, strict=True)
        )
        click.echo("  ".join(cells).rstrip())


def _rich_table(columns: Sequence[str], rows: list[tuple[str, ...]], aligned: str) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, header_style="bold")
    for column, side in zip(columns, aligned, strict=True):
        table.add_column(column, justify="right" if side == "r" else "left")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console().print(table)


@contextmanager
def progress(items: Sequence[str], purpose: str) -> Iterator[Iterator[str]]:
    """Give the items one after the other, with a bar on the terminal's standard error."""
    if not sys.stderr.isatty():
        yield iter(items)
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task(purpose, total=len(items))

        def walk() -> Iterator[str]:
            for item in items:
                bar.update(task, description=f"{purpose} {item}")
                yield item
                bar.advance(task)

        yield walk()


@contextmanager
def working(purpose: str) -> Iterator[None]:
    """Show on the terminal's standard error what is being waited for."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(purpose, refresh_per_second=4):
        yield


def seconds(value: float) -> str:
    """Return a time with three significant digits and a unit.

    >>> seconds(0.00123)
    '1.23 ms'
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def status_line(outcome: Outcome) -> None:
    """Write an outcome in one line: green when the program ran and was right, red otherwise."""
    is_ok = isinstance(outcome, Ok)
    text = outcome.status.value if is_ok else str(outcome)
    click.secho(text, fg="green" if is_ok else "red", bold=True)
