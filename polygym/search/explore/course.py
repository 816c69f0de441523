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

from polygym.compiler.codegen.common.mapping import Mapping
from polygym.compiler.codegen.common.sizes import own_sizes
from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.baselines import original
from polygym.compiler.poly.schedule import Schedule
from polygym.compiler.poly.strategy import ISL as ISL_STRATEGY
from polygym.episodes.automatic import choose_within
from polygym.errors import PolygymError
from polygym.measure.evaluation import Evaluation, Evaluator, c_text, trusted
from polygym.measure.evaluation.patience import schedule_within
from polygym.programs import Program
from polygym.search.explore.folder import JOURNAL, Search, begin, resume
from polygym.search.explore.ranking import (
    AUTO,
    ISL,
    NO_DEFAULT,
    ORIGINAL,
    Default,
    Ranking,
    Reference,
    choice_of,
    fastest,
)
from polygym.search.explore.setting import Setting
from polygym.search.explore.tally import Finding
from polygym.search.explore.tried_again import evaluate, evaluate_together
from polygym.search.explore.tuning import tune

_RANKED = 5
_TUNED = 3
_ROUNDS = 5

# What may end a search whose findings are worth showing all the same.
_EXPECTED = (KeyboardInterrupt, OSError, PolygymError, MemoryError, RecursionError)


@dataclass(frozen=True, slots=True)
class Extent:
    """How far a search is to go: episodes, and mappings to try."""

    budget: int
    mappings: int = 0


class Phase(Enum):
    """What is being done."""

    EXPLORE = "exploring"
    MAPPINGS = "trying mappings"
    TOGETHER = "measuring the best together"


@dataclass(frozen=True, slots=True)
class Attention:
    """What a watcher does in a phase.

    ``show`` is called after every step; ``waiting`` surrounds the parts in which a
    KeyboardInterrupt may be raised.
    """

    show: Callable[[], None] = lambda: None
    waiting: Callable[[], AbstractContextManager[None]] = nullcontext


Watch: TypeAlias = Callable[[Phase, Search, int], AbstractContextManager[Attention]]
"""Watches a phase of a search, in which so many steps are to be reached in all."""


@contextmanager
def unwatched(_: Phase, __: Search, ___: int) -> Iterator[Attention]:
    """Watch nothing."""
    yield Attention()


@dataclass(frozen=True, slots=True)
class Course:
    """What came of a search, and what ended it early, if anything did."""

    ranking: Ranking
    ended_by: BaseException | None = None


def open_search(setting: Setting, folder: Path, resumed: bool) -> Search:
    """Begin or resume the search in a folder; to resume where there is none yet is to begin."""
    program = setting.subject.program

    def as_c(schedule: Schedule, mapping: Mapping) -> str:
        return c_text(program, schedule, mapping)

    folder.mkdir(parents=True, exist_ok=True)
    goes_on = resumed and (folder / JOURNAL).exists()
    return (resume if goes_on else begin)(setting, folder, as_c)


def reference(scop: Scop, evaluator: Evaluator) -> Reference:
    """Return isl's schedule, measured; where isl finds none, the original order runs anyway."""
    try:
        schedule = schedule_within(ISL_STRATEGY, scop)
    except PolygymError as error:
        evaluator.evaluate(original(scop))
        return Reference(None, None, str(error))
    return Reference(schedule, evaluate(evaluator, schedule))


def automatic(program: Program, evaluator: Evaluator, isl: Reference) -> Default:
    """Return the schedule that is promised among a few, measured where it is not isl's."""
    scop, mapping = program.scop, evaluator.options.mapping
    try:
        choice = choose_within(scop, own_sizes(scop, dict(program.parameters)), mapping)
    except PolygymError:  # isl says why
        return NO_DEFAULT
    if choice.schedule == isl.schedule:
        return Default(choice, None)
    return Default(choice, Finding(AUTO, evaluate(evaluator, choice.schedule)))


