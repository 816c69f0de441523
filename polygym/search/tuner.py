"""The tuner: generation after generation, some candidates compiled on all cores, then measured.

Every candidate runs beside the original order of the program, in a process of its own, and its
outputs are compared bit for bit: one that computes something else never counts. The best few and
what there was to start from are measured together in the end, since the best of many also is the
luckiest. It can be stopped at any time, by a limit or by Ctrl-C, and then has what it has found.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field, fields, replace
from math import inf
from typing import Any

from polygym.autoschedule.schedule_choice import resolved_schedule_within
from polygym.errors import InputError, PolygymError
from polygym.mapping.machine import Machine
from polygym.mapping.mapping import SEQUENTIAL_MAPPING, Mapping
from polygym.mapping.sizes import scop_sizes
from polygym.mdp.policies.registry import Policy
from polygym.pickling import pickle_by_name
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.baselines import prepare_isl_scheduling
from polygym.poly.scheduling.strategy import AUTO, ORIGINAL, ScheduleStrategy
from polygym.programs import Program
from polygym.runtime.evaluation import (
    Evaluation,
    EvaluationOptions,
    rounds_within,
)
from polygym.runtime.evaluation.evaluation_results import Defects
from polygym.runtime.evaluation.evaluator import MappedSchedule
from polygym.search.runner.local import CandidateRunner, RunnerFactory, open_local_runner
from polygym.search.strategies.candidates import (
    Candidate,
    EditedSchedule,
    EpisodeSchedule,
    ScheduleSource,
    SearchSpace,
    known_source,
    schedules_of,
)
from polygym.search.strategies.model_options import DEFAULT_MODEL_OPTIONS, ModelOptions
from polygym.search.strategies.random_search import RandomSearch
from polygym.search.strategies.registry import MODEL_STRATEGIES, check_strategy, make_strategy
from polygym.search.tuning_result import TuningResult

# How many are measured together in the end; the runs of the original take so long in all.
_CONFIRMED_COUNT = 5
_CONFIRM_SECONDS = 2.0
_MIN_ROUNDS, _MAX_ROUNDS = 2, 51

# Where time is limited, at most this part of it is kept for that.
_MAX_RESERVED_SHARE = 0.25
_COMPILE_SECONDS = 10.0

# Where little time is given, isl's schedules may be sought so long all the same.
_MIN_SCHEDULE_SECONDS = 5.0


@pickle_by_name
@dataclass(frozen=True, slots=True)
class TuningProgress:
    """How far a tuner is; ``best`` is a speedup over the original order, 0 before there is one.

    ``candidate`` is the last one, with what became of it.
    """

    generation: int
    generations: int
    tried: int
    best: float
    candidate: Candidate
    evaluation: Evaluation

    @property
    def is_best(self) -> bool:
        """Whether the last one is the best so far."""
        return self.evaluation.speedup == self.best > 0


@pickle_by_name
@dataclass(frozen=True, slots=True)
class TuningPlan:
    """How a tuner goes about it.

    ``strategy`` is a name of :func:`search_names`, such as ``genetic`` or ``model``, or a policy.
    ``time_limit`` limits it: no candidate is begun behind, but one is tried in any case, the usual
    one. ``jobs`` says how many are compiled at a time, None that each core has one.
    ``model_options`` is for searches that follow a model.
    """

    generations: int = 10
    population: int = 100
    strategy: str | Policy = "genetic"
    seed: int = 0
    time_limit: float | None = None
    jobs: int | None = None
    model_options: ModelOptions = DEFAULT_MODEL_OPTIONS

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data; what leads a model is said where one does."""
        result = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "guide"}
        return result | (self.model_options.to_json() if self.strategy in MODEL_STRATEGIES else {})

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        check_strategy(self.strategy)
        for name in ("generations", "population", "jobs"):
            found = getattr(self, name)
            if (name != "jobs" or found is not None) and (type(found) is not int or found < 1):
                raise InputError(f"{name}: expected a number from 1 on, found {found!r}")
        if type(self.seed) is not int or self.seed < 0:
            raise InputError(f"seed: expected a number from 0 on, found {self.seed!r}")
        if self.time_limit is not None and not self.time_limit >= 0:
            raise InputError(f"seconds: expected a number from 0 on, found {self.time_limit!r}")


