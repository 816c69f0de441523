"""The outcomes of a search so far: the best, the distinct ones, the number of failures.

A tally is filled from a live search and from a journal in the same way, so that a resumed search
knows what an uninterrupted one would.
"""

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum

from polygym.pickling import pickle_by_name
from polygym.runtime.evaluation import Evaluation
from polygym.runtime.evaluation.evaluator import MappedSchedule

# The kinds of proposals that are not measured, beside the statuses of those that are.
REPEATED = "repeated"
NO_SCHEDULE = "no schedule"


class Stage(Enum):
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


def fastest_of(findings: list[Finding], count: int) -> tuple[Finding, ...]:
    """Return those that ran, the fastest first; of equal ones the earlier."""
    ran = [finding for finding in findings if finding.evaluation.is_ok]
    ran.sort(key=lambda finding: (-finding.speedup, finding.index))
    return tuple(ran[:count])


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
        stage: Stage,
        source: str,
        evaluation: Evaluation | None,
        kind: str = "",
    ) -> Finding | None:
        """Add the line of an index; return its finding where that is the best.

        Without an evaluation there is a kind. An initial candidate is found before anything is
        explored.
        """
        self.lines += 1
        self.explored += stage is Stage.SEARCH
        if stage is Stage.SEARCH:
            self.counts[kind if evaluation is None else evaluation.status.value] += 1
        if evaluation is None:
            return None
        finding = Finding(index, source, evaluation)
        (self.trials if stage is Stage.MAPPINGS else self.findings)[finding.choice] = finding
        for key in (finding.choice, evaluation.canonical_key):
            if key:
                self.known.setdefault(key, finding)
        if stage is not Stage.MAPPINGS and _is_better(finding, self.best_explored):
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
