"""Progress of a search: a bar on a terminal, a line from time to time in a log."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from polygym.cli.output.console import printable, spinner, terminal_bar, write_text
from polygym.ratios import ratio_text
from polygym.search.corpus.collector import CollectionProgress
from polygym.search.folder import SearchFolder
from polygym.search.result import SearchStage

_SECONDS_BETWEEN_LINES = 10.0


def search_progress(
    search: SearchFolder, stage: SearchStage | None, nodes: Callable[[], str] = str
) -> AbstractContextManager[Callable[[], None]]:
    """Give a function that shows how far a search is in a stage, None for the last comparison.

    ``nodes`` describes those of a cluster, "" where there is none.
    """
    tally, plan = search.tally, search.setting.plan
    name = search.setting.subject.program.name

    def state() -> str:
        best = "best -" if tally.best is None else f"best {ratio_text(tally.best.speedup)}"
        return _listed(best, f"{tally.failed} failed", nodes())

    if stage is None:
        return waiting_phase("measuring the best ones together")
    if stage is SearchStage.MAPPINGS:
        count, total = (lambda: len(tally.trials)), plan.mapping_budget
        return _progress(name, "mappings tried", total, count, state)
    return _progress(name, "explored", plan.budget, lambda: tally.explored, state)


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
        last = f"{latest[-1].visit.case}, best {ratio_text(latest[-1].best)}" if latest else ""
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
    from rich import progress as bars

    columns = (
        bars.TextColumn(printable(name), markup=False),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TextColumn("{task.description}", markup=False),
        bars.TimeRemainingColumn(),
    )
    with terminal_bar(columns) as bar:
        task = bar.add_task(state(), total=total, completed=count())
        yield lambda: bar.update(task, completed=count(), description=state())


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
