"""What the outcomes of a search amount to so far: the best, the distinct ones, how many failed.

A tally is filled from a live search and from a journal in the same way, so that a resumed search
knows what an uninterrupted one would.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from polygym.runtime.evaluation import Evaluation
from polygym.runtime.evaluation.evaluator import MappedSchedule

# The kinds of episodes that are not measured, beside the statuses of those that are.
REPEATED = "repeated"
NO_SCHEDULE = "no schedule"


@dataclass(frozen=True, slots=True)
class Finding:
    """A distinct schedule, the episode that found it first, and what became of it.

    Schedules that need not be found (the original order, isl's) have their name for an episode.
    """

    index: int | str
    evaluation: Evaluation

    @property
    def label(self) -> str:
        """What people read: ``#35``, ``isl``."""
        return self.index if isinstance(self.index, str) else f"#{self.index}"


@dataclass(slots=True)
class SearchTally:
    """Counts and findings; ``curve`` has a pair (episodes so far, best speedup) per improvement."""

    explored: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    findings: dict[MappedSchedule, Finding] = field(default_factory=dict)
    best: Finding | None = None
    curve: list[tuple[int, float]] = field(default_factory=list)

    def add_measured(self, index: int, evaluation: Evaluation) -> bool:
        """Add an episode with a new schedule; return whether it is the best so far."""
        self.explored += 1
        self.counts[evaluation.status.value] += 1
        finding = Finding(index, evaluation)
        self.findings[evaluation.schedule, evaluation.mapping] = finding
        is_best = evaluation.is_ok and (
            self.best is None or evaluation.speedup > self.best.evaluation.speedup
        )
        if is_best:
            self.best = finding
            self.curve.append((self.explored, evaluation.speedup))
        return is_best

    def add_unmeasured(self, kind: str) -> None:
        """Add an episode that is :data:`REPEATED` or has :data:`NO_SCHEDULE`."""
        self.explored += 1
        self.counts[kind] += 1

    @property
    def failed(self) -> int:
        """How many schedules did not run to a correct end."""
        return sum(not finding.evaluation.is_ok for finding in self.findings.values())

    def known(self) -> dict[MappedSchedule | str, int]:
        """Return what has been measured, schedules and loops, with the episodes that found it."""
        known: dict[MappedSchedule | str, int] = {}
        for choice, finding in self.findings.items():
            if isinstance(finding.index, int):
                known[choice] = finding.index
                known.setdefault(finding.evaluation.canonical_key or choice, finding.index)
        return known

    def fastest(self, count: int) -> tuple[Finding, ...]:
        """Return the best distinct schedules, the fastest first; of equal ones the earlier."""
        ran = [finding for finding in self.findings.values() if finding.evaluation.is_ok]
        ran.sort(key=lambda one: (-one.evaluation.speedup, one.index))
        return tuple(ran[:count])
