"""The search of one program of a sweep: episode after episode of every policy, each recorded.

The policies take turns, so that they have come equally far when time is up. An episode that is in
the store is not played again; an episode depends on the seed and its number only, so that a search
that goes on explores what an uninterrupted one would.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice, takewhile
from typing import get_args

from polygym.compiler.poly.schedule import Schedule
from polygym.episodes.kernels import Subject
from polygym.episodes.policies import policy
from polygym.errors import IllegalScheduleError
from polygym.measure.evaluation import Evaluation, Evaluator
from polygym.measure.evaluation.compilers import Compilers, pin
from polygym.measure.worker.outcome import Outcome, Status, WorkerError
from polygym.search.explore import tried_again
from polygym.search.explore.explorer import episode_of, schedule_of
from polygym.search.sweep import reading
from polygym.search.sweep.cores import Place
from polygym.search.sweep.references import compiler_timings, isl_or_reason, seed_or_reason
from polygym.search.sweep.requests import SearchRequest
from polygym.search.sweep.rows import ISL, Baseline, Episode, Reference, Timing
from polygym.search.sweep.setting import SweepSetting
from polygym.search.sweep.store import Store, now

# The original order's samples come with every outcome; so many seconds lie between those kept.
_BASELINE_SECONDS = 10.0

# So many schedules for each core are compiled before they are measured.
_BATCH = 4

# What a process that is killed has not written down of the time that it took.
_SPENDING_SECONDS = 5.0

_REFERENCE_ROUNDS = 5

_OF_SCHEDULES = {kind.__name__ for kind in get_args(Outcome)}


@dataclass(frozen=True, slots=True)
class Step:
    """An episode to be played."""

    policy: str
    index: int


@dataclass(slots=True)
class Baselines:
    """Keeps the original order's samples, now and then."""

    store: Store
    kernel: str
    dataset: str
    _samples: tuple[float, ...] = ()
    _moment: float = field(default=0.0)

    def see(self, timing: Timing) -> None:
        """Keep the samples if they are new and the last ones are not recent."""
        moment = now()
        is_new = timing.baseline_samples and timing.baseline_samples != self._samples
        if is_new and abs(moment - self._moment) >= _BASELINE_SECONDS:
            self._samples, self._moment = timing.baseline_samples, moment
            self.store.add_baseline(
                Baseline(self.kernel, self.dataset, moment, timing.baseline_samples)
            )


@dataclass(slots=True)
class Spending:
    """Adds the time that goes by to what a program has cost, now and then."""

    store: Store
    kernel: str
    _since: float = field(default_factory=time.monotonic)

    def keep(self, least: float = _SPENDING_SECONDS) -> None:
        """Write down the time since the last call that did, if it is ``least`` seconds or more."""
        moment = time.monotonic()
        if moment - self._since >= least:
            self.store.spend(self.kernel, moment - self._since)
            self._since = moment


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
    subject = setting.subject(kernel, setting.search_dataset)
    store.keep_digest(kernel, subject.digest)
    pin(place.measuring)
    options = setting.measuring
    with (
        closing(
            Compilers(options.compile_seconds, place.compiling, options.compile_memory)
        ) as compilers,
        Evaluator(subject.program, options, compiler=compilers) as evaluator,
    ):
        judge, baselines = Judge(evaluator), Baselines(store, kernel, str(setting.search_dataset))
        missing = _missing_references(store, setting, kernel, request.against)
        _measure_references(store, setting, kernel, judge, baselines, missing, is_stopped)
        spending, is_over = Spending(store, kernel), until(request.seconds, is_stopped)
        known = {one.schedule: one.number for one in reading.outcomes(store.connection, kernel)}
        steps = takewhile(lambda _: not is_over(), _steps(store, kernel, request))
        try:
            while batch := tuple(islice(steps, _BATCH * len(place.compiling))):
                found = [_play(subject, setting.seed, setting.seeds, step) for step in batch]
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


def _play(subject: Subject, seed: int, seeds: tuple[str, ...], step: Step) -> Schedule | str:
    """Return the schedule of an episode, or why it has none; the first ones are the seeds'."""
    if step.index < len(seeds):
        return seed_or_reason(seeds[step.index], subject.program)
    index = step.index - len(seeds)
    return schedule_of(episode_of(subject.task, policy(step.policy), seed, index))


def _steps(store: Store, kernel: str, request: SearchRequest) -> Iterator[Step]:
    """Yield the episodes that are not in the store, the policies in turn."""
    done = {(one.policy, one.index) for one in reading.episodes(store.connection, kernel)}
    for index in range(request.budget):
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


@dataclass(slots=True)
class Judge:
    """Measures schedules of a program; one that is refused as illegal has not compiled.

    Raises:
        WorkerError: the machine failed, which says nothing about the schedule.
    """

    evaluator: Evaluator
    _answers: dict[Schedule, Timing] = field(default_factory=dict)

    def at_once(self, schedule: Schedule) -> Timing:
        """Measure a schedule, unless it was measured patiently."""
        known = self._answers.get(schedule)
        return known or _timing(lambda: self.evaluator.evaluate(schedule))

    def patiently(self, schedule: Schedule) -> Timing:
        """Measure what others are compared with: again, if it was cut off."""
        if schedule not in self._answers:
            self._answers[schedule] = _timing(
                lambda: tried_again.evaluate(self.evaluator, schedule)
            )
        return self._answers[schedule]


def _timing(evaluate: Callable[[], Evaluation]) -> Timing:
    try:
        return Timing.of(trusted(evaluate()))
    except IllegalScheduleError as error:
        detail = f"{type(error).__name__}: {error}"
        return Timing(Status.DOES_NOT_COMPILE, detail=detail)


def trusted(evaluation: Evaluation) -> Evaluation:
    """Return an evaluation if it is the schedule's doing.

    Raises:
        WorkerError: it is the machine's.
    """
    status, kind = evaluation.status, evaluation.error_type
    is_the_schedule = status in (Status.OK, Status.DOES_NOT_COMPILE) or kind in _OF_SCHEDULES
    if not is_the_schedule:
        raise WorkerError(f"measuring failed: {kind}: {evaluation.error_details}")
    return evaluation


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
        schedule = isl_or_reason(judge.evaluator.program)
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
