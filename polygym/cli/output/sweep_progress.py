"""Progress of a sweep while it works, and its final output."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from polygym.cli.output.console import print_table, printable, shorten, write_text
from polygym.cost.limit.bound import limit_share_text
from polygym.ratios import ratio_text
from polygym.search.sweep.progress import ProgramProgress, SweepPhase, SweepProgress
from polygym.search.sweep.statistics import KernelSummary

_SECONDS_BETWEEN_LINES = 30.0
_LONGEST_NAME = 24


@contextmanager
def sweep_progress() -> Iterator[Callable[[SweepProgress], None]]:
    """Give a function that shows how far a sweep is; standard error is where."""
    if not sys.stderr.isatty():
        yield _lines()
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    with Live(console=Console(stderr=True), transient=True, auto_refresh=False) as live:
        yield lambda progress: live.update(Text(printable(_screen(progress))), refresh=True)


def progress_line(progress: SweepProgress) -> str:
    """Return a moment of a sweep in a line.

    Example: ``searching: 120 of 900 explored, about 12 min left; gemm 40, best 3.21x``.
    """
    parts = [f"{progress.phase.value}: {progress.explored} of {progress.total} explored"]
    if progress.seconds_left is not None and progress.phase is SweepPhase.SEARCH:
        parts.append(f"about {format_duration(progress.seconds_left)} left")
    if progress.nodes:
        parts.append(progress.nodes)
    text = ", ".join(parts)
    busy = ", ".join(_program_cell(program_progress) for program_progress in progress.busy)
    return f"{text}; {busy}" if busy else text


def format_duration(seconds: float) -> str:
    """Return a time to wait.

    >>> format_duration(50), format_duration(720), format_duration(9000)
    ('50 s', '12 min', '2 h 30 min')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def print_summaries(summaries: Sequence[KernelSummary]) -> None:
    """Write a row for every program."""
    names = list(dict.fromkeys(name for summary in summaries for name in summary.references))
    limited = any(summary.limit for summary in summaries)
    print_table(
        (
            "PROGRAM",
            "BEST",
            *(name.upper() for name in names),
            *["SHARE OF LIMIT"] * limited,
            "EXPLORED",
            "DISTINCT",
            "OK",
            "WRONG",
            "CRASHED",
        ),
        [
            (
                shorten(kernel_summary.label, _LONGEST_NAME),
                ratio_text(kernel_summary.best),
                *(ratio_text(kernel_summary.references.get(name)) for name in names),
                *[limit_share_text(kernel_summary.share_of_limit)] * limited,
                kernel_summary.explored,
                kernel_summary.distinct,
                kernel_summary.ok,
                kernel_summary.defects.wrong,
                kernel_summary.defects.crashed,
            )
            for kernel_summary in summaries
        ],
        "lr" + "r" * (len(names) + 5 + limited),
    )


def print_resume_hint(command: str) -> None:
    """Say how to go on."""
    write_text("interrupted; the same command goes on:", err=True)
    write_text(f"  {command}", err=True)


def _screen(progress: SweepProgress) -> str:
    """Return the lines of a terminal: one for the sweep, one for every ten programs with a best."""
    progresses = [
        program_progress
        for program_progress in progress.programs
        if program_progress.best is not None
    ]
    rows = [
        "  ".join(
            f"{shorten(_label(progress), 14):>14} {ratio_text(progress.best):>7}"
            for progress in progresses[k : k + 3]
        )
        for k in range(0, len(progresses), 3)
    ]
    warning = [f"{progress.wrong} wrong outputs"] if progress.wrong else []
    warning += [f"{progress.crashed} crashes"] if progress.crashed else []
    return "\n".join([*rows, *warning, progress_line(progress)])


def _program_cell(progress: ProgramProgress) -> str:
    return f"{_label(progress)} {progress.explored}, best {ratio_text(progress.best)}"


def _label(progress: ProgramProgress) -> str:
    return Path(progress.kernel).stem if "/" in progress.kernel else progress.kernel


def _lines() -> Callable[[SweepProgress], None]:
    last = -_SECONDS_BETWEEN_LINES

    def show(progress: SweepProgress) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _SECONDS_BETWEEN_LINES:
            last = now
            write_text(progress_line(progress), err=True)

    return show
