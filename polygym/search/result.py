"""The outcomes of a search so far, and its result, as values and as JSON.

A tally is filled from a live search and from a journal in the same way, so that a resumed search
knows what an uninterrupted one would.
"""

import json
import os
from collections import Counter
from collections.abc import Mapping as Dictionary
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from statistics import median
from typing import Any

from polygym.autoschedule.schedule_choice import AutomaticSchedule
from polygym.errors import InputError
from polygym.files import write_atomically
from polygym.ir.scop import Scop
from polygym.mapping.mapping import SEQUENTIAL_MAPPING, Mapping, parse_mapping
from polygym.pickling import pickle_by_name
from polygym.poly.schedule import Schedule, parse_schedule
from polygym.poly.scheduling.baselines import original_schedule
from polygym.poly.scheduling.strategy import ISL, ORIGINAL
from polygym.programs import Program
from polygym.runtime.evaluation import TIMING_NOISE, Evaluation
from polygym.runtime.evaluation.evaluation_results import Defects
from polygym.runtime.evaluation.evaluator import MappedSchedule
from polygym.runtime.worker.outcome import OutcomeStatus

# The kinds of proposals that are not measured, beside the statuses of those that are.
REPEATED = "repeated"
NO_SCHEDULE = "no schedule"

SOURCE_INDEX = -1
"""The index of the source among the findings: no line of the journal has it."""

_MIN_SAMPLES = 3


class SearchStage(Enum):
    """The part of a search to which a proposal belongs."""

    INITIAL = "initial"
    SEARCH = "search"
    MAPPINGS = "mappings"


@pickle_by_name
@dataclass(frozen=True, slots=True)
class Finding:
    """A distinct candidate: the line of the journal, the source of the schedule, the outcome."""

    index: int
    source: str
    evaluation: Evaluation

    @property
    def label(self) -> str:
        """A short name for people: ``learned#35``, ``isl``."""
        return self.source

    @property
    def choice(self) -> MappedSchedule:
        """The schedule and the mapping."""
        return (self.evaluation.schedule, self.evaluation.mapping)

    @property
    def speedup(self) -> float:
        """The speedup over the original order."""
        return self.evaluation.speedup

    @property
    def is_source(self) -> bool:
        """Whether it is the source: its order, its storage, no mapping."""
        return self.index == SOURCE_INDEX


def source_finding(program: Program, beside: Evaluation) -> Finding:
    """Return the source as a finding, with the time that it took beside a candidate.

    The source is the original order of what was written: its statements whole, its values where
    they are there, as the compiler has it without a mapping.
    """
    return Finding(
        SOURCE_INDEX,
        str(ORIGINAL),
        Evaluation(
            original_schedule(program.as_written),
            OutcomeStatus.OK,
            1.0,
            beside.baseline_seconds,
            beside.baseline_seconds,
            beside.baseline_samples,
            beside.baseline_samples,
            mapping=SEQUENTIAL_MAPPING,
            applied_mapping=SEQUENTIAL_MAPPING,
        ),
    )


def is_faster_than_source(evaluation: Evaluation) -> bool:
    """Whether a candidate is faster than the source beside it by more than noise.

    Of several samples each the best ones have to show it, and the medians too: threads that wait
    for each other on a busy machine have a good best time and a bad median.

    Example: 1.0, 1.1, 1.2 ms beside 1.5, 1.5, 1.6 ms of the source is 1.5 and 1.36 times as fast;
    1.0, 2.0, 2.0 ms is 1.5 and 0.75 times as fast, and does not count.
    """
    if not evaluation.is_ok or evaluation.speedup <= 1 + TIMING_NOISE:
        return False
    samples, before = evaluation.samples, evaluation.baseline_samples
    if min(len(samples), len(before)) < _MIN_SAMPLES:
        return True
    return median(before) > (1 + TIMING_NOISE) * median(samples)


def fastest_of(findings: list[Finding], count: int) -> tuple[Finding, ...]:
    """Return those that ran, the fastest first; of equal ones the earlier."""
    ran = [finding for finding in findings if finding.evaluation.is_ok]
    return tuple(sorted(ran, key=lambda finding: (-finding.speedup, finding.index))[:count])


