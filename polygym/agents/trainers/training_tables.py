"""The tables of a training, and what a row of each is.

Rows are added interval by interval, and those of an unfinished interval are dropped.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from polygym.agents.policies.env_policy import EpisodeSummary
from polygym.errors import InputError


class TrainingEpisode(NamedTuple):
    """An episode that ended in an interval; ``steps`` were taken by then in the whole training."""

    steps: int
    kernel: str
    reward: float
    length: int
    status: str

    @staticmethod
    def of(steps: int, ending: EpisodeSummary) -> TrainingEpisode:
        """Return the row of an episode that was played to its end."""
        info = ending.info
        return TrainingEpisode(
            steps, info["kernel"], round(ending.reward, 6), ending.steps, info["status"]
        )


class EvaluationEpisode(NamedTuple):
    """An episode that the model played after an interval, to see what it is worth."""

    steps: int
    kernel: str
    episode: int
    reward: float
    status: str
    speedup: float


def read_rows(file: Path) -> list[dict[str, str]]:
    """Return the rows of one of the tables of a training; none where there is no file yet.

    Raises:
        InputError: somebody has made another table of it.
    """
    if not file.exists():
        return []
    with file.open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    for number, row in enumerate(rows, start=2):
        if not (row.get("steps") or "").isdecimal():
            raise InputError(f"{file}:{number}: expected steps, found {row.get('steps')!r}")
    return rows


def append_rows(
    file: Path, columns: Sequence[str], rows: Sequence[Sequence[Any]], after: int
) -> None:
    """Add rows to a table; rows of an unfinished interval, behind ``after``, are dropped."""
    kept = [row for row in read_rows(file) if int(row["steps"]) <= after]
    partial = file.with_suffix(".partial")
    with partial.open("w", newline="", encoding="utf-8") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([row[name] for name in columns] for row in kept)
        writer.writerows(rows)
    os.replace(partial, file)
