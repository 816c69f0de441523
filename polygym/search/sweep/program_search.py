"""The search of one program of a sweep: episode after episode of every policy, each recorded.

The policies take turns, so that they have come equally far when time is up. An episode that is in
the store is not played again; an episode depends on the seed and its number only, so that a search
that goes on explores what an uninterrupted one would.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import islice, product
from math import inf
from typing import TypeAlias

from polygym.cost.models.pretrained import ModelChoice
from polygym.poly.schedule import Schedule
from polygym.runtime.evaluation import Evaluator
from polygym.runtime.evaluation.compiler import CompilerPool, pin_to_cores
from polygym.runtime.evaluation.evaluator import MappedSchedule
from polygym.runtime.evaluation.forked_timeout import StoppedError
from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.search.strategies.samplers import EpisodeSampler, make_sampler, schedule_or_reason
from polygym.search.sweep import monitoring, reader, references
from polygym.search.sweep.cores import JobCores
from polygym.search.sweep.rows import ISL, EpisodeRow, ReferenceTiming, Timing
from polygym.search.sweep.settings import SweepSetting
from polygym.search.sweep.store import SweepStore
from polygym.search.sweep.workload import SearchRequest

# So many schedules for each core are compiled before they are measured.
_BATCH = 4

_REFERENCE_ROUNDS = 5

EpisodeStep: TypeAlias = tuple[str, int]
"""An episode to be played: the policy and the number."""


@dataclass(frozen=True, slots=True)
class EpisodeBatch:
    """Episodes that were played; of each its schedule, or why it has none.

    ``new`` are the schedules of which nothing is known yet, under the mapping of the sweep.
    """

    steps: tuple[EpisodeStep, ...]
    found: tuple[Schedule | str, ...]
    new: tuple[MappedSchedule, ...]


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
    subject = monitoring.load_subject(store, setting, kernel, setting.search_dataset)
    pin_to_cores(place.measuring)
    options = setting.evaluation
    limits = options.compile_seconds, place.compiling, options.compile_memory
    with (
        suppress(StoppedError),
        closing(CompilerPool(*limits, beside)) as compilers,
        Evaluator(subject.program, options, compiler=compilers) as evaluator,
        monitoring.record_load(store, kernel, str(setting.search_dataset)),
    ):
        # A model that is not there any more is said before anything is measured.
        sizes, model = dict(subject.program.parameters), ModelChoice(request.model)
        samplers = {
            name: make_sampler(name, subject.task, sizes, options.mapping, model)
            for name in request.policies
        }
        search = ProgramSearch(
            store, setting, kernel, request, evaluator, compilers, samplers, is_stopped
        )
        search.measure_references()
        search.run(_BATCH * len(place.compiling), bool(beside))


@dataclass(slots=True)
class ProgramSearch:
    """A search at work: batches of episodes are played, compiled, and measured one after the other.

    Playing is this thread's, whose isl is nobody else's, and takes place while nothing is measured.
    """

    store: SweepStore
    setting: SweepSetting
    kernel: str
    request: SearchRequest
    evaluator: Evaluator
    compilers: CompilerPool
    samplers: dict[str, EpisodeSampler]
    is_stopped: Callable[[], bool]
    timer: references.ScheduleTimer = field(init=False)
    baselines: monitoring.BaselineRecorder = field(init=False)
    known: dict[str, int] = field(init=False)
    deadline: float = inf

    def __post_init__(self) -> None:
        """Remember what is known."""
        self.timer = references.ScheduleTimer(self.evaluator)
        dataset = str(self.setting.search_dataset)
        self.baselines = monitoring.BaselineRecorder(self.store, self.kernel, dataset)
        outcomes = reader.outcomes(self.store.connection, self.kernel)
        self.known = {outcome.schedule: outcome.number for outcome in outcomes}

    def measure_references(self) -> None:
        """Measure isl's schedule and other compilers' code where missing, until stopped."""
        dataset = str(self.setting.search_dataset)
        known = reader.reference_names(self.store.connection, self.kernel, dataset)
        if ISL not in known:
            schedule = references.isl_or_reason(self.evaluator.program, self.is_stopped)
            if isinstance(schedule, str):
                timing = Timing(OutcomeStatus.DOES_NOT_COMPILE, detail=schedule)
            else:
                timing = self.timer.measure_with_retries(schedule)
            self.baselines.record(timing)
            self.store.set_reference(ReferenceTiming(self.kernel, dataset, ISL, timing))
        others = [name for name in self.request.against if name not in (*known, ISL)]
        for name, timing in references.compiler_timings(
            self.evaluator, others, _REFERENCE_ROUNDS, self.is_stopped
        ):
            self.store.set_reference(ReferenceTiming(self.kernel, dataset, name, timing))

    def run(self, size: int, ahead: bool) -> None:
        """Go through episodes; ``ahead``: a batch is compiled while the one before is measured."""
        if self.request.time_limit is not None:
            self.deadline = time.monotonic() + self.request.time_limit
        steps, program = self._steps(), self.evaluator.program
        spending = monitoring.TimeRecorder(self.store, self.kernel)
        try:
            batch = self._played(steps, size)
            while batch and self.compilers.compile_all(program, batch.new, self.is_over):
                following = self._played(steps, size, batch) if ahead else None
                if following is not None:
                    self.compilers.prefetch(program, following.new)
                for step, schedule in zip(batch.steps, batch.found, strict=True):
                    self._record(step, schedule)
                    spending.record()
                    if self.is_over():
                        return
                batch = following or self._played(steps, size)
        finally:
            spending.record(0.0)

    def is_over(self) -> bool:
        """Whether time is up or the search was stopped."""
        return self.is_stopped() or time.monotonic() >= self.deadline

    def _steps(self) -> Iterator[EpisodeStep]:
        """Yield the episodes that are not in the store, the policies in turn."""
        episodes = reader.episodes(self.store.connection, self.kernel)
        done = {(row.policy, row.index) for row in episodes}
        indices = range(self.request.first, self.request.budget)
        for index, name in product(indices, self.request.policies):
            if (name, index) not in done:
                yield name, index

    def _played(
        self, steps: Iterator[EpisodeStep], size: int, before: EpisodeBatch | None = None
    ) -> EpisodeBatch | None:
        """Return the next episodes, played; None at the end. ``before`` is being compiled."""
        chosen, result = [], []
        for step in islice(steps, size):
            if self.is_over():
                return None
            chosen.append(step)
            result.append(self._sample_schedule(*step))
        mapping = self.setting.evaluation.mapping
        schedules = [schedule for schedule in result if isinstance(schedule, Schedule)]
        new = [(schedule, mapping) for schedule in schedules if str(schedule) not in self.known]
        fresh = tuple(choice for choice in new if before is None or choice not in before.new)
        return EpisodeBatch(tuple(chosen), tuple(result), fresh) if chosen else None

    def _sample_schedule(self, policy: str, index: int) -> Schedule | str:
        """Return the schedule of an episode, or why it has none; the first ones are the seeds'."""
        seeds = self.setting.initial_schedules
        if index >= len(seeds):
            return schedule_or_reason(self.samplers[policy](self.setting.seed, index - len(seeds)))
        mapping = self.setting.evaluation.mapping
        return references.initial_schedule_or_reason(
            seeds[index], self.evaluator.program, mapping, self.is_stopped
        )

    def _record(self, step: EpisodeStep, schedule: Schedule | str) -> None:
        """Measure a schedule, unless it is known, and write down what became of the episode."""
        if isinstance(schedule, str):
            self.store.add_episode(EpisodeRow(self.kernel, *step, None, schedule))
            return
        text = str(schedule)
        episode = EpisodeRow(self.kernel, *step, self.known.get(text))
        if text in self.known:
            self.store.add_episode(episode)
            return
        is_seed = step[1] < len(self.setting.initial_schedules)
        measure = self.timer.measure_with_retries if is_seed else self.timer.measure
        timing = measure(schedule)
        self.known[text] = self.store.add_measured(episode, text, timing)
        self.baselines.record(timing)
