"""The course of a search: measure what there is to beat, explore, try mappings, confirm, rank.

It knows neither terminals nor signals. Who calls it may watch every phase: show how far it has come
and raise a KeyboardInterrupt where that does no harm, which is while something is being measured.
Whatever ends the search early (that, a full disk, a worker that cannot be started) is part of the
value that it returns, beside what was found until then. A machine that fails ends it as well: that
no memory was left is nothing to remember of a schedule, which a resumed search measures again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import TypeAlias

from polygym.autoschedule.schedule_choice import choose_schedule_within
from polygym.errors import PolygymError
from polygym.ir.scop import Scop
from polygym.mapping.mapping import Mapping
from polygym.mapping.sizes import scop_sizes
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.baselines import original_schedule
from polygym.poly.scheduling.strategy import ISL as ISL_STRATEGY
from polygym.programs import Program
from polygym.runtime.evaluation import Evaluation, Evaluator, c_text, expect_candidate_result
from polygym.runtime.evaluation.time_limits import schedule_within
from polygym.search.folder import JOURNAL_FILE, SearchFolder, create_search, resume_search
from polygym.search.ranking import (
    AUTO,
    ISL,
    NO_AUTOMATIC,
    ORIGINAL,
    AutomaticReference,
    IslReference,
    Ranking,
    choice_of,
    fastest_findings,
)
from polygym.search.runner.retries import evaluate_together_with_retries, evaluate_with_retries
from polygym.search.settings import SearchSetting
from polygym.search.strategies.hill_climbing import climb
from polygym.search.tally import Finding

_RANKED = 5
_TUNED = 3
_ROUNDS = 5

# What may end a search whose findings are worth showing all the same.
_RECOVERABLE = (KeyboardInterrupt, OSError, PolygymError, MemoryError, RecursionError)


@dataclass(frozen=True, slots=True)
class SearchExtent:
    """How far a search is to go: episodes, and mappings to try."""

    budget: int
    mapping_budget: int = 0


class SearchPhase(Enum):
    """What is being done."""

    EXPLORE = "exploring"
    MAPPINGS = "trying mappings"
    TOGETHER = "measuring the best together"


@dataclass(frozen=True, slots=True)
class PhaseHooks:
    """What a watcher does in a phase.

    ``show`` is called after every step; ``waiting`` surrounds the parts in which a
    KeyboardInterrupt may be raised.
    """

    show: Callable[[], None] = lambda: None
    waiting: Callable[[], AbstractContextManager[None]] = nullcontext


PhaseWatcher: TypeAlias = Callable[
    [SearchPhase, SearchFolder, int], AbstractContextManager[PhaseHooks]
]
"""Watches a phase of a search, in which so many steps are to be reached in all."""


@contextmanager
def no_watcher(_: SearchPhase, __: SearchFolder, ___: int) -> Iterator[PhaseHooks]:
    """Watch nothing."""
    yield PhaseHooks()


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """What came of a search, and what ended it early, if anything did."""

    ranking: Ranking
    error: BaseException | None = None


def open_search(setting: SearchSetting, folder: Path, resumed: bool) -> SearchFolder:
    """Begin or resume the search in a folder; to resume where there is none yet is to begin."""
    program = setting.subject.program

    def as_c(schedule: Schedule, mapping: Mapping) -> str:
        return c_text(program, schedule, mapping)

    folder.mkdir(parents=True, exist_ok=True)
    goes_on = resumed and (folder / JOURNAL_FILE).exists()
    return (resume_search if goes_on else create_search)(setting, folder, as_c)


def measure_isl(scop: Scop, evaluator: Evaluator) -> IslReference:
    """Return isl's schedule, measured; where isl finds none, the original order runs anyway."""
    try:
        schedule = schedule_within(ISL_STRATEGY, scop)
    except PolygymError as error:
        evaluator.evaluate(original_schedule(scop))
        return IslReference(None, None, str(error))
    return IslReference(schedule, evaluate_with_retries(evaluator, schedule))


def measure_automatic(
    program: Program, evaluator: Evaluator, isl: IslReference
) -> AutomaticReference:
    """Return the schedule that is promised among a few, measured where it is not isl's."""
    scop, mapping = program.scop, evaluator.options.mapping
    try:
        choice = choose_schedule_within(scop, scop_sizes(scop, dict(program.parameters)), mapping)
    except PolygymError:  # isl says why
        return NO_AUTOMATIC
    if choice.schedule == isl.schedule:
        return AutomaticReference(choice, None)
    return AutomaticReference(
        choice, Finding(AUTO, evaluate_with_retries(evaluator, choice.schedule))
    )


