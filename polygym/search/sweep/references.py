"""References of a sweep: isl's schedule, and other compilers.

A reference is measured at both sizes, beside the original order. Other compilers get the program's
own C file (:mod:`polygym.runtime.evaluation.c_compilers`); since they may round a sum of products
once or twice, their outputs are compared to a relative tolerance.

The limit (``compute_limit``) is one more: no code, but the time that none goes
below.

Whose doing an outcome is: the schedule's, which is recorded, or the machine's, which is not.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice

from polygym.autoschedule.schedule_choice import resolved_schedule_within
from polygym.cost.limit.bound import compute_limit
from polygym.cost.limit.demand import program_demand
from polygym.errors import IllegalScheduleError, PolygymError
from polygym.mapping.mapping import SEQUENTIAL_MAPPING, Mapping
from polygym.mapping.sizes import scop_sizes
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.strategy import AUTO, ISL, ORIGINAL, parse_strategy
from polygym.programs import Program
from polygym.runtime.evaluation import Evaluation, Evaluator, expect_candidate_result
from polygym.runtime.evaluation.c_compilers import better_outcome, compile_fairly
from polygym.runtime.evaluation.forked_timeout import never_stopped
from polygym.runtime.evaluation.time_limits import count_within
from polygym.runtime.peaks.calibration import peaks_for
from polygym.runtime.worker.outcome import Ok, Outcome, OutcomeStatus
from polygym.runtime.worker.problem import CompiledProgram
from polygym.search.runner.retries import evaluate_with_retries, measure_with_retries
from polygym.search.sweep.rows import LIMIT, Timing

INITIAL_SCHEDULES = (str(ORIGINAL), str(ISL), str(AUTO))


def initial_schedule_or_reason(
    name: str, program: Program, mapping: Mapping, is_stopped: Callable[[], bool]
) -> Schedule | str:
    """Return the schedule that a search may begin with, or why there is none."""
    sizes = scop_sizes(program.scop, dict(program.parameters))
    strategy = parse_strategy(name)
    try:
        return resolved_schedule_within(strategy, program.scop, sizes, mapping, is_stopped)
    except PolygymError as error:
        return str(error)


def isl_or_reason(
    program: Program, is_stopped: Callable[[], bool] = never_stopped
) -> Schedule | str:
    """Return isl's schedule of a program, or why there is none.

    Raises:
        StoppedError: ``is_stopped`` before it is known.
    """
    return initial_schedule_or_reason(str(ISL), program, SEQUENTIAL_MAPPING, is_stopped)


def compiler_timings(
    evaluator: Evaluator,
    names: Sequence[str],
    rounds: int,
    is_stopped: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[str, Timing]]:
    """Measure other compilers' code of a program, in turn with the original order.

    Nothing more is compiled, and nothing measured, once ``is_stopped``.

    Raises:
        PolygymError: the machine fails.
    """
    codes: dict[str, tuple[CompiledProgram, ...]] = {}
    for name in names:
        if is_stopped():
            return
        if name == LIMIT:
            yield name, _limit_timing(evaluator)
            continue
        try:
            codes[name] = compile_fairly(name, evaluator.program, evaluator.options.threads)
        except PolygymError as error:
            yield name, Timing(OutcomeStatus.DOES_NOT_COMPILE, detail=str(error))
    if not codes or is_stopped():
        return
    session = evaluator.session

    def measure(choices: Sequence[tuple[CompiledProgram, ...]]) -> list[Timing]:
        together = (session.problem.original, *chain(*choices))
        base, *outcomes = session.measure_together(together, rounds, evaluator.measure_options())
        left = iter(outcomes)
        groups = (list(islice(left, len(choice))) for choice in choices)
        return [_timing(better_outcome(group), base) for group in groups]

    yield from zip(codes, measure_with_retries(tuple(codes.values()), measure), strict=True)


def _limit_timing(evaluator: Evaluator) -> Timing:
    """Return the limit as if code had reached it; the detail says what it is bound by."""
    options, baseline = evaluator.options, evaluator.baseline_seconds
    try:
        demand = count_within(lambda: program_demand(evaluator.program))
        peaks = peaks_for(options.threads)
    except PolygymError as error:
        return Timing(OutcomeStatus.DOES_NOT_COMPILE, detail=str(error))
    limit = compute_limit(demand, peaks, reassociates=options.mapping.tolerance is not None)
    return Timing(OutcomeStatus.OK, limit.seconds, baseline, detail=limit.bottleneck.value)


def _timing(outcome: Outcome, base: Outcome) -> Timing:
    seconds, samples = (base.best, tuple(base.samples)) if isinstance(base, Ok) else (0.0, ())
    if not isinstance(outcome, Ok):
        return Timing(outcome.status, 0.0, seconds, (), samples, str(outcome))
    return Timing(OutcomeStatus.OK, outcome.best, seconds, tuple(outcome.samples), samples)


@dataclass(slots=True)
class ScheduleTimer:
    """Measures schedules of a program; one that is refused as illegal has not compiled.

    Raises:
        WorkerError: the machine failed, which says nothing about the schedule.
    """

    evaluator: Evaluator
    _retried: dict[Schedule, Timing] = field(default_factory=dict)

    def measure(self, schedule: Schedule) -> Timing:
        """Measure a schedule, unless it was measured patiently."""
        known = self._retried.get(schedule)
        return known or _evaluated(lambda: self.evaluator.evaluate(schedule))

    def measure_with_retries(self, schedule: Schedule) -> Timing:
        """Measure what others are compared with: again, if it was cut off."""
        if schedule not in self._retried:
            self._retried[schedule] = _evaluated(
                lambda: evaluate_with_retries(self.evaluator, schedule)
            )
        return self._retried[schedule]


def _evaluated(evaluate: Callable[[], Evaluation]) -> Timing:
    try:
        return Timing.of(expect_candidate_result(evaluate()))
    except IllegalScheduleError as error:
        detail = f"{type(error).__name__}: {error}"
        return Timing(OutcomeStatus.DOES_NOT_COMPILE, detail=detail)