def run(
    search: Search,
    extent: Extent,
    isl: Reference,
    evaluator: Evaluator,
    watch: Watch = unwatched,
    default: Default = NO_DEFAULT,
) -> Course:
    """Go on until all is done or something puts an end to it."""
    first = original(search.setting.subject.program.scop)
    try:
        _explore(search, extent.budget, evaluator, watch)
        _try_mappings(search, extent.mappings, (isl, default), evaluator, watch)
    except _EXPECTED as error:
        ranking = Ranking(first, isl, _findings(search, default), False, default.choice)
        if ranking.best is not None and isinstance(ranking.best.index, str):
            with suppress(OSError):  # a full disk, perhaps, which is what has ended it
                search.confirm(ranking.best)
        return Course(ranking, error)
    ranking = Ranking(first, isl, _findings(search, default), False, default.choice)
    try:
        with watch(Phase.TOGETHER, search, 1) as attention:
            ranking = confirmed(ranking, evaluator, attention)
            if ranking.together and ranking.best is not None:
                search.confirm(ranking.best)
    except _EXPECTED as error:
        return Course(ranking, error)
    return Course(ranking)


def confirmed(
    ranking: Ranking, evaluator: Evaluator, attention: Attention = Attention()
) -> Ranking:
    """Measure isl's schedule and the best ones side by side, and rank them by that.

    During the search each was measured in its own time, and the best of many also is the luckiest.
    Where nothing has run, the ranking stays as it is.
    """
    findings = {choice_of(one): one for one in ranking.findings}
    isl = ranking.isl.evaluation
    first = [(isl.schedule, isl.mapping)] if isl is not None and isl.is_ok else []
    choices = tuple(dict.fromkeys([*first, *findings]))
    if not choices:
        return ranking
    with attention.waiting():
        measured = evaluate_together(evaluator, choices, _ROUNDS)
    again = dict(zip(choices, measured, strict=True))
    found = [Finding(findings[one].index, again[one]) for one in findings]
    found.sort(key=lambda one: -one.evaluation.speedup)
    beside = replace(ranking.isl, evaluation=again[first[0]]) if first else ranking.isl
    return replace(ranking, isl=beside, findings=tuple(found), together=True)


def _findings(search: Search, default: Default) -> tuple[Finding, ...]:
    """Return the best few, and the default schedule where it is none of them."""
    found = fastest(search, _RANKED)
    if default.finding is None or choice_of(default.finding) in map(choice_of, found):
        return found
    return (*found, default.finding)


def _explore(search: Search, budget: int, evaluator: Evaluator, watch: Watch) -> None:
    """Explore until the budget is used up."""
    with watch(Phase.EXPLORE, search, budget) as attention:

        def measure(schedule: Schedule, mapping: Mapping) -> Evaluation:
            with attention.waiting():
                return trusted(evaluator.evaluate(schedule, mapping))

        for _ in search.run(budget, measure):
            attention.show()


def _try_mappings(
    search: Search,
    count: int,
    beside: tuple[Reference, Default],
    evaluator: Evaluator,
    watch: Watch,
) -> None:
    """Try mappings for the best schedules and those beside them until there are ``count``.

    What the search or an earlier call has measured is known.
    """
    if not count:
        return
    program, start = search.setting.subject.program, evaluator.options.mapping
    best = search.tally.fastest(_TUNED)
    names: dict[Schedule, int | str] = {one.evaluation.schedule: one.index for one in best}
    known = {(one.evaluation.schedule, start): one.evaluation for one in best}
    isl, default = beside
    auto = None if default.finding is None else default.finding.evaluation
    for name, one in ((AUTO, auto), (ISL, isl.evaluation)):
        if one is not None:
            names.setdefault(one.schedule, name)
            known.setdefault((one.schedule, start), one)
    names.setdefault(original(program.scop), ORIGINAL)
    known |= {
        choice: evaluation
        for choice, evaluation in search.trials.known().items()
        if choice[0] in names
    }
    with watch(Phase.MAPPINGS, search, count) as attention:

        def measure(schedule: Schedule, mapping: Mapping) -> Evaluation:
            with attention.waiting():
                return trusted(evaluator.evaluate(schedule, mapping))

        indices = range(search.trials.count, count)
        for tried in tune(list(names), start, search.setting.seed, indices, measure, known):
            search.add_trial(tried, names)
            attention.show()