@dataclass(slots=True)
class SearchTally:
    """Counts and findings; ``curve`` has a pair (explored so far, best speedup) per improvement.

    ``explored`` counts proposals of the strategy, ``counts`` how they ended, ``lines`` all lines of
    the journal. Findings of hill climbing, ``trials``, stand apart: the climb begins at the others.
    """

    lines: int = 0
    explored: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    findings: dict[MappedSchedule, Finding] = field(default_factory=dict)
    trials: dict[MappedSchedule, Finding] = field(default_factory=dict)
    known: dict[MappedSchedule | str, Finding] = field(default_factory=dict)
    best: Finding | None = None
    best_explored: Finding | None = None
    curve: list[tuple[int, float]] = field(default_factory=list)

    def first_of(self, choice: MappedSchedule, canonical_key: str = "") -> Finding | None:
        """Return the finding with this choice, or with the same code."""
        return self.known.get(choice) or (self.known.get(canonical_key) if canonical_key else None)

    def add(
        self,
        index: int,
        stage: SearchStage,
        source: str,
        evaluation: Evaluation | None,
        kind: str = "",
    ) -> Finding | None:
        """Add the line of an index; return its finding where that is the best.

        Without an evaluation there is a kind. An initial candidate is found before anything is
        explored.
        """
        self.lines += 1
        self.explored += stage is SearchStage.SEARCH
        if stage is SearchStage.SEARCH:
            self.counts[kind if evaluation is None else evaluation.status.value] += 1
        if evaluation is None:
            return None
        finding = Finding(index, source, evaluation)
        (self.trials if stage is SearchStage.MAPPINGS else self.findings)[finding.choice] = finding
        for key in (finding.choice, evaluation.canonical_key):
            if key:
                self.known.setdefault(key, finding)
        if stage is not SearchStage.MAPPINGS and _is_better(finding, self.best_explored):
            self.best_explored = finding
            self.curve.append((self.explored, finding.speedup))
        if not _is_better(finding, self.best):
            return None
        self.best = finding
        return finding

    @property
    def distinct(self) -> int:
        """How many proposals of the strategy were new."""
        return self.explored - self.counts[REPEATED] - self.counts[NO_SCHEDULE]

    @property
    def failed(self) -> int:
        """How many candidates did not run to a correct end."""
        return sum(not finding.evaluation.is_ok for finding in self.findings.values())

    def fastest(self, count: int) -> tuple[Finding, ...]:
        """Return the best distinct candidates of the search, without those of hill climbing."""
        return fastest_of(list(self.findings.values()), count)

    def fastest_of_all(self, count: int) -> tuple[Finding, ...]:
        """Return the best distinct candidates."""
        return fastest_of(list({**self.trials, **self.findings}.values()), count)


def _is_better(finding: Finding, best: Finding | None) -> bool:
    return finding.evaluation.is_ok and (best is None or finding.speedup > best.speedup)


FORMAT = "polygym search result"
VERSION = 2
_MAX_FILE_BYTES = 1 << 24


@pickle_by_name
@dataclass(frozen=True, slots=True)
class SearchResult:
    """The end of a search of a program of certain sizes.

    ``ranking`` has the best candidates, the initial one and isl's, the fastest first; with
    ``is_confirmed`` they were measured side by side, not each in its own time. ``initial`` is the
    candidate to start from, ``original`` the source. ``choice`` says among what the automatic
    schedule was chosen, ``isl_reason`` why isl has no schedule. ``error`` ended the search early,
    if anything did.

    The best is the fastest that beats the source by more than noise; the initial candidate, where
    that beats the source and nothing beats it by more than noise; the source, where nothing beats
    it. Without a time of the source, as nothing was measured beside it, the initial candidate is
    all there is.
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
    original: Finding | None = None

    @property
    def best_finding(self) -> Finding:
        """The fastest candidate that beats the source, or the source where none does."""
        initial = self.initial_finding
        faster = [entry for entry in self.ranking if is_faster_than_source(entry.evaluation)]
        if not faster:
            return self.original or initial
        fastest = faster[0]
        is_close = gain_over(fastest.evaluation, initial.evaluation) <= 1 + TIMING_NOISE
        return initial if is_close and is_faster_than_source(initial.evaluation) else fastest

    @property
    def has_run(self) -> bool:
        """Whether any candidate ran to a correct end."""
        return self.initial.is_ok or any(entry.evaluation.is_ok for entry in self.ranking)

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
        """The outcome of isl's schedule, under the mapping to start from; None without one."""
        own = [finding.evaluation for finding in self.ranking if finding.source == str(ISL)]
        start = self.initial.mapping
        return next((outcome for outcome in own if outcome.mapping == start), next(iter(own), None))

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
        return is_faster_than_source(self.best)

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
            "is_source": self.best_finding.is_source,
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
                {**finding_json(finding), "speedup_over_isl": speedup_over(finding.evaluation, isl)}
                for finding in self.ranking
            ],
            "tolerance": self.best.mapping.tolerance,
            "caveat": self.best.mapping.timing_caveat,
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, in one step."""
        write_atomically(Path(path), (json.dumps(self.to_json(), indent=2) + "\n").encode())


def finding_json(finding: Finding) -> dict[str, Any]:
    """Return a finding as JSON: the line of the journal, the source, the outcome.

    The source itself has no line.
    """
    index = None if finding.is_source else finding.index
    return {"index": index, "source": finding.source, **finding.evaluation.to_json()}


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
    mapping = data.get("mapping", inside.get("mapping"))
    result = {"schedule": data.get("schedule"), "mapping": mapping}
    for part, text in result.items():
        if not isinstance(text, str):
            what = "nothing" if text is None else type(text).__name__
            raise InputError(
                f"{name}: expected what a tuner has saved, with the text of its {part}, "
                f"found {what}"
            )
    return str(result["schedule"]), str(result["mapping"])