def tune(
    program: Program,
    mapping: Mapping,
    plan: TuningPlan = TuningPlan(),
    *,
    schedule: ScheduleStrategy = AUTO,
    initial_candidates: Sequence[Candidate] = (),
    recorded: Sequence[Evaluation] = (),
    on_progress: Callable[[TuningProgress], None] = lambda _: None,
    waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
    runner_factory: RunnerFactory = open_local_runner,
) -> TuningResult:
    """Search for the fastest schedule and mapping of a program.

    ``mapping`` has the threads; under it ``schedule`` is what the result is compared with, or,
    where there is no such schedule, the first that there is. ``initial_candidates`` did well
    elsewhere. ``on_progress`` is called after every candidate. A KeyboardInterrupt ends the search
    with what has been found; ``waiting`` surrounds the parts in which one may be raised.
    ``runner_factory`` says where candidates are measured.

    ``recorded`` are the first candidates of an earlier search with the same seeds and the same plan
    but for generations, seconds and jobs: what is known of them counts as if it had been measured
    now, without being shown. So the search goes on where that one ended.

    Raises:
        InputError: nothing runs to a correct end, or what is recorded is of another search.
        ProblemError: the program does not run.
    """
    started = time.monotonic()
    with suppress(PolygymError):  # then no strategy has a schedule but the text's
        prepare_isl_scheduling(program.scop)
    with waiting():
        known = schedules_of(program.scop, _seconds_for_schedules(plan))
    machine = plan.model_options.machine
    begin = _transferred([Candidate(schedule, mapping)], program, known, mapping, machine)
    ways = tuple(known)
    begin += [Candidate(way, mapping) for way in ways if Candidate(way, mapping) not in begin]
    # What has been measured to compare with may be hard to beat: it is a candidate too.
    as_is = _transferred(
        [Candidate(ORIGINAL, SEQUENTIAL_MAPPING)], program, known, mapping, machine
    )
    begin += [candidate for candidate in as_is if candidate not in begin]
    begin += _transferred(initial_candidates, program, known, mapping, machine)
    sizes = dict(program.parameters)
    genes = SearchSpace.for_program(program.scop, ways, sizes, mapping)
    search = make_strategy(
        plan.strategy, program.scop, genes, begin, plan.seed, known, sizes, plan.model_options
    )
    options = EvaluationOptions(
        threads=mapping.threads, compile_seconds=_COMPILE_SECONDS, mapping=mapping
    )
    with runner_factory(program, options, plan.jobs) as bench:
        before = {(evaluation.schedule, evaluation.mapping): evaluation for evaluation in recorded}
        course = _TuningLoop(
            plan, program, bench, known, len(begin), before, started, waiting, on_progress
        )
        # What is recorded is chosen again, however long that takes.
        search.is_over = lambda: not course.recorded and course.is_over
        interrupted = course.run(search)
        return course.confirm(begin[0], interrupted)


def _seconds_for_schedules(plan: TuningPlan) -> float:
    """Return how long schedules may be sought: not longer than all, but the usual one is needed."""
    return inf if plan.time_limit is None else max(plan.time_limit, _MIN_SCHEDULE_SECONDS)


def _transferred(
    candidates: Sequence[Candidate],
    program: Program,
    known: dict[ScheduleSource, Schedule],
    start: Mapping,
    machine: Machine | None,
) -> list[Candidate]:
    """Return what did well elsewhere as candidates here; a schedule that does not exist is none."""
    result, scop = [], program.scop
    sizes = scop_sizes(scop, dict(program.parameters))
    for seed in candidates:
        if isinstance(seed.source, EpisodeSchedule | EditedSchedule):
            continue
        try:
            schedule = resolved_schedule_within(seed.source, scop, sizes, start, machine=machine)
        except PolygymError:
            continue
        mapping = replace(seed.mapping, threads=start.threads, reassociate=start.reassociate)
        result.append(Candidate(known_source(known, seed.source, schedule), mapping))
    return result


