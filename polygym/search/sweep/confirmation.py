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
from polygym.search.sweep import reader, rows
from polygym.search.sweep.cores import JobCores
from polygym.search.sweep.monitoring import load_subject, record_load
from polygym.search.sweep.references import compiler_timings, isl_or_reason
from polygym.search.sweep.settings import SweepSetting
from polygym.search.sweep.store import SweepStore, now

# How long the runs of the original take together, and how many there are.
_CONFIRM_SECONDS = 2.0
_MIN_ROUNDS, _MAX_ROUNDS = 2, 11


def best_outcomes(
    outcomes: Sequence[rows.ScheduleOutcome], count: int
) -> tuple[rows.ScheduleOutcome, ...]:
    """Return the fastest schedules at the size of the search; of equal ones the earlier."""
    ran = [outcome for outcome in outcomes if outcome.timing.speedup is not None]
    return tuple(sorted(ran, key=lambda row: (-(row.timing.speedup or 0.0), row.number))[:count])


def is_confirmed(
    store: SweepStore, setting: SweepSetting, kernel: str, count: int, against: tuple[str, ...] = ()
) -> bool:
    """Say whether the best schedules and all references were measured at the larger size."""
    connection, dataset = store.connection, str(setting.dataset)
    again = reader.confirmations(connection, kernel)
    confirmed = {row.outcome for row in again if row.dataset == dataset}
    best = best_outcomes(reader.outcomes(connection, kernel), count)
    known = reader.reference_names(connection, kernel, dataset)
    return known >= {rows.ISL, *against} and confirmed >= {outcome.number for outcome in best}


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
    limits = options.compile_seconds, place.compiling, options.compile_memory
    with (
        closing(CompilerPool(*limits)) as compilers,
        Evaluator(program, options, compiler=compilers) as evaluator,
        record_load(store, kernel, dataset),
    ):
        isl = isl_or_reason(program)
        fastest = [parse_schedule(outcome.schedule, program.scop) for outcome in best]
        schedules = [*fastest, *([isl] if isinstance(isl, Schedule) else [])]
        compilers.compile_all(program, [(schedule, options.mapping) for schedule in schedules])
        seconds = evaluator.baseline_seconds
        rounds = rounds_within(_CONFIRM_SECONDS, seconds, _MIN_ROUNDS, _MAX_ROUNDS)
        together = retries.evaluate_together_with_retries(evaluator, schedules, rounds)
        timings = [rows.Timing.of(expect_candidate_result(evaluation)) for evaluation in together]
        compared = compiler_timings(evaluator, against, rounds)
        others = [rows.ReferenceTiming(kernel, dataset, *timing) for timing in compared]
    if isinstance(isl, str):
        timings.append(rows.Timing(OutcomeStatus.DOES_NOT_COMPILE, detail=isl))
    *confirmed, reference = timings
    if samples := next(filter(None, (timing.baseline_samples for timing in timings)), ()):
        store.add_baseline(rows.BaselineTiming(kernel, dataset, now(), samples))
    store.set_confirmations(
        [
            rows.Confirmation(outcome.number, kernel, dataset, timing)
            for outcome, timing in zip(best, confirmed, strict=True)
        ],
        [rows.ReferenceTiming(kernel, dataset, rows.ISL, reference), *others],
    )
