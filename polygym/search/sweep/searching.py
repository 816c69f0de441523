"""The search of one program of a sweep: episode after episode of every policy, each recorded.

The policies take turns, so that they have come equally far when time is up. An episode that is in
the store is not played again; an episode depends on the seed and its number only, so that a search
that goes on explores what an uninterrupted one would.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import islice, takewhile

from polygym.compiler.poly.schedule import Schedule
from polygym.cost.chosen import ChosenModel
from polygym.measure.evaluation import Evaluator
from polygym.measure.evaluation.apart import StoppedError
from polygym.measure.evaluation.compilers import Compilers, pin
from polygym.measure.worker.outcome import Status
from polygym.programs import Program
from polygym.search.explore.players import Player, player, schedule_of
from polygym.search.sweep import reading
from polygym.search.sweep.cores import Place
from polygym.search.sweep.judging import Judge
from polygym.search.sweep.keeping import Baselines, Spending, known_subject, noting_load
from polygym.search.sweep.references import compiler_timings, isl_or_reason, seed_or_reason
from polygym.search.sweep.requests import SearchRequest
from polygym.search.sweep.rows import ISL, Episode, Reference, Timing
from polygym.search.sweep.setting import SweepSetting
from polygym.search.sweep.store import Store

# So many schedules for each core are compiled before they are measured.
_BATCH = 4

_REFERENCE_ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Step:
    """An episode to be played."""

    policy: str
    index: int


def search(
    store: Store,
    setting: SweepSetting,
    kernel: str,
    request: SearchRequest,
    place: Place,
    is_stopped: Callable[[], bool],
) -> None:
    """Explore until every policy has come to the budget, time is up, or ``is_stopped``.

    What there is to compare with is measured first and takes none of the program's time.

    Raises:
        PolygymError: the program cannot be read or does not run, or the machine fails.
    """
    subject = known_subject(store, setting, kernel, setting.search_dataset)
    pin(place.measuring)
    options = setting.measuring
    with (
        suppress(StoppedError),
        closing(
            Compilers(options.compile_seconds, place.compiling, options.compile_memory)
        ) as compilers,
        Evaluator(subject.program, options, compiler=compilers) as evaluator,
        noting_load(store, kernel, str(setting.search_dataset)),
    ):
        # A model that is not there any more is said before anything is measured.
        sizes, model = dict(subject.program.parameters), ChosenModel(request.model)
        players = {
            name: player(name, subject.task, sizes, options.mapping, model)
            for name in request.policies
        }
        judge, baselines = Judge(evaluator), Baselines(store, kernel, str(setting.search_dataset))
        missing = _missing_references(store, setting, kernel, request.against)
        _measure_references(store, setting, kernel, judge, baselines, missing, is_stopped)
        spending, is_over = Spending(store, kernel), until(request.seconds, is_stopped)
        known = {one.schedule: one.number for one in reading.outcomes(store.connection, kernel)}
        steps = takewhile(lambda _: not is_over(), _steps(store, kernel, request))
        try:
            while batch := tuple(islice(steps, _BATCH * len(place.compiling))):
                found = []
                for step in batch:
                    if is_over():
                        return
                    play = players[step.policy]
                    found.append(_play(subject.program, setting, step, play, is_stopped))
                new = [one for one in found if isinstance(one, Schedule) and str(one) not in known]
                choices = [(one, options.mapping) for one in new]
                if not compilers.compile_all(subject.program, choices, is_over):
                    return
                for step, schedule in zip(batch, found, strict=True):
                    is_seed = step.index < len(setting.seeds)
                    _record(store, kernel, step, schedule, known, judge, baselines, is_seed)
                    spending.keep()
                    if is_over():
                        return
        finally:
            spending.keep(0.0)


def _play(
    program: Program,
    setting: SweepSetting,
    step: Step,
    play: Player,
    is_stopped: Callable[[], bool],
) -> Schedule | str:
    """Return the schedule of an episode, or why it has none; the first ones are the seeds'."""
    seed, seeds = setting.seed, setting.seeds
    if step.index < len(seeds):
        return seed_or_reason(seeds[step.index], program, setting.measuring.mapping, is_stopped)
    return schedule_of(play(seed, step.index - len(seeds)))


def _steps(store: Store, kernel: str, request: SearchRequest) -> Iterator[Step]:
    """Yield the episodes that are not in the store, the policies in turn."""
    done = {(one.policy, one.index) for one in reading.episodes(store.connection, kernel)}
    for index in range(request.first, request.budget):
        for name in request.policies:
            if (name, index) not in done:
                yield Step(name, index)


def _record(
    store: Store,
    kernel: str,
    step: Step,
    found: Schedule | str,
    known: dict[str, int],
    judge: Judge,
    baselines: Baselines,
    is_seed: bool,
) -> None:
    """Measure a schedule, unless it is known, and write down what became of the episode."""
    if isinstance(found, str):
        store.add_episode(Episode(kernel, step.policy, step.index, None, found))
        return
    text = str(found)
    if text in known:
        store.add_episode(Episode(kernel, step.policy, step.index, known[text]))
        return
    timing = judge.patiently(found) if is_seed else judge.at_once(found)
    episode = Episode(kernel, step.policy, step.index, None)
    known[text] = store.add_measured(episode, text, timing)
    baselines.see(timing)


def _missing_references(
    store: Store, setting: SweepSetting, kernel: str, against: tuple[str, ...]
) -> list[str]:
    """Return what there is to compare with that has not been measured yet."""
    known = reading.reference_names(store.connection, kernel, str(setting.search_dataset))
    return [name for name in (ISL, *against) if name not in known]


def _measure_references(
    store: Store,
    setting: SweepSetting,
    kernel: str,
    judge: Judge,
    baselines: Baselines,
    missing: Sequence[str],
    is_stopped: Callable[[], bool],
) -> None:
    """Measure isl's schedule and other compilers' code, until stopped."""
    dataset = str(setting.search_dataset)
    if ISL in missing:
        schedule = isl_or_reason(judge.evaluator.program, is_stopped)
        if isinstance(schedule, str):
            timing = Timing(Status.DOES_NOT_COMPILE, detail=schedule)
        else:
            timing = judge.patiently(schedule)
        baselines.see(timing)
        store.set_reference(Reference(kernel, dataset, ISL, timing))
    others = [name for name in missing if name != ISL]
    for name, timing in compiler_timings(judge.evaluator, others, _REFERENCE_ROUNDS, is_stopped):
        store.set_reference(Reference(kernel, dataset, name, timing))


def until(seconds: float | None, is_stopped: Callable[[], bool]) -> Callable[[], bool]:
    """Return what says whether time is up or the search was stopped."""
    deadline = None if seconds is None else time.monotonic() + seconds

    def is_over() -> bool:
        return is_stopped() or (deadline is not None and time.monotonic() >= deadline)

    return is_over
