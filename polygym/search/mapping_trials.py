"""The mappings that were tried for a few schedules, as a journal has them.

A line of ``tuning.jsonl`` is ``{"index": k, "schedule_of": 35, "outcome": {...}}``: trial k, the
episode that led to the schedule (or ``"isl"``, ``"original"``), and what was measured, the mapping
among it. The first line is the setting of the search, as in ``episodes.jsonl``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from polygym.ir.scop import Scop
from polygym.runtime.evaluation import Evaluation
from polygym.runtime.evaluation.evaluator import MappedSchedule
from polygym.search.journal import JournalContents, SearchJournal
from polygym.search.tally import Finding


@dataclass(slots=True)
class MappingTrials:
    """What was tried; the journal is made with the first trial."""

    journal: SearchJournal | None = None
    findings: dict[MappedSchedule, Finding] = field(default_factory=dict)
    best: Finding | None = None

    @staticmethod
    def of(journal: SearchJournal, contents: JournalContents, scop: Scop) -> MappingTrials:
        """Return the trials of a journal that was opened."""
        trials = MappingTrials(journal)
        for line in contents.episodes:
            evaluation = Evaluation.from_json(line["outcome"], scop)
            trials._count(Finding(line["schedule_of"], evaluation))
        return trials

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.findings)

    def add(self, finding: Finding) -> None:
        """Write a trial down and count it."""
        assert self.journal is not None
        line = {"index": self.count, "schedule_of": finding.index}
        self.journal.append({**line, "outcome": finding.evaluation.to_json()})
        self._count(finding)

    def known(self) -> dict[MappedSchedule, Evaluation]:
        """Return what became of the pairs."""
        return {choice: finding.evaluation for choice, finding in self.findings.items()}

    def close(self) -> None:
        """Close the journal; harmless the second time."""
        if self.journal is not None:
            self.journal.close()

    def _count(self, finding: Finding) -> None:
        evaluation = finding.evaluation
        self.findings[evaluation.schedule, evaluation.mapping] = finding
        if evaluation.is_ok and (
            self.best is None or evaluation.speedup > self.best.evaluation.speedup
        ):
            self.best = finding
