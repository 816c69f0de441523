"""Limits in ``polygym bench --against limit``: as entries, in entries, and as a picture."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import click

from polygym.cli.failures import error_report
from polygym.cli.output.bench_table import BenchEntry, Json
from polygym.cli.output.limits import limit_under
from polygym.cli.output.text import shorten
from polygym.cost.limit.bound import Limit
from polygym.errors import InputError, PolygymError
from polygym.files import write_atomically
from polygym.mapping.mapping import Mapping as MachineMapping
from polygym.programs import Program
from polygym.runtime.worker.outcome import Ok, Outcome
from polygym.search.sweep.rows import LIMIT


def limit_entries(
    results: Sequence[Sequence[BenchEntry]], unlimited: Mapping[str, str]
) -> list[Json]:
    """Return the entries of the limits themselves; ``unlimited`` says of some why there is none."""
    return [
        _limit_entry(
            bench_entry.program,
            bench_entry.limit,
            unlimited.get(bench_entry.program, ""),
            bench_entry.outcome,
        )
        for bench_entry, *_ in results
    ]


def check_figure(figure: Path | None, *, limited: bool) -> None:
    """Refuse a figure of nothing, or of another kind."""
    if figure is not None and not limited:
        raise click.UsageError("--figure draws shares of the limit: it needs --against limit.")
    if figure is not None and figure.suffix.lower() not in (".png", ".svg"):
        raise InputError(
            f"--figure: expected a name that ends in .png or .svg, found {shorten(figure.name)}"
        )


def add_limits(
    row: tuple[BenchEntry, ...],
    program: Program,
    mapping: MachineMapping,
    unlimited: dict[str, str],
) -> tuple[BenchEntry, ...]:
    """Return the entries of a program with its limit; why there is none is added, by program."""
    try:
        limit = limit_under(mapping, program)
    except PolygymError as error:
        unlimited[row[0].program] = error_report(error).message
        return row
    return tuple(replace(entry, limit=limit) for entry in row)


def draw_limits(figure: Path, results: Sequence[Sequence[BenchEntry]], size: str) -> None:
    """Write the picture of all programs under their roofs."""
    from polygym.pictures.charts.limit_shares import LimitShares, limit_shares_picture

    shown = []
    for row in results:
        shares = {
            bench_entry.schedule: bench_entry.share_of_limit
            for bench_entry in row
            if bench_entry.share_of_limit is not None
        }
        if row[0].limit is not None and shares:
            named = {shorten(name, 24): value for name, value in shares.items()}
            shown.append(LimitShares(row[0].program, named, row[0].limit.bottleneck.value))
    picture = limit_shares_picture(shown, size)
    is_png = figure.suffix.lower() == ".png"
    figure.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(figure, picture.png if is_png else picture.svg)


def _limit_entry(program: str, limit: Limit | None, error: str, original: Outcome | None) -> Json:
    """Return the entry of the limit itself: no code, but a time below which there is none."""
    result = None if limit is None else limit.to_json()
    best = original.best if isinstance(original, Ok) else None
    return {
        "program": program,
        "schedule": LIMIT,
        "status": "error" if limit is None else LIMIT,
        "error": error or None,
        "seconds": None if limit is None else limit.seconds,
        "speedup": best / limit.seconds if best and limit and limit.seconds else None,
        "limit": result,
    }
