"""What a sweep shows while it is at work, and at its end."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from polygym.cli.output import say
from polygym.cli.tables import print_table
from polygym.cli.text import printable, shorten
from polygym.cost.limit.bound import share_text
from polygym.search.sweep.progress import Phase, Progress, Standing
from polygym.search.sweep.statistics import KernelSummary

_SECONDS_BETWEEN_LINES = 30.0
_LONGEST_NAME = 24


@contextmanager
def sweeping() -> Iterator[Callable[[Progress], None]]:
    """Give a function that shows how far a sweep is; standard error is where."""
    if not sys.stderr.isatty():
        yield _lines()
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    with Live(console=Console(stderr=True), transient=True, auto_refresh=False) as live:
        yield lambda progress: live.update(Text(printable(_screen(progress))), refresh=True)


def line(progress: Progress) -> str:
    """Return a moment of a sweep in a line.

    Example: ``searching: 120 of 900 explored, about 12 min left; gemm 40, best 3.21x``.
    """
    parts = [f"{progress.phase.value}: {progress.explored} of {progress.wanted} explored"]
    if progress.left is not None and progress.phase is Phase.SEARCH:
        parts.append(f"about {duration(progress.left)} left")
    if progress.nodes:
        parts.append(progress.nodes)
    text = ", ".join(parts)
    busy = ", ".join(_standing(one) for one in progress.busy)
    return f"{text}; {busy}" if busy else text


def duration(seconds: float) -> str:
    """Return a time to wait.

    >>> duration(50), duration(720), duration(9000)
    ('50 s', '12 min', '2 h 30 min')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def print_summaries(summaries: Sequence[KernelSummary]) -> None:
    """Write a row for every program."""
    names = list(dict.fromkeys(name for one in summaries for name in one.references))
    limited = any(one.limit for one in summaries)
    print_table(
        (
            "KERNEL",
            "BEST",
            *(name.upper() for name in names),
            *["OF LIMIT"] * limited,
            "EXPLORED",
            "DISTINCT",
            "OK",
            "WRONG",
            "CRASHED",
        ),
        [
            (
                shorten(one.label, _LONGEST_NAME),
                ratio(one.best),
                *(ratio(one.references.get(name)) for name in names),
                *[share_text(one.of_limit)] * limited,
                one.explored,
                one.distinct,
                one.ok,
                one.defects.wrong,
                one.defects.crashed,
            )
            for one in summaries
        ],
        "lr" + "r" * (len(names) + 5 + limited),
    )


def ratio(value: float | None) -> str:
    """Return a speedup as text."""
    return "-" if value is None else f"{value:.2f}x"


def resuming(command: str) -> None:
    """Say how to go on."""
    say("interrupted; the same command goes on:", err=True)
    say(f"  {command}", err=True)


def _screen(progress: Progress) -> str:
    """Return the lines of a terminal: one for the sweep, one for every ten programs with a best."""
    found = [one for one in progress.standings if one.best is not None]
    rows = [
        "  ".join(
            f"{shorten(_label(one), 14):>14} {ratio(one.best):>7}" for one in found[k : k + 3]
        )
        for k in range(0, len(found), 3)
    ]
    warning = [f"{progress.wrong} wrong outputs"] if progress.wrong else []
    warning += [f"{progress.crashed} crashes"] if progress.crashed else []
    return "\n".join([*rows, *warning, line(progress)])


def _standing(one: Standing) -> str:
    return f"{_label(one)} {one.explored}, best {ratio(one.best)}"


def _label(one: Standing) -> str:
    return Path(one.kernel).stem if "/" in one.kernel else one.kernel


def _lines() -> Callable[[Progress], None]:
    last = -_SECONDS_BETWEEN_LINES

    def show(progress: Progress) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _SECONDS_BETWEEN_LINES:
            last = now
            say(line(progress), err=True)

    return show