def run_search(
    search: SearchFolder,
    extent: SearchExtent,
    isl: IslReference,
    evaluator: Evaluator,
    watcher: PhaseWatcher = no_watcher,
    automatic: AutomaticReference = NO_AUTOMATIC,
) -> SearchOutcome:
    """Go on until all is done or something puts an end to it."""
    first = original_schedule(search.setting.subject.program.scop)
    try:
        _explore(search, extent.budget, evaluator, watcher)
        _try_mappings(search, extent.mapping_budget, (isl, automatic), evaluator, watcher)
    except _RECOVERABLE as error:
        ranking = Ranking(first, isl, _best_findings(search, automatic), False, automatic.choice)
        if ranking.best is not None and isinstance(ranking.best.index, str):
            with suppress(OSError):  # a full disk, perhaps, which is what has ended it
                search.confirm(ranking.best)
        return SearchOutcome(ranking, error)
    ranking = Ranking(first, isl, _best_findings(search, automatic), False, automatic.choice)
    try:
        with watcher(SearchPhase.TOGETHER, search, 1) as attention:
            ranking = confirm_best(ranking, evaluator, attention)
            if ranking.is_confirmed and ranking.best is not None:
                search.confirm(ranking.best)
    except _RECOVERABLE as error:
        return SearchOutcome(ranking, error)
    return SearchOutcome(ranking)


def confirm_best(
    ranking: Ranking, evaluator: Evaluator, attention: PhaseHooks = PhaseHooks()
) -> Ranking:
    """Measure isl's schedule and the best ones side by side, and rank them by that.

    During the search each was measured in its own time, and the best of many also is the luckiest.
    Where nothing has run, the ranking stays as it is.
    """
    findings = {choice_of(finding): finding for finding in ranking.findings}
    isl = ranking.isl.evaluation
    first = [(isl.schedule, isl.mapping)] if isl is not None and isl.is_ok else []
    choices = tuple(dict.fromkeys([*first, *findings]))
    if not choices:
        return ranking
    with attention.waiting():
        measured = evaluate_together_with_retries(evaluator, choices, _ROUNDS)
    again = dict(zip(choices, measured, strict=True))
    result = [Finding(findings[finding].index, again[finding]) for finding in findings]
    result.sort(key=lambda one: -one.evaluation.speedup)
    beside = replace(ranking.isl, evaluation=again[first[0]]) if first else ranking.isl
    return replace(ranking, isl=beside, findings=tuple(result), is_confirmed=True)


def _best_findings(search: SearchFolder, default: AutomaticReference) -> tuple[Finding, ...]:
    """Return the best few, and the default schedule where it is none of them."""
    findings = fastest_findings(search, _RANKED)
    if default.finding is None or choice_of(default.finding) in map(choice_of, findings):
        return findings
    return (*findings, default.finding)


def _explore(
    search: SearchFolder, budget: int, evaluator: Evaluator, watcher: PhaseWatcher
) -> None:
    """Explore until the budget is used up."""
    with watcher(SearchPhase.EXPLORE, search, budget) as attention:

        def measure(schedule: Schedule, mapping: Mapping) -> Evaluation:
            with attention.waiting():
                return expect_candidate_result(evaluator.evaluate(schedule, mapping))

        for _ in search.run(budget, measure):
            attention.show()


def _try_mappings(
    search: SearchFolder,
    count: int,
    references: tuple[IslReference, AutomaticReference],
    evaluator: Evaluator,
    watcher: PhaseWatcher,
) -> None:
    """Try mappings for the best schedules and those beside them until there are ``count``.

    What the search or an earlier call has measured is known.
    """
    if not count:
        return
    program, start = search.setting.subject.program, evaluator.options.mapping
    best = search.tally.fastest(_TUNED)
    names: dict[Schedule, int | str] = {
        finding.evaluation.schedule: finding.index for finding in best
    }
    known = {(one.evaluation.schedule, start): one.evaluation for one in best}
    isl, default = references
    auto = None if default.finding is None else default.finding.evaluation
    for name, one in ((AUTO, auto), (ISL, isl.evaluation)):
        if one is not None:
            names.setdefault(one.schedule, name)
            known.setdefault((one.schedule, start), one)
    names.setdefault(original_schedule(program.scop), ORIGINAL)
    known |= {
        choice: evaluation
        for choice, evaluation in search.trials.known().items()
        if choice[0] in names
    }
    with watcher(SearchPhase.MAPPINGS, search, count) as attention:

        def measure(schedule: Schedule, mapping: Mapping) -> Evaluation:
            with attention.waiting():
                return expect_candidate_result(evaluator.evaluate(schedule, mapping))

        indices = range(search.trials.count, count)
        for tried in climb(list(names), start, search.setting.seed, indices, measure, known):
            search.add_trial(tried, names)
            attention.show()
