"""The search of one program of a sweep: episode after episode of every policy, each recorded.

The policies take turns, so that they have come equally far when time is up. An episode that is in
the store is not played again; an episode depends on the seed and its number only, so that a search
that goes on explores what an uninterrupted one would.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import islice

from polygym.compiler.codegen.common.mapping import Mapping
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


@dataclass(frozen=True, slots=True)
class Batch:
    """Episodes that were played; of each its schedule, or why it has none.

    ``new`` are the schedules of which nothing is known yet.
    """

    steps: tuple[Step, ...]
    found: tuple[Schedule | str, ...]
    new: tuple[Schedule, ...]


def search(
    store: Store,
    setting: SweepSetting,
    kernel: str,
    request: SearchRequest,
    place: Place,
    is_stopped: Callable[[], bool],
    beside: tuple[int, ...] = (),
) -> None:
    """Explore until every policy has come to the budget, time is up, or ``is_stopped``.

    What there is to compare with is measured first and takes none of the program's time. On the
    cores ``beside`` those that measure the code of the next batch is generated meanwhile.

    Raises:
        PolygymError: the program cannot be read or does not run, or the machine fails.
    """
    subject = known_subject(store, setting, kernel, setting.search_dataset)
    pin(place.measuring)
    options = setting.measuring
    limits = options.compile_seconds, place.compiling, options.compile_memory
    with (
        suppress(StoppedError),
        closing(Compilers(*limits, beside)) as compilers,
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
        course = Course(
            store, setting, kernel, subject.program, players, judge, baselines, compilers,
            until(request.seconds, is_stopped), is_stopped,
        )  # fmt: skip
        course.run(_steps(store, kernel, request), _BATCH * len(place.compiling), bool(beside))


@dataclass(slots=True)
class Course:
    """A search at work: batches of episodes are played, compiled, and measured one after the other.

    Playing is this thread's, whose isl is nobody else's, and takes place while nothing is measured.
    """

    store: Store
    setting: SweepSetting
    kernel: str
    program: Program
    players: dict[str, Player]
    judge: Judge
    baselines: Baselines
    compilers: Compilers
    is_over: Callable[[], bool]
    is_stopped: Callable[[], bool]
    known: dict[str, int] = field(init=False)
    spending: Spending = field(init=False)

    def __post_init__(self) -> None:
        """Remember what is known."""
        self.spending = Spending(self.store, self.kernel)
        outcomes = reading.outcomes(self.store.connection, self.kernel)
        self.known = {one.schedule: one.number for one in outcomes}

    def run(self, steps: Iterator[Step], size: int, ahead: bool) -> None:
        """Go through episodes; ``ahead``: a batch is compiled while the one before is measured."""
        try:
            batch = self._played(steps, size)
            while batch is not None and self._is_compiled(batch):
                following = self._played(steps, size, batch) if ahead else None
                if following is not None:
                    self.compilers.begin(self.program, self._choices(following))
                if not self._is_recorded(batch):
                    return
                batch = following or self._played(steps, size)
        finally:
            self.spending.keep(0.0)

    def _played(
        self, steps: Iterator[Step], size: int, before: Batch | None = None
    ) -> Batch | None:
        """Return the next episodes, played; None at the end. ``before`` is being compiled."""
        chosen, found = [], []
        for step in islice(steps, size):
            if self.is_over():
                return None
            play = self.players[step.policy]
            chosen.append(step)
            found.append(_play(self.program, self.setting, step, play, self.is_stopped))
        old = () if before is None else before.new
        new = [one for one in found if isinstance(one, Schedule) and str(one) not in self.known]
        fresh = tuple(one for one in new if one not in old)
        return Batch(tuple(chosen), tuple(found), fresh) if chosen else None

    def _choices(self, batch: Batch) -> list[tuple[Schedule, Mapping]]:
        return [(one, self.setting.measuring.mapping) for one in batch.new]

    def _is_compiled(self, batch: Batch) -> bool:
        return self.compilers.compile_all(self.program, self._choices(batch), self.is_over)

    def _is_recorded(self, batch: Batch) -> bool:
        """Measure a batch and write down what became of it; return whether it is not over."""
        for step, schedule in zip(batch.steps, batch.found, strict=True):
            is_seed = step.index < len(self.setting.seeds)
            _record(
                self.store, self.kernel, step, schedule, self.known, self.judge, self.baselines,
                is_seed,
            )  # fmt: skip
            self.spending.keep()
            if self.is_over():
                return False
        return True


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
