"""From rows to numbers: the best after so many evaluations, and the best of each program.

An evaluation is an episode of a policy: also one that found a schedule again, or none that ran. The
speedup after n evaluations is that of the best schedule among the first n, at the size of the
search, over the original order (LLVM -O3). Where none of them ran it counts as 0.1, the slowest
that a run may be before it is cut off.

Example: episodes with the schedules a, b, a of speedups 0.5, failed, 0.5 have 0.5 after one, two
and three evaluations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import geometric_mean

from polygym.runtime.evaluation.measurement_rule import speedup_ratio

EVALUATIONS = (1, 2, 5, 10, 20, 50, 100, 250, 1000)
WORST = 0.1

Rows = Sequence[Mapping[str, str]]


def speedup_of(row: Mapping[str, str]) -> float | None:
    """Return the speedup of a timed row; None where it did not run, or not rightly.

    >>> speedup_of({"status": "ok", "seconds": "0.5", "original": "1.5"})
    3.0
    """
    if row["status"] != "ok":
        return None
    return speedup_ratio(float(row["original"]), float(row["seconds"]))


def speedups_by_schedule(rows: Rows, table: str) -> dict[str, float]:
    """Return the speedups of the schedules of a table that ran."""
    timed = {row["schedule"]: speedup_of(row) for row in rows if row["table"] == table}
    return {number: speedup for number, speedup in timed.items() if speedup is not None}


def curve(rows: Rows, policy: str) -> list[float]:
    """Return the best speedup after each number of evaluations, of one policy."""
    known = speedups_by_schedule(rows, "outcome")
    episodes = [row for row in rows if row["table"] == "episode" and row["name"] == policy]
    episodes.sort(key=lambda row: int(row["number"]))
    best, after = WORST, [WORST]
    for row in episodes:
        best = max(best, known.get(row["schedule"], WORST))
        after.append(best)
    return [after[min(count, len(episodes))] for count in EVALUATIONS]


def reference(rows: Rows, name: str, size: str) -> float | None:
    """Return the speedup of what there is to compare with at a size, if it ran."""
    for row in rows:
        if (row["table"], row["name"], row["size"]) == ("reference", name, size):
            return speedup_of(row)
    return None


def confirmed_best(rows: Rows) -> float | None:
    """Return the best speedup of the schedules that were measured again."""
    return max(speedups_by_schedule(rows, "confirmed").values(), default=None)


def mean_of(values: Sequence[float | None]) -> str:
    """Return the geometric mean of what there is, as a cell."""
    known = [value for value in values if value is not None]
    return f"{geometric_mean(known):.2f}" if known else "-"


def tables(shards: Mapping[str, Rows], policies: Sequence[str], size: str) -> str:
    """Return the curve of all policies and the table of programs, for shards of one group."""
    heads = " | ".join(map(str, EVALUATIONS))
    lines = [f"| evaluations | {heads} |", "|---" * (1 + len(EVALUATIONS)) + "|"]
    for policy in policies:
        curves = [curve(rows, policy) for rows in shards.values()]
        means = (geometric_mean(column) for column in zip(*curves, strict=True))
        lines.append(f"| {policy} | {' | '.join(f'{mean:.2f}' for mean in means)} |")
    lines += [
        "",
        f"| program | distinct | ran | wrong | best at {size} | isl | Polly | gcc | clang |",
    ]
    lines.append("|---" * 9 + "|")
    columns: list[list[float | None]] = []
    for kernel, rows in shards.items():
        statuses = [row["status"] for row in rows if row["table"] == "outcome"]
        values = [confirmed_best(rows)]
        values += [reference(rows, name, size) for name in ("isl", "polly", "gcc", "clang")]
        columns.append(values)
        cells = " | ".join("-" if value is None else f"{value:.2f}" for value in values)
        counts = f"{len(statuses)} | {statuses.count('ok')} | {statuses.count('wrong output')}"
        lines.append(f"| {kernel} | {counts} | {cells} |")
    means_of_columns = " | ".join(mean_of(column) for column in zip(*columns, strict=True))
    lines.append(f"| **geometric mean** | | | | {means_of_columns} |")
    return "\n".join(lines)
