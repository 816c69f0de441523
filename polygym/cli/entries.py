"""What ``polygym bench`` finds: entries, their ratios and means, and the table of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from polygym.cli.output import say, seconds
from polygym.cli.tables import print_table
from polygym.cli.text import shorten
from polygym.compiler.poly.strategy import AUTO, ISL
from polygym.measure.worker.outcome import Ok, Outcome, outcome_to_json
from polygym.search.explore.means import geometric_mean

_LONGEST_HEADING = 24
_WORDS = (str(ISL), str(AUTO))


@dataclass(frozen=True, slots=True)
class Entry:
    """One program with one schedule: its outcome, or why there is none.

    ``simplified`` says under which mapping there is code if not under the one asked for, ``choice``
    what a schedule was chosen among, if it was.
    """

    program: str
    schedule: str
    text: str
    outcome: Outcome | None
    error: str
    ratio: float | None
    simplified: str = ""
    choice: dict[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the entry with its raw samples."""
        return {
            "program": self.program,
            "schedule": self.schedule,
            "text": self.text,
            "choice": self.choice,
            "status": self.outcome.status.value if self.outcome is not None else "error",
            "error": self.error or None,
            "simplified": self.simplified or None,
            "outcome": outcome_to_json(self.outcome) if self.outcome is not None else None,
            "seconds": self.outcome.best if isinstance(self.outcome, Ok) else None,
            "samples": list(self.outcome.samples) if isinstance(self.outcome, Ok) else [],
            "speedup": self.ratio,
        }


def ratio(base: Outcome | None, outcome: Outcome | None) -> float | None:
    """Return how many times faster than the base an outcome is, where both ran."""
    if isinstance(base, Ok) and isinstance(outcome, Ok):
        return base.best / outcome.best
    return None


def mean_speedup(entries: Sequence[Entry]) -> float | None:
    """Return the geometric mean of the speedups of those entries that have one."""
    return geometric_mean(entry.ratio for entry in entries if entry.ratio is not None)


def print_entries(
    results: Sequence[Sequence[Entry]], names: Sequence[str], means: dict[str, float | None]
) -> None:
    """Write a row for every program; its entries are in the order of the names.

    The first schedule is the one that the ratios refer to.
    """
    columns = ["PROGRAM", names[0].upper()]
    for name in names[1:]:
        word = name.upper() if name in _WORDS else shorten(name, _LONGEST_HEADING)
        columns += [word, "SPEEDUP"]
    rows = []
    for first, *others in results:
        row = [first.program, _time(first)]
        for entry in others:
            row += [_time(entry), _ratio_text(entry.ratio)]
        rows.append(row)
    if rows and len(names) > 1:
        last = ["geometric mean", ""]
        for name in names[1:]:
            last += ["", _ratio_text(means[name])]
        rows.append(last)
    print_table(columns, rows, "l" + "r" * (len(columns) - 1))
    for entry in (entry for entries in results for entry in entries):
        if entry.error:
            say(f"{entry.program}, {shorten(entry.schedule, 60)}: {entry.error}", err=True)
        if entry.simplified:
            say(f"{entry.program}, {shorten(entry.schedule, 60)}: {entry.simplified}")


def _ratio_text(value: float | None) -> str:
    return f"{value:.2f}x" if value is not None else "-"


def _time(entry: Entry) -> str:
    if isinstance(entry.outcome, Ok):
        return seconds(entry.outcome.best)
    return entry.outcome.status.value if entry.outcome is not None else "error"
