"""The best schedules of a program, measured again at the larger size, side by side.

In the search each was measured in its own time, and the best of many also is the luckiest. Here
all run in turn with the original order and isl's schedule, in one process and by one clock. It is
done anew when other schedules are among the best, after a search that went on.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from polygym.compiler.poly.schedule import Schedule, parse
from polygym.measure.evaluation import Evaluator, rounds_within, trusted
from polygym.measure.evaluation.compilers import Compilers, pin
from polygym.measure.worker.outcome import Status
from polygym.search.explore import tried_again
from polygym.search.sweep import reading
from polygym.search.sweep.cores import Place
from polygym.search.sweep.keeping import known_subject, noting_load
from polygym.search.sweep.references import compiler_timings, isl_or_reason
from polygym.search.sweep.rows import ISL, Baseline, Confirmation, Outcome, Reference, Timing
from polygym.search.sweep.setting import SweepSetting
from polygym.search.sweep.store import Store, now

# How long the runs of the original take together, and how many there are.
_SECONDS = 2.0
_FEWEST_ROUNDS, _MOST_ROUNDS = 2, 11


def best_of(outcomes: Sequence[Outcome], count: int) -> tuple[Outcome, ...]:
    """Return the fastest schedules at the size of the search; of equal ones the earlier."""
    ran = [(one.timing.speedup, one) for one in outcomes]
    kept = [(speedup, one) for speedup, one in ran if speedup is not None]
    kept.sort(key=lambda pair: (-pair[0], pair[1].number))
    return tuple(one for _, one in kept[:count])


def is_confirmed(
    store: Store, setting: SweepSetting, kernel: str, count: int, against: tuple[str, ...] = ()
) -> bool:
    """Say whether the best schedules and all references were measured at the larger size."""
    connection, dataset = store.connection, str(setting.dataset)
    confirmed = {
        one.outcome for one in reading.confirmations(connection, kernel) if one.dataset == dataset
    }
    best = best_of(reading.outcomes(connection, kernel), count)
    known = reading.reference_names(connection, kernel, dataset)
    return known.issuperset((ISL, *against)) and confirmed.issuperset(one.number for one in best)


def confirm(
    store: Store,
    setting: SweepSetting,
    kernel: str,
    count: int,
    against: tuple[str, ...],
    place: Place,
) -> None:
    """Measure the ``count`` best schedules of a program again, and what they are compared with.

    Raises:
        PolygymError: the program cannot be read or does not run, or the machine fails.
    """
    subject = known_subject(store, setting, kernel, setting.dataset)
    pin(place.measuring)
    program, options, dataset = subject.program, setting.measuring, str(setting.dataset)
    best = best_of(reading.outcomes(store.connection, kernel), count)
    with (
        closing(
            Compilers(options.compile_seconds, place.compiling, options.compile_memory)
        ) as compilers,
        Evaluator(program, options, compiler=compilers) as evaluator,
        noting_load(store, kernel, dataset),
    ):
        isl = isl_or_reason(program)
        found = [parse(one.schedule, program.scop) for one in best]
        schedules = [*found, *([isl] if isinstance(isl, Schedule) else [])]
        compilers.compile_all(program, [(one, options.mapping) for one in schedules])
        one = evaluator.baseline_seconds
        rounds = rounds_within(_SECONDS, one, _FEWEST_ROUNDS, _MOST_ROUNDS)
        together = tried_again.evaluate_together(evaluator, schedules, rounds)
        timings = [Timing.of(trusted(one)) for one in together]
        others = [
            Reference(kernel, dataset, name, timing)
            for name, timing in compiler_timings(evaluator, against, rounds)
        ]
    if isinstance(isl, str):
        timings.append(Timing(Status.DOES_NOT_COMPILE, detail=isl))
    *confirmed, reference = timings
    samples = next((one.baseline_samples for one in timings if one.baseline_samples), ())
    if samples:
        store.add_baseline(Baseline(kernel, dataset, now(), samples))
    store.set_confirmations(
        [
            Confirmation(one.number, kernel, dataset, timing)
            for one, timing in zip(best, confirmed, strict=True)
        ],
        [Reference(kernel, dataset, ISL, reference), *others],
    )
