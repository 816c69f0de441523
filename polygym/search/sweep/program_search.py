"""The search of one program of a sweep: episode after episode of every policy, each recorded.

The policies take turns, so that they have come equally far when time is up. An episode that is in
the store is not played again; an episode depends on the seed and its number only, so that a search
that goes on explores what an uninterrupted one would.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import islice

from polygym.cost.models.pretrained import ModelChoice
from polygym.mapping.mapping import Mapping
from polygym.poly.schedule import Schedule
from polygym.programs import Program
from polygym.runtime.evaluation import Evaluator
from polygym.runtime.evaluation.compiler import CompilerPool, pin_to_cores
from polygym.runtime.evaluation.forked_timeout import StoppedError
from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.search.strategies.samplers import EpisodeSampler, make_sampler, schedule_or_reason
from polygym.search.sweep import reader
from polygym.search.sweep.cores import JobCores
from polygym.search.sweep.evaluation import ScheduleTimer
from polygym.search.sweep.monitoring import (
    BaselineRecorder,
    TimeRecorder,
    load_subject,
    record_load,
)
from polygym.search.sweep.references import (
    compiler_timings,
    initial_schedule_or_reason,
    isl_or_reason,
)
from polygym.search.sweep.requests import SearchRequest
from polygym.search.sweep.rows import ISL, EpisodeRow, ReferenceTiming, Timing
from polygym.search.sweep.settings import SweepSetting
from polygym.search.sweep.store import SweepStore

# So many schedules for each core are compiled before they are measured.
_BATCH = 4

_REFERENCE_ROUNDS = 5


@dataclass(frozen=True, slots=True)
class EpisodeStep:
    """An episode to be played."""

    policy: str
    index: int


@dataclass(frozen=True, slots=True)
class EpisodeBatch:
    """Episodes that were played; of each its schedule, or why it has none.

    ``new`` are the schedules of which nothing is known yet.
    """

    steps: tuple[EpisodeStep, ...]
    found: tuple[Schedule | str, ...]
    new: tuple[Schedule, ...]


def search_program(
    store: SweepStore,
    setting: SweepSetting,
    kernel: str,
    request: SearchRequest,
    place: JobCores,
    is_stopped: Callable[[], bool],
    beside: tuple[int, ...] = (),
) -> None:
    """Explore until every policy has come to the budget, time is up, or ``is_stopped``.

    What there is to compare with is measured first and takes none of the program's time. On the
    cores ``beside`` those that measure the code of the next batch is generated meanwhile.

    Raises:
        PolygymError: the program cannot be read or does not run, or the machine fails.
    """
    subject = load_subject(store, setting, kernel, setting.search_dataset)
    pin_to_cores(place.measuring)
    options = setting.evaluation
    limits = options.compile_seconds, place.compiling, options.compile_memory
    with (
        suppress(StoppedError),
        closing(CompilerPool(*limits, beside)) as compilers,
        Evaluator(subject.program, options, compiler=compilers) as evaluator,
        record_load(store, kernel, str(setting.search_dataset)),
    ):
        # A model that is not there any more is said before anything is measured.
        sizes, model = dict(subject.program.parameters), ModelChoice(request.model)
        players = {
            name: make_sampler(name, subject.task, sizes, options.mapping, model)
            for name in request.policies
        }
        judge, baselines = (
            ScheduleTimer(evaluator),
            BaselineRecorder(store, kernel, str(setting.search_dataset)),
        )
        missing = _missing_references(store, setting, kernel, request.against)
        _measure_references(store, setting, kernel, judge, baselines, missing, is_stopped)
        course = ProgramSearch(
            store, setting, kernel, subject.program, players, judge, baselines, compilers,
            make_is_over(request.time_limit, is_stopped), is_stopped,
        )  # fmt: skip
        course.run(_steps(store, kernel, request), _BATCH * len(place.compiling), bool(beside))


@dataclass(slots=True)
class ProgramSearch:
    """A search at work: batches of episodes are played, compiled, and measured one after the other.

    Playing is this thread's, whose isl is nobody else's, and takes place while nothing is measured.
    """

    store: SweepStore
    setting: SweepSetting
    kernel: str
    program: Program
    samplers: dict[str, EpisodeSampler]
    timer: ScheduleTimer
    baselines: BaselineRecorder
    compilers: CompilerPool
    is_over: Callable[[], bool]
    is_stopped: Callable[[], bool]
    known: dict[str, int] = field(init=False)
    spending: TimeRecorder = field(init=False)

    def __post_init__(self) -> None:
        """Remember what is known."""
        self.spending = TimeRecorder(self.store, self.kernel)
        outcomes = reader.outcomes(self.store.connection, self.kernel)
        self.known = {outcome.schedule: outcome.number for outcome in outcomes}

    def run(self, steps: Iterator[EpisodeStep], size: int, ahead: bool) -> None:
        """Go through episodes; ``ahead``: a batch is compiled while the one before is measured."""
        try:
            batch = self._played(steps, size)
            while batch is not None and self._is_compiled(batch):
                following = self._played(steps, size, batch) if ahead else None
                if following is not None:
                    self.compilers.prefetch(self.program, self._choices(following))
                if not self._is_recorded(batch):
                    return
                batch = following or self._played(steps, size)
        finally:
            self.spending.record(0.0)

    def _played(
        self, steps: Iterator[EpisodeStep], size: int, before: EpisodeBatch | None = None
    ) -> EpisodeBatch | None:
        """Return the next episodes, played; None at the end. ``before`` is being compiled."""
        chosen, result = [], []
        for step in islice(steps, size):
            if self.is_over():
                return None
            play = self.samplers[step.policy]
            chosen.append(step)
            result.append(_sample_schedule(self.program, self.setting, step, play, self.is_stopped))
        old = () if before is None else before.new
        new = [
            schedule
            for schedule in result
            if isinstance(schedule, Schedule) and str(schedule) not in self.known
        ]
        fresh = tuple(one for one in new if one not in old)
        return EpisodeBatch(tuple(chosen), tuple(result), fresh) if chosen else None

    def _choices(self, batch: EpisodeBatch) -> list[tuple[Schedule, Mapping]]:
        return [(schedule, self.setting.evaluation.mapping) for schedule in batch.new]

    def _is_compiled(self, batch: EpisodeBatch) -> bool:
        return self.compilers.compile_all(self.program, self._choices(batch), self.is_over)

    def _is_recorded(self, batch: EpisodeBatch) -> bool:
        """Measure a batch and write down what became of it; return whether it is not over."""
        for step, schedule in zip(batch.steps, batch.found, strict=True):
            is_seed = step.index < len(self.setting.initial_schedules)
            _record(
                self.store, self.kernel, step, schedule, self.known, self.timer, self.baselines,
                is_seed,
            )  # fmt: skip
            self.spending.record()
            if self.is_over():
                return False
        return True


def _sample_schedule(
    program: Program,
    setting: SweepSetting,
    step: EpisodeStep,
    play: EpisodeSampler,
    is_stopped: Callable[[], bool],
) -> Schedule | str:
    """Return the schedule of an episode, or why it has none; the first ones are the seeds'."""
    seed, seeds = setting.seed, setting.initial_schedules
    if step.index < len(seeds):
        return initial_schedule_or_reason(
            seeds[step.index], program, setting.evaluation.mapping, is_stopped
        )
    return schedule_or_reason(play(seed, step.index - len(seeds)))


