"""The result of a search, as a value and as JSON."""

import json
import os
from collections.abc import Mapping as Dictionary
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polygym.autoschedule.schedule_choice import AutomaticSchedule
from polygym.errors import InputError
from polygym.files import write_atomically
from polygym.ir.scop import Scop
from polygym.mapping.mapping import Mapping, parse_mapping
from polygym.pickling import pickle_by_name
from polygym.poly.schedule import Schedule, parse_schedule
from polygym.poly.scheduling.strategy import ISL
from polygym.runtime.evaluation import TIMING_NOISE, Evaluation
from polygym.runtime.evaluation.evaluation_results import Defects
from polygym.search.tally import Finding

FORMAT = "polygym search result"
VERSION = 2
_MAX_FILE_BYTES = 1 << 24


@pickle_by_name
@dataclass(frozen=True, slots=True)
class SearchResult:
    """The end of a search of a program of certain sizes.

    ``ranking`` has the best candidates, the initial one and isl's, the fastest first; with
    ``is_confirmed`` they were measured side by side, not each in its own time. ``initial`` is the
    candidate to start from. It stays the best where nothing is faster by more than noise, or
    nothing runs. ``choice`` says among what the automatic schedule was chosen, ``isl_reason`` why
    isl has no schedule. ``error`` ended the search early, if anything did.
    """

    program: str
    parameters: tuple[tuple[str, int], ...]
    ranking: tuple[Finding, ...]
    initial_finding: Finding
    tried: int
    defects: Defects
    is_confirmed: bool
    error: BaseException | None = None
    choice: AutomaticSchedule | None = None
    isl_reason: str = ""

    @property
    def best_finding(self) -> Finding:
        """The fastest candidate, or the initial one where none is faster by more than noise."""
        if not self.ranking or not self.ranking[0].evaluation.is_ok:
            return self.initial_finding
        fastest = self.ranking[0]
        initial = self.initial_finding.evaluation
        is_faster = not initial.is_ok or gain_over(fastest.evaluation, initial) > 1 + TIMING_NOISE
        return fastest if is_faster else self.initial_finding

    @property
    def best(self) -> Evaluation:
        """The outcome of the best candidate."""
        return self.best_finding.evaluation

    @property
    def source(self) -> str:
        """The source of the best schedule."""
        return self.best_finding.source

    @property
    def initial(self) -> Evaluation:
        """The outcome of the candidate to start from."""
        return self.initial_finding.evaluation

    @property
    def isl(self) -> Evaluation | None:
        """The outcome of isl's schedule; None where there is none."""
        own = (finding.evaluation for finding in self.ranking if finding.source == str(ISL))
        return next(own, None)

    @property
    def interrupted(self) -> bool:
        """Whether the search was interrupted."""
        return isinstance(self.error, KeyboardInterrupt)

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
        """How many times faster than the initial candidate the best is."""
        return gain_over(self.best, self.initial)

    @property
    def is_faster(self) -> bool:
        """Whether the best is faster than the initial candidate by more than noise."""
        return self.gain > 1 + TIMING_NOISE

    @property
    def is_improvement(self) -> bool:
        """Whether the best is faster than the original order by more than noise."""
        return self.best.is_ok and self.best.speedup > 1 + TIMING_NOISE

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        isl = self.isl
        return {
            "format": FORMAT,
            "version": VERSION,
            "name": self.program,
            "parameters": dict(self.parameters),
            "schedule": str(self.best.schedule),
            "mapping": str(self.best.mapping),
            "source": self.source,
            "best": finding_json(self.best_finding) if self.best.is_ok else None,
            "initial": finding_json(self.initial_finding),
            "gain": self.gain,
            "tried": self.tried,
            "wrong": self.wrong,
            "crashed": self.crashed,
            "interrupted": self.interrupted,
            "improved": self.is_improvement,
            "isl": None if isl is None else isl.to_json(),
            "isl_error": self.isl_reason or None,
            "choice": None if self.choice is None else self.choice.to_json(),
            "measured_together": self.is_confirmed,
            "ranking": [
                {
                    **finding_json(finding),
                    "speedup_over_isl": speedup_over(finding.evaluation, isl),
                }
                for finding in self.ranking
            ],
            "tolerance": self.best.mapping.tolerance,
            "caveat": self.best.mapping.timing_caveat,
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, in one step."""
        write_atomically(Path(path), (json.dumps(self.to_json(), indent=2) + "\n").encode())


def finding_json(finding: Finding) -> dict[str, Any]:
    """Return a finding as JSON: the line of the journal, the source, the outcome."""
    return {"index": finding.index, "source": finding.source, **finding.evaluation.to_json()}


def gain_over(best: Evaluation, initial: Evaluation) -> float:
    """Return how many times faster one candidate is than another, 0 where either failed.

    Where they were not measured side by side, the machine may have been slower when one of the two
    ran, or when the original did beside it. So the ratio of the times has to show the gain, and
    that of the speedups too: the smaller one counts. Side by side they are the same.
    """
    if not (initial.speedup and best.seconds):
        return 0.0
    return min(best.speedup / initial.speedup, initial.seconds / best.seconds)


def speedup_over(evaluation: Evaluation | None, reference: Evaluation | None) -> float | None:
    """Return how many times faster an evaluation is than a reference, where both ran.

    Both are relative to the original order in the same process, so their ratio is to each other.
    """
    if evaluation is None or reference is None or not (evaluation.is_ok and reference.is_ok):
        return None
    return evaluation.speedup / reference.speedup


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
