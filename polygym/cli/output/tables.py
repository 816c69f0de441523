"""Tables: with rules on a terminal that is wide enough, as aligned text anywhere else."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import click

from polygym.cli.output.console import is_plain_output
from polygym.cli.output.text import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_Rows: TypeAlias = list[tuple[str, ...]]


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    right: str = "",
    optional: Sequence[str] = (),
) -> None:
    """Write a table.

    ``right`` has one letter a column: ``r`` aligns it to the right, anything else to the left. The
    columns in ``optional`` are left out one by one, in this order, while a terminal is too narrow
    for all. What still does not fit is folded at spaces; where not even the longest words fit, the
    table is written as in a pipe, and the terminal breaks its lines.
    """
    header = tuple(columns)
    sides = right.ljust(len(header), "l")
    cells = [tuple(printable(str(cell)) for cell in row) for row in rows]
    if not sys.stdout.isatty():
        _print_plain(header, cells, sides)
        return
    from rich.console import Console

    console = Console(color_system=None if is_plain_output() else "auto")
    least, most = _widths(console, _rich_table(header, cells, sides))
    for name in optional:
        if most <= console.width:
            break
        header, cells, sides = _without(header.index(name), header, cells, sides)
        least, most = _widths(console, _rich_table(header, cells, sides))
    if least > console.width:
        _print_plain(header, cells, sides)
        return
    console.print(_rich_table(header, cells, sides))


def _print_plain(header: tuple[str, ...], rows: _Rows, sides: str) -> None:
    """Write aligned columns, two spaces between them."""
    widths = [max(len(cell) for cell in column) for column in zip(header, *rows, strict=True)]
    for row in (header, *rows):
        cells = (
            cell.rjust(width) if side == "r" else cell.ljust(width)
            for cell, width, side in zip(row, widths, sides, strict=True)
        )
        click.echo("  ".join(cells).rstrip())


def _without(
    index: int, header: tuple[str, ...], rows: _Rows, sides: str
) -> tuple[tuple[str, ...], _Rows, str]:
    """Return the table without one column."""
    kept = [row[:index] + row[index + 1 :] for row in (header, *rows)]
    return kept[0], kept[1:], sides[:index] + sides[index + 1 :]


def _rich_table(header: tuple[str, ...], rows: _Rows, sides: str) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, header_style="bold")
    for column, side in zip(header, sides, strict=True):
        table.add_column(Text(column), justify="right" if side == "r" else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table


def _widths(console: Console, table: Table) -> tuple[int, int]:
    """Return the width that the longest words need, and the one at which nothing is folded."""
    measured = console.measure(table, options=console.options.update(max_width=10_000))
    return measured.minimum, measured.maximum
