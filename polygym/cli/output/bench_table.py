"""Results of ``polygym bench``: entries, their ratios and means, and the table of them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from polygym.cli.output.console import (
    Record,
    format_seconds,
    print_table,
    shorten,
    write_text,
    write_wrapped,
)
from polygym.cli.output.limits import limit_share
from polygym.cost.limit.bound import Limit, limit_share_text
from polygym.mapping.mapping import Mapping
from polygym.poly.scheduling.strategy import AUTO, ISL
from polygym.ratios import ratio_text
from polygym.runtime.worker.outcome import Ok, Outcome, outcome_to_json
from polygym.search.sweep.statistics import geometric_mean

Json: TypeAlias = dict[str, Any]

_MAX_HEADING = 24
_STRATEGY_NAMES = (str(ISL), str(AUTO))


@dataclass(frozen=True, slots=True)
class BenchEntry:
    """One program with one schedule: its outcome, or why there is none.

    ``simplified`` says under which mapping there is code if not under the one asked for, ``choice``
    what a schedule was chosen among, if it was. ``limit`` is that of the program, of every entry of
    one that has it; ``variant`` says where what ran is cut and keeps its values.
    """

    program: str
    schedule: str
    text: str
    outcome: Outcome | None
    error: str
    ratio: float | None
    simplified: str = ""
    choice: dict[str, Any] | None = None
    limit: Limit | None = None
    variant: dict[str, str] = field(default_factory=dict)

    @property
    def share_of_limit(self) -> float | None:
        """Which share of the limit it reaches, where it ran and the limit is known."""
        if self.limit is None or not isinstance(self.outcome, Ok):
            return None
        return limit_share(self.limit, self.outcome.best)

    def to_json(self) -> dict[str, Any]:
        """Return the entry with its raw samples."""
        return {
            "program": self.program,
            "schedule": self.schedule,
            "text": self.text,
            **self.variant,
            "choice": self.choice,
            "status": self.outcome.status.value if self.outcome is not None else "error",
            "error": self.error or None,
            "simplified": self.simplified or None,
            "outcome": outcome_to_json(self.outcome) if self.outcome is not None else None,
            "seconds": self.outcome.best if isinstance(self.outcome, Ok) else None,
            "samples": list(self.outcome.samples) if isinstance(self.outcome, Ok) else [],
            "speedup": self.ratio,
            "share_of_limit": self.share_of_limit,
        }


def speedup_of(base: Outcome | None, outcome: Outcome | None) -> float | None:
    """Return how many times faster than the base an outcome is, where both ran."""
    if isinstance(base, Ok) and isinstance(outcome, Ok):
        return base.best / outcome.best
    return None


def mean_speedup(entries: Sequence[BenchEntry]) -> float | None:
    """Return the geometric mean of the speedups of those entries that have one."""
    return geometric_mean(entry.ratio for entry in entries if entry.ratio is not None)


def mean_of_limit(entries: Sequence[BenchEntry]) -> float | None:
    """Return the geometric mean of the shares of the limit that entries reach."""
    return geometric_mean(
        entry.share_of_limit for entry in entries if entry.share_of_limit is not None
    )


def print_entries(
    results: Sequence[Sequence[BenchEntry]],
    names: Sequence[str],
    means: dict[str, float | None],
    mapping: Mapping,
) -> None:
    """Write a row for every program; its entries are in the order of the names.

    The first schedule is the one that the ratios refer to. Where there are limits, how much of them
    each reaches stands behind it, and they themselves at the end. Below stands the mapping of the
    other schedules.
    """
    entries = [entry for row in results for entry in row]
    limited = any(entry.limit is not None for entry in entries)
    columns = ["PROGRAM", names[0].upper(), *["SHARE OF LIMIT"] * limited]
    for name in names[1:]:
        word = name.upper() if name in _STRATEGY_NAMES else shorten(name, _MAX_HEADING)
        columns += [word, "SPEEDUP", *["SHARE OF LIMIT"] * limited]
    columns += ["LIMIT", "BOUND BY"] * limited
    rows = []
    for row in results:
        cells = [row[0].program]
        for place, entry in enumerate(row):
            cells += [_time(entry), *[ratio_text(entry.ratio)] * (place > 0)]
            cells += [limit_share_text(entry.share_of_limit)] * limited
        if limited:
            cells += _limit_cells(row[0].limit)
        rows.append(cells)
    if rows and len(names) > 1:
        last = ["geometric mean"]
        for place, name in enumerate(names):
            last += ["", *[ratio_text(means[name])] * (place > 0)]
            of_name = [entry for entry in entries if entry.schedule == name]
            last += [limit_share_text(mean_of_limit(of_name))] * limited
        rows.append(last + ["", ""] * limited)
    records = _records(results, names, means)
    print_table(columns, rows, "l" + "r" * (len(columns) - 1), records=records)
    write_wrapped(f"mapping of {names[0]}: sequential; of other schedules: {mapping}")
    for entry in entries:
        if entry.error:
            write_text(f"{entry.program}, {shorten(entry.schedule, 60)}: {entry.error}", err=True)
        if entry.simplified:
            write_text(f"{entry.program}, {shorten(entry.schedule, 60)}: {entry.simplified}")


def _records(
    results: Sequence[Sequence[BenchEntry]],
    names: Sequence[str],
    means: dict[str, float | None],
) -> list[Record]:
    """Return the table as lists, for narrow terminals: each line names its schedule.

    So a line has time, speedup and share of the limit together: ``isl  511 ns  1.51x``.
    """
    labels = [shorten(name, _MAX_HEADING) for name in names]
    records = []
    for row in results:
        cells = [
            (label, _joined(_time(entry), entry.ratio if place else None, entry.share_of_limit))
            for place, (label, entry) in enumerate(zip(labels, row, strict=True))
        ]
        if (limit := row[0].limit) is not None:
            cells.append(("limit", "  ".join(_limit_cells(limit))))
        records.append(Record(row[0].program, tuple(cells)))
    if records and len(names) > 1:
        shares = [
            mean_of_limit([entry for row in results for entry in row if entry.schedule == name])
            for name in names
        ]
        cells = [
            (label, _joined("", means[name] if place else None, share))
            for place, (label, name, share) in enumerate(zip(labels, names, shares, strict=True))
        ]
        records.append(Record("geometric mean", tuple(cells)))
    return records


def _joined(time: str, speedup: float | None, share: float | None) -> str:
    """Return the cells of a line.

    >>> _joined("511 ns", 1.51, 0.25), _joined("", None, None)
    ('511 ns  1.51x  25 % of the limit', '')
    """
    texts = [
        time,
        "" if speedup is None else ratio_text(speedup),
        "" if share is None else f"{limit_share_text(share)} of the limit",
    ]
    return "  ".join(filter(None, texts))


def _limit_cells(limit: Limit | None) -> list[str]:
    return ["-", "-"] if limit is None else [format_seconds(limit.seconds), limit.bottleneck.value]


def _time(entry: BenchEntry) -> str:
    if isinstance(entry.outcome, Ok):
        return format_seconds(entry.outcome.best)
    return entry.outcome.status.value if entry.outcome is not None else "error"
