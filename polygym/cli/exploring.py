"""What a search shows while it is at work: a bar on a terminal, a line now and then in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from polygym.cli.output import say
from polygym.cli.text import printable
from polygym.search.tally import Tally

_SECONDS_BETWEEN_LINES = 10.0


@contextmanager
def exploring(name: str, budget: int, tally: Tally) -> Iterator[Callable[[], None]]:
    """Give a function that shows how far the tally is; standard error is where."""
    if not sys.stderr.isatty():
        yield _lines(name, budget, tally)
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
        TextColumn(printable(name), markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.description}", markup=False),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task(state(tally), total=budget, completed=tally.explored)
        yield lambda: bar.update(task, completed=tally.explored, description=state(tally))


def state(tally: Tally) -> str:
    """Return the best so far and the number of failures in a few words."""
    best = "-" if tally.best is None else f"{tally.best.evaluation.speedup:.2f}x"
    return f"best {best}, {tally.failed} failed"


def _lines(name: str, budget: int, tally: Tally) -> Callable[[], None]:
    last = time.monotonic()

    def show() -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _SECONDS_BETWEEN_LINES:
            last = now
            say(f"{name}: {tally.explored} of {budget} explored, {state(tally)}", err=True)

    return show
