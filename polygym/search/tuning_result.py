"""What a tuner has found, as a value and as a file.

The file is JSON with the schedule and the mapping, which is all that it takes to use them again,
and with what was measured, which is for people. ``polygym run --schedule FILE`` reads it too; and
what `polygym tune` and `polygym optimize` write as ``best.json`` can be read here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping as Dictionary
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polygym.errors import InputError
from polygym.files import write_atomically
from polygym.ir.scop import Scop
from polygym.mapping.mapping import Mapping, parse_mapping
from polygym.pickling import pickle_by_name
from polygym.poly.schedule import Schedule, parse_schedule
from polygym.runtime.evaluation import TIMING_NOISE, Evaluation
from polygym.runtime.evaluation.evaluation_results import Defects
from polygym.search.strategies.candidates import ScheduleSource

FORMAT = "polygym tuned"
VERSION = 1
_MAX_FILE_BYTES = 1 << 24


@pickle_by_name
@dataclass(frozen=True, slots=True)
class TuningResult:
    """What a tuner has found for a program of certain sizes.

    ``best`` and ``initial`` were measured side by side in the end, where there was time for it;
    ``initial`` is what there was to begin with, and ``source`` how the best schedule came about.
    ``defects`` counts candidates that computed something else or crashed.
    """

    program: str
    parameters: tuple[tuple[str, int], ...]
    best: Evaluation
    source: ScheduleSource
    initial: Evaluation
    tried: int
    defects: Defects
    interrupted: bool

    @property
    def wrong(self) -> int:
        """How many candidates computed something else."""
        return self.defects.wrong

    @property
    def crashed(self) -> int:
        """How many candidates crashed."""
        return self.defects.crashed

    @property
    def gain(self) -> float:
        """How many times faster than the start the best is.

        Where they were not measured side by side, the machine may have been slower when one of the
        two ran, or when the original did beside it. So the ratio of the times has to say it, and
        that of the speedups too: the smaller one counts. Side by side they are the same.
        """
        if not (self.initial.speedup and self.best.seconds):
            return 0.0
        by_time = self.initial.seconds / self.best.seconds
        return min(self.best.speedup / self.initial.speedup, by_time)

    @property
    def is_faster(self) -> bool:
        """Whether the best is faster than the start by more than noise."""
        return self.gain > 1 + TIMING_NOISE

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "program": self.program,
            "parameters": dict(self.parameters),
            "schedule": str(self.best.schedule),
            "mapping": str(self.best.mapping),
            "strategy": str(self.source),
            "best": self.best.to_json(),
            "start": self.initial.to_json(),
            "gain": self.gain,
            "tried": self.tried,
            "wrong": self.wrong,
            "crashed": self.crashed,
            "interrupted": self.interrupted,
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, in one step."""
        write_atomically(Path(path), (json.dumps(self.to_json(), indent=2) + "\n").encode())


def read_choice(
    given: str | os.PathLike[str] | Dictionary[str, Any], scop: Scop
) -> tuple[Schedule, Mapping]:
    """Return the schedule and the mapping of a file, or of what it holds, for a program.

    Raises:
        InputError: it cannot be read, or what it has is none of this program.
    """
    name, data = _read_file(given)
    schedule, mapping = _schedule_and_mapping(data, name)
    try:
        return parse_schedule(schedule, scop), parse_mapping(mapping)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None


def _read_file(given: str | os.PathLike[str] | Dictionary[str, Any]) -> tuple[str, Any]:
    """Return the name of a file, and what it holds."""
    if isinstance(given, Dictionary):
        return "tuned", given
    if not isinstance(given, str | os.PathLike):
        raise InputError(
            "tuned: expected what a tuner has found, or the path of a file that has it, found "
            f"{type(given).__name__}"
        )
    path = Path(given)
    try:
        if path.stat().st_size > _MAX_FILE_BYTES:
            raise ValueError(f"it has more than {_MAX_FILE_BYTES:,} bytes")
        return str(path), json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{path}: expected what a tuner has saved, found something else: {error}"
        ) from None


def _schedule_and_mapping(data: Any, name: str) -> tuple[str, str]:
    """Return the texts of the schedule and of the mapping, from any of the files that have both."""
    if not isinstance(data, Dictionary):
        raise InputError(f"{name}: expected a JSON object, found {type(data).__name__}")
    outcome = data.get("outcome")
    inside = outcome if isinstance(outcome, Dictionary) else {}
    result = {
        "schedule": data.get("schedule"),
        "mapping": data.get("mapping", inside.get("mapping")),
    }
    for part, text in result.items():
        if not isinstance(text, str):
            what = "nothing" if text is None else type(text).__name__
            raise InputError(
                f"{name}: expected what a tuner has saved, with the text of its {part}, "
                f"found {what}"
            )
    return str(result["schedule"]), str(result["mapping"])
