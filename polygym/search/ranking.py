"""What a search amounts to at its end: the best findings, isl's schedule, and their ratios."""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from dataclasses import asdict, dataclass

from polygym.autoschedule.schedule_choice import AutomaticSchedule
from polygym.mapping.mapping import Mapping
from polygym.poly.schedule import Schedule
from polygym.runtime.evaluation import TIMING_NOISE, Evaluation
from polygym.runtime.evaluation.evaluation_results import Defects
from polygym.runtime.worker.timing import describe_host
from polygym.search.folder import SearchFolder, finding_json, search_summary
from polygym.search.journal import Json
from polygym.search.tally import Finding

ISL, ORIGINAL, AUTO = "isl", "original", "auto"
"""What findings call schedules that no episode led to: isl's, the text's, the one of a few."""


@dataclass(frozen=True, slots=True)
class IslReference:
    """isl's schedule and what became of it, or why there is none."""

    schedule: Schedule | None
    evaluation: Evaluation | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class AutomaticReference:
    """The schedule that a model of cost takes among a few, and what became of it.

    There is no finding where that is isl's own.
    """

    choice: AutomaticSchedule | None
    finding: Finding | None


NO_AUTOMATIC = AutomaticReference(None, None)


@dataclass(frozen=True, slots=True)
class Ranking:
    """The end of a search: the reference and the best findings, the fastest first.

    The default schedule is among them. ``is_confirmed`` says that they were measured side by side,
    not each in its own time; ``choice`` what the default was chosen among.
    """

    original: Schedule
    isl: IslReference
    findings: tuple[Finding, ...]
    is_confirmed: bool
    choice: AutomaticSchedule | None = None

    @property
    def with_isl(self) -> tuple[Finding, ...]:
        """The findings with isl's schedule in its place, which is behind what is as fast."""
        isl = [] if self.isl.evaluation is None else [Finding(ISL, self.isl.evaluation)]
        return tuple(
            sorted([*self.findings, *isl], key=lambda finding: -finding.evaluation.speedup)
        )

    @property
    def best(self) -> Finding | None:
        """The fastest that ran, isl's schedule among them, or None."""
        ran = (finding for finding in self.with_isl if finding.evaluation.is_ok)
        return next(ran, None)

    def defects(self, search: SearchFolder) -> Defects:
        """Count what was wrong or crashed, while searching or in the end."""
        findings = (*search.tally.findings.values(), *search.trials.findings.values())
        isl = self.isl.evaluation
        measured = [finding.evaluation for finding in (*findings, *self.findings)]
        return Defects.count([*measured, *([isl] if isl is not None else [])])

    @property
    def is_improvement(self) -> bool:
        """Whether the best is faster than the original order, by more than noise."""
        return self.best is not None and self.best.evaluation.speedup > 1 + TIMING_NOISE


def fastest_findings(search: SearchFolder, count: int) -> tuple[Finding, ...]:
    """Return the best of the search and of the mappings that were tried, the fastest first."""
    findings = {choice_of(one): one for one in search.tally.fastest(count)}
    for choice, finding in search.trials.findings.items():
        if finding.evaluation.is_ok:
            findings.setdefault(choice, finding)
    ranked = sorted(findings.values(), key=lambda one: -one.evaluation.speedup)
    return tuple(ranked[:count])


def choice_of(finding: Finding) -> tuple[Schedule, Mapping]:
    """Return the schedule and the mapping of a finding."""
    return (finding.evaluation.schedule, finding.evaluation.mapping)


def speedup_over(evaluation: Evaluation | None, reference: Evaluation | None) -> float | None:
    """Return how many times faster an evaluation is than a reference, where both ran.

    Both are relative to the original order in the same process, so their ratio is to each other.
    """
    if evaluation is None or reference is None or not (evaluation.is_ok and reference.is_ok):
        return None
    return evaluation.speedup / reference.speedup


def confirmed_evaluation(searched: Finding, ranking: Ranking) -> Evaluation | None:
    """Return what became of the best of the search when the best were timed again.

    None where they were not, or where it was not among them. Each schedule is measured once while
    searching, and the best of many also is the luckiest.
    """
    if not ranking.is_confirmed:
        return None
    again = (
        finding.evaluation for finding in ranking.findings if is_same_finding(finding, searched)
    )
    return next(again, None)


def is_same_finding(one: Finding, other: Finding) -> bool:
    """Whether two findings are of one episode, or name, under one mapping."""
    return (one.index, one.evaluation.mapping) == (other.index, other.evaluation.mapping)


def search_document(
    search: SearchFolder, ranking: Ranking, budget: int, files: Dictionary[str, str]
) -> Json:
    """Return everything that the summary of a search holds in the end."""
    isl, best, mapping = ranking.isl, ranking.best, search.setting.evaluation.mapping
    defects = ranking.defects(search)
    return {
        **search_summary(search),
        "best": None if best is None else finding_json(best),
        "budget": budget,
        "isl": None if isl.evaluation is None else isl.evaluation.to_json(),
        "isl_error": isl.reason or None,
        "choice": None if ranking.choice is None else ranking.choice.to_json(),
        "measured_together": ranking.is_confirmed,
        "tolerance": mapping.tolerance,
        "caveat": mapping.timing_caveat,
        "improved": ranking.is_improvement,
        "wrong": defects.wrong,
        "crashed": defects.crashed,
        "ranking": [
            {
                **finding_json(finding),
                "speedup_over_isl": speedup_over(finding.evaluation, isl.evaluation),
            }
            for finding in ranking.with_isl
        ],
        "files": dict(files),
        "machine": asdict(describe_host()),
    }
