"""The best schedules of a program, measured again at the larger size, side by side.

In the search each was measured in its own time, and the best of many also is the luckiest. Here
all run in turn with the original order and isl's schedule, in one process and by one clock. It is
done anew when other schedules are among the best, after a search that went on.
"""

from collections.abc import Sequence
from contextlib import closing

from polygym.poly.schedule import Schedule, parse_schedule
from polygym.runtime.evaluation import Evaluator, expect_candidate_result, rounds_within
from polygym.runtime.evaluation.compiler import CompilerPool, pin_to_cores
from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.search.runner import retries
from polygym.search.sweep import reader
from polygym.search.sweep.cores import JobCores
from polygym.search.sweep.monitoring import load_subject, record_load
from polygym.search.sweep.references import compiler_timings, isl_or_reason
from polygym.search.sweep.rows import (
    ISL,
    BaselineTiming,
    Confirmation,
    ReferenceTiming,
    ScheduleOutcome,
    Timing,
)
from polygym.search.sweep.settings import SweepSetting
from polygym.search.sweep.store import SweepStore, now

# How long the runs of the original take together, and how many there are.
_CONFIRM_SECONDS = 2.0
_MIN_ROUNDS, _MAX_ROUNDS = 2, 11


def best_outcomes(outcomes: Sequence[ScheduleOutcome], count: int) -> tuple[ScheduleOutcome, ...]:
    """Return the fastest schedules at the size of the search; of equal ones the earlier."""
    ran = [(outcome.timing.speedup, outcome) for outcome in outcomes]
    kept = [(speedup, schedule_outcome) for speedup, schedule_outcome in ran if speedup is not None]
    kept.sort(key=lambda pair: (-pair[0], pair[1].number))
    return tuple(one for _, one in kept[:count])


def is_confirmed(
    store: SweepStore, setting: SweepSetting, kernel: str, count: int, against: tuple[str, ...] = ()
) -> bool:
    """Say whether the best schedules and all references were measured at the larger size."""
    connection, dataset = store.connection, str(setting.dataset)
    confirmed = {
        confirmation.outcome
        for confirmation in reader.confirmations(connection, kernel)
        if confirmation.dataset == dataset
    }
    best = best_outcomes(reader.outcomes(connection, kernel), count)
    known = reader.reference_names(connection, kernel, dataset)
    return known.issuperset((ISL, *against)) and confirmed.issuperset(
        outcome.number for outcome in best
    )


def confirm_program(
    store: SweepStore,
    setting: SweepSetting,
    kernel: str,
    count: int,
    against: tuple[str, ...],
    place: JobCores,
) -> None:
    """Measure the ``count`` best schedules of a program again, and what they are compared with.

    Raises:
        PolygymError: the program cannot be read or does not run, or the machine fails.
    """
    subject = load_subject(store, setting, kernel, setting.dataset)
    pin_to_cores(place.measuring)
    program, options, dataset = subject.program, setting.evaluation, str(setting.dataset)
    best = best_outcomes(reader.outcomes(store.connection, kernel), count)
    with (
        closing(
            CompilerPool(options.compile_seconds, place.compiling, options.compile_memory)
        ) as compilers,
        Evaluator(program, options, compiler=compilers) as evaluator,
        record_load(store, kernel, dataset),
    ):
        isl = isl_or_reason(program)
        found = [parse_schedule(outcome.schedule, program.scop) for outcome in best]
        schedules = [*found, *([isl] if isinstance(isl, Schedule) else [])]
        compilers.compile_all(program, [(schedule, options.mapping) for schedule in schedules])
        one = evaluator.baseline_seconds
        rounds = rounds_within(_CONFIRM_SECONDS, one, _MIN_ROUNDS, _MAX_ROUNDS)
        together = retries.evaluate_together_with_retries(evaluator, schedules, rounds)
        timings = [Timing.of(expect_candidate_result(evaluation)) for evaluation in together]
        others = [
            ReferenceTiming(kernel, dataset, name, timing)
            for name, timing in compiler_timings(evaluator, against, rounds)
        ]
    if isinstance(isl, str):
        timings.append(Timing(OutcomeStatus.DOES_NOT_COMPILE, detail=isl))
    *confirmed, reference = timings
    samples = next((timing.baseline_samples for timing in timings if timing.baseline_samples), ())
    if samples:
        store.add_baseline(BaselineTiming(kernel, dataset, now(), samples))
    store.set_confirmations(
        [
            Confirmation(schedule_outcome.number, kernel, dataset, timing)
            for schedule_outcome, timing in zip(best, confirmed, strict=True)
        ],
        [ReferenceTiming(kernel, dataset, ISL, reference), *others],
    )