def _steps(store: SweepStore, kernel: str, request: SearchRequest) -> Iterator[EpisodeStep]:
    """Yield the episodes that are not in the store, the policies in turn."""
    done = {
        (episode_row.policy, episode_row.index)
        for episode_row in reader.episodes(store.connection, kernel)
    }
    for index in range(request.first, request.budget):
        for name in request.policies:
            if (name, index) not in done:
                yield EpisodeStep(name, index)


def _record(
    store: SweepStore,
    kernel: str,
    step: EpisodeStep,
    found: Schedule | str,
    known: dict[str, int],
    judge: ScheduleTimer,
    baselines: BaselineRecorder,
    is_seed: bool,
) -> None:
    """Measure a schedule, unless it is known, and write down what became of the episode."""
    if isinstance(found, str):
        store.add_episode(EpisodeRow(kernel, step.policy, step.index, None, found))
        return
    text = str(found)
    if text in known:
        store.add_episode(EpisodeRow(kernel, step.policy, step.index, known[text]))
        return
    timing = judge.measure_with_retries(found) if is_seed else judge.measure(found)
    episode = EpisodeRow(kernel, step.policy, step.index, None)
    known[text] = store.add_measured(episode, text, timing)
    baselines.record(timing)


def _missing_references(
    store: SweepStore, setting: SweepSetting, kernel: str, against: tuple[str, ...]
) -> list[str]:
    """Return what there is to compare with that has not been measured yet."""
    known = reader.reference_names(store.connection, kernel, str(setting.search_dataset))
    return [name for name in (ISL, *against) if name not in known]


def _measure_references(
    store: SweepStore,
    setting: SweepSetting,
    kernel: str,
    judge: ScheduleTimer,
    baselines: BaselineRecorder,
    missing: Sequence[str],
    is_stopped: Callable[[], bool],
) -> None:
    """Measure isl's schedule and other compilers' code, until stopped."""
    dataset = str(setting.search_dataset)
    if ISL in missing:
        schedule = isl_or_reason(judge.evaluator.program, is_stopped)
        if isinstance(schedule, str):
            timing = Timing(OutcomeStatus.DOES_NOT_COMPILE, detail=schedule)
        else:
            timing = judge.measure_with_retries(schedule)
        baselines.record(timing)
        store.set_reference(ReferenceTiming(kernel, dataset, ISL, timing))
    others = [name for name in missing if name != ISL]
    for name, timing in compiler_timings(judge.evaluator, others, _REFERENCE_ROUNDS, is_stopped):
        store.set_reference(ReferenceTiming(kernel, dataset, name, timing))


def make_is_over(seconds: float | None, is_stopped: Callable[[], bool]) -> Callable[[], bool]:
    """Return what says whether time is up or the search was stopped."""
    deadline = None if seconds is None else time.monotonic() + seconds

    def is_over() -> bool:
        return is_stopped() or (deadline is not None and time.monotonic() >= deadline)

    return is_over
