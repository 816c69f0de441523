"""What a search shows while it is at work: a bar on a terminal, a line now and then in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from polygym.cli.output.console import spinner, write_text
from polygym.cli.output.text import printable
from polygym.search import TuningProgress
from polygym.search.corpus.collector import CollectionProgress
from polygym.search.folder import SearchFolder
from polygym.search.tally import SearchTally

_SECONDS_BETWEEN_LINES = 10.0


def search_progress(
    name: str, budget: int, tally: SearchTally
) -> AbstractContextManager[Callable[[], None]]:
    """Give a function that shows how far the tally is; standard error is where."""
    return _progress(name, "explored", budget, lambda: tally.explored, lambda: tally_state(tally))


def mapping_progress(
    name: str, count: int, search: SearchFolder
) -> AbstractContextManager[Callable[[], None]]:
    """Give a function that shows how many mappings have been tried."""

    def best() -> str:
        return "-" if search.best is None else f"best {search.best.evaluation.speedup:.2f}x"

    return _progress(name, "mappings tried", count, lambda: search.trials.count, best)


def tuning_progress(
    name: str, total: int, latest: Sequence[TuningProgress], nodes: Callable[[], str] = str
) -> AbstractContextManager[Callable[[], None]]:
    """Give a function that shows how far a tuner is, which is what the last of ``latest`` says.

    ``nodes`` says how those of a cluster are, "" where there is none.
    """

    def count() -> int:
        return latest[-1].tried if latest else 0

    def best() -> str:
        result = f"best {latest[-1].best:.2f}x" if latest and latest[-1].best else "best -"
        return _listed(result, nodes())

    return _progress(name, "candidates tried", total, count, best)


def collection_progress(
    name: str,
    total: int,
    before: int,
    latest: Sequence[CollectionProgress],
    nodes: Callable[[], str] = str,
) -> AbstractContextManager[Callable[[], None]]:
    """Give a function that shows how far a collection is, and of what the last row was.

    ``nodes`` says how those of a cluster are, "" where there is none.
    """

    def count() -> int:
        return latest[-1].rows if latest else before

    def case() -> str:
        last = f"{latest[-1].visit.case}, best {latest[-1].best:.2f}x" if latest else ""
        return _listed(last, nodes())

    return _progress(name, "rows", total, count, case)


def _listed(*parts: str) -> str:
    return ", ".join(filter(None, parts))


@contextmanager
def waiting_phase(purpose: str) -> Iterator[Callable[[], None]]:
    """Show what is being waited for, which comes in one piece: there is nothing to count."""
    with spinner(purpose):
        yield lambda: None


@contextmanager
def _progress(
    name: str, done: str, total: int, count: Callable[[], int], state: Callable[[], str]
) -> Iterator[Callable[[], None]]:
    if not sys.stderr.isatty():
        yield _lines(name, done, total, count, state)
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bar

    bar = Bar(
        TextColumn(printable(name), markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.description}", markup=False),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task(state(), total=total, completed=count())
        yield lambda: bar.update(task, completed=count(), description=state())


def tally_state(tally: SearchTally) -> str:
    """Return the best so far and the number of failures in a few words."""
    best = "-" if tally.best is None else f"{tally.best.evaluation.speedup:.2f}x"
    return f"best {best}, {tally.failed} failed"


def _lines(
    name: str, done: str, total: int, count: Callable[[], int], state: Callable[[], str]
) -> Callable[[], None]:
    last = time.monotonic()

    def show() -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _SECONDS_BETWEEN_LINES:
            last = now
            write_text(f"{name}: {count()} of {total} {done}, {state()}", err=True)

    return show
