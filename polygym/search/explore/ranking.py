"""What a search amounts to at its end: the best findings, isl's schedule, and their ratios."""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from dataclasses import asdict, dataclass

from polygym.compiler.codegen.common.mapping import Mapping
from polygym.compiler.poly.schedule import Schedule
from polygym.episodes.automatic import Choice
from polygym.measure.evaluation import NOISE, Evaluation
from polygym.measure.evaluation.defects import Defects
from polygym.measure.worker.timing import this_machine
from polygym.search.explore.folder import Search, as_json, summary
from polygym.search.explore.journal import Json
from polygym.search.explore.tally import Finding

ISL, ORIGINAL, AUTO = "isl", "original", "auto"
"""What findings call schedules that no episode led to: isl's, the text's, the one of a few."""


@dataclass(frozen=True, slots=True)
class Reference:
    """isl's schedule and what became of it, or why there is none."""

    schedule: Schedule | None
    evaluation: Evaluation | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Default:
    """The schedule that a model of cost takes among a few, and what became of it.

    There is no finding where that is isl's own.
    """

    choice: Choice | None
    finding: Finding | None


NO_DEFAULT = Default(None, None)


@dataclass(frozen=True, slots=True)
class Ranking:
    """The end of a search: the reference and the best findings, the fastest first.

    The default schedule is among them. ``together`` says that they were measured side by side, not
    each in its own time; ``choice`` what the default was chosen among.
    """

    original: Schedule
    isl: Reference
    findings: tuple[Finding, ...]
    together: bool
    choice: Choice | None = None

    @property
    def with_isl(self) -> tuple[Finding, ...]:
        """The findings with isl's schedule in its place, which is behind what is as fast."""
        isl = [] if self.isl.evaluation is None else [Finding(ISL, self.isl.evaluation)]
        return tuple(sorted([*self.findings, *isl], key=lambda one: -one.evaluation.speedup))

    @property
    def best(self) -> Finding | None:
        """The fastest that ran, isl's schedule among them, or None."""
        ran = (one for one in self.with_isl if one.evaluation.is_ok)
        return next(ran, None)

    def defects(self, search: Search) -> Defects:
        """Count what was wrong or crashed, while searching or in the end."""
        findings = (*search.tally.findings.values(), *search.trials.findings.values())
        isl = self.isl.evaluation
        measured = [one.evaluation for one in (*findings, *self.findings)]
        return Defects.among([*measured, *([isl] if isl is not None else [])])

    @property
    def is_improvement(self) -> bool:
        """Whether the best is faster than the original order, by more than noise."""
        return self.best is not None and self.best.evaluation.speedup > 1 + NOISE


def fastest(search: Search, count: int) -> tuple[Finding, ...]:
    """Return the best of the search and of the mappings that were tried, the fastest first."""
    found = {choice_of(one): one for one in search.tally.fastest(count)}
    for choice, one in search.trials.findings.items():
        if one.evaluation.is_ok:
            found.setdefault(choice, one)
    ranked = sorted(found.values(), key=lambda one: -one.evaluation.speedup)
    return tuple(ranked[:count])


def choice_of(finding: Finding) -> tuple[Schedule, Mapping]:
    """Return the schedule and the mapping of a finding."""
    return (finding.evaluation.schedule, finding.evaluation.mapping)


def over(evaluation: Evaluation | None, reference: Evaluation | None) -> float | None:
    """Return how many times faster an evaluation is than a reference, where both ran.

    Both are relative to the original order in the same process, so their ratio is to each other.
    """
    if evaluation is None or reference is None or not (evaluation.is_ok and reference.is_ok):
        return None
    return evaluation.speedup / reference.speedup


def timed_again(searched: Finding, ranking: Ranking) -> Evaluation | None:
    """Return what became of the best of the search when the best were timed again.

    None where they were not, or where it was not among them. Each schedule is measured once while
    searching, and the best of many also is the luckiest.
    """
    if not ranking.together:
        return None
    again = (one.evaluation for one in ranking.findings if is_same(one, searched))
    return next(again, None)


def is_same(one: Finding, other: Finding) -> bool:
    """Whether two findings are of one episode, or name, under one mapping."""
    return (one.index, one.evaluation.mapping) == (other.index, other.evaluation.mapping)


def document(search: Search, ranking: Ranking, budget: int, files: Dictionary[str, str]) -> Json:
    """Return everything that the summary of a search holds in the end."""
    isl, best, mapping = ranking.isl, ranking.best, search.setting.measuring.mapping
    defects = ranking.defects(search)
    return {
        **summary(search),
        "best": None if best is None else as_json(best),
        "budget": budget,
        "isl": None if isl.evaluation is None else isl.evaluation.to_json(),
        "isl_error": isl.reason or None,
        "choice": None if ranking.choice is None else ranking.choice.to_json(),
        "measured_together": ranking.together,
        "tolerance": mapping.tolerance,
        "caveat": mapping.caveat,
        "improved": ranking.is_improvement,
        "wrong": defects.wrong,
        "crashed": defects.crashed,
        "ranking": [
            {**as_json(one), "speedup_over_isl": over(one.evaluation, isl.evaluation)}
            for one in ranking.with_isl
        ],
        "files": dict(files),
        "machine": asdict(this_machine()),
    }