@dataclass(slots=True)
class _TuningLoop:
    """A search at work."""

    plan: TuningPlan
    program: Program
    runner: CandidateRunner
    schedules: dict[ScheduleSource, Schedule]
    initial_count: int
    recorded: dict[MappedSchedule, Evaluation]
    started: float
    waiting: Callable[[], AbstractContextManager[None]]
    on_progress: Callable[[TuningProgress], None]
    found: dict[Candidate, Evaluation] = field(default_factory=dict)
    best: Evaluation | None = None

    @property
    def seconds_left(self) -> float:
        """The seconds that are left, below 0 if the time is up."""
        limit = inf if self.plan.time_limit is None else self.plan.time_limit
        return limit - (time.monotonic() - self.started)

    @property
    def is_over(self) -> bool:
        """Whether the time is up but for what measuring the best together takes."""
        limit = self.plan.time_limit
        if limit is None or self.seconds_left <= 0:
            return self.seconds_left <= 0
        return self.seconds_left <= min(_MAX_RESERVED_SHARE * limit, self._together_seconds())

    def _together_seconds(self) -> float:
        """Return about how long it takes to measure the best together, at the least."""
        if self.best is None:
            return 0.0
        fastest = sorted(
            evaluation.seconds for evaluation in self.found.values() if evaluation.is_ok
        )[:_CONFIRMED_COUNT]
        return _MIN_ROUNDS * (sum(fastest) + self.best.baseline_seconds)

    def run(self, search: RandomSearch) -> bool:
        """Go from generation to generation; return whether it was interrupted."""
        try:
            for generation in range(self.plan.generations):
                # All that there is to begin with is tried, however small the population is.
                count = max(self.plan.population, 0 if generation else self.initial_count)
                if not self._try(search, count, generation):
                    break
            if self.recorded:
                raise InputError(
                    f"generations: expected more than {self.plan.generations}, found "
                    f"{len(self.recorded)} candidates of the search that is to be continued behind"
                )
        except KeyboardInterrupt:
            if not self.found:
                raise
            return True
        return False

    def _try(self, search: RandomSearch, count: int, generation: int) -> bool:
        """Try a generation, a few at a time; return whether it makes sense to go on.

        The first candidate is tried whatever the limits are.
        """
        ready = self._ask(search, count) if search.is_by_generation else []
        left = len(ready) if search.is_by_generation else count
        tried = 0
        while left > 0:
            first = generation == tried == 0
            if self.found and not self.recorded and self.is_over:
                return False
            size = min(left, self.initial_count if first else search.batch_size)
            part = ready[tried : tried + size] or self._ask(search, size)
            choices = [(self.schedules[one.source], one.mapping) for one in part]
            fresh = [choice for choice in choices if choice not in self.recorded]
            if fresh and not (self.found and self.is_over):
                self._compile(fresh)
            for candidate, choice in zip(part, choices, strict=True):
                if self.found and choice not in self.recorded and self.is_over:
                    return False
                self._measure(search, candidate, choice, generation)
            if not part:
                break
            left, tried = left - size, tried + len(part)
        return tried > 0

    def _ask(self, search: RandomSearch, count: int) -> list[Candidate]:
        """Have a search choose, which takes a model some seconds."""
        with self.waiting():
            return search.ask(count)

    def _compile(self, choices: Sequence[MappedSchedule]) -> None:
        """Generate code as long as there is time, that of the first candidate in any case."""

        def is_over() -> bool:
            return self.is_over and (bool(self.found) or self.runner.is_ready(choices[0]))

        with self.waiting():
            self.runner.prepare(choices, self._best_so_far(), is_over)

    def _measure(
        self, search: RandomSearch, candidate: Candidate, choice: MappedSchedule, generation: int
    ) -> None:
        """Measure one whose code is ready, or take what is known of it."""
        known = self.recorded.pop(choice, None)
        evaluation = self._measure_new(choice) if known is None else known
        self.found[candidate] = evaluation
        if evaluation.is_ok and (self.best is None or self._is_better(evaluation)):
            self.best = evaluation
        search.tell(candidate, evaluation.speedup)
        if known is None:
            self._report(generation, candidate, evaluation)

    def _measure_new(self, choice: MappedSchedule) -> Evaluation:
        """Measure one; by now all that is recorded has been chosen again."""
        if self.recorded:
            raise InputError(
                f"expected candidate {len(self.found)} of the search that is to be continued to be "
                "chosen again, found another one: it was begun with another version of polygym, "
                "or a model led it on another machine, perhaps"
            )
        with self.waiting():
            if not self.found:  # what everything else is compared with
                return self.runner.measure_baseline(choice)
            return self.runner.measure(choice, self._best_so_far())

    def _best_so_far(self) -> float:
        return inf if self.best is None else self.best.seconds

    def _is_better(self, evaluation: Evaluation) -> bool:
        assert self.best is not None
        return evaluation.speedup > self.best.speedup

    def _report(self, generation: int, candidate: Candidate, evaluation: Evaluation) -> None:
        best = 0.0 if self.best is None else self.best.speedup
        done, tried = generation + 1, len(self.found)
        self.on_progress(
            TuningProgress(done, self.plan.generations, tried, best, candidate, evaluation)
        )

    def _rounds(self) -> int:
        """Return how often the best are measured together, less often if time is short."""
        seconds = self.runner.baseline_seconds
        rounds = rounds_within(_CONFIRM_SECONDS, seconds, _MIN_ROUNDS, _MAX_ROUNDS)
        one = self._together_seconds() / _MIN_ROUNDS
        possible = rounds if self.seconds_left == inf or not one else int(self.seconds_left / one)
        return max(_MIN_ROUNDS, min(rounds, possible))

    def confirm(self, start: Candidate, interrupted: bool) -> TuningResult:
        """Measure the best few and the start together, if there is time for that.

        The start stays the best where nothing is faster by more than noise.
        """
        ranked = sorted(self.found, key=lambda one: -self.found[one].speedup)[:_CONFIRMED_COUNT]
        again = list(dict.fromkeys([*ranked, start]))
        together = {
            candidate: self.found[candidate] for candidate in again if candidate in self.found
        }
        choices = [(self.schedules[one.source], one.mapping) for one in again]
        try:
            if self.seconds_left > 0:
                with self.waiting():
                    measured = self.runner.measure_together(choices, self._rounds())
                    together = dict(zip(again, measured, strict=True))
        except KeyboardInterrupt:  # impatient: then each has its own measurement
            interrupted = True
        best = max(together, key=lambda one: together[one].speedup)
        program = self.program
        first = together.get(start, together[best])
        if not together[best].is_ok:
            raise InputError(
                f"{program.name}: no candidate ran to a correct end; the first one: "
                f"{first.error_details}"
            )
        result = TuningResult(
            program.name,
            program.parameters,
            together[best],
            best.source,
            first,
            len(self.found),
            Defects.count((*self.found.values(), *together.values())),
            interrupted,
        )
        if first.is_ok and not result.is_faster:
            return replace(result, best=first, source=start.source)
        return result
