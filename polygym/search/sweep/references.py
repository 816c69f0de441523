"""What a sweep's schedules are compared with: isl's schedule, and other compilers.

A reference is measured at both sizes, beside the original order. Other compilers get the program's
own C file (:mod:`polygym.measure.evaluation.foreign`); since they may round a sum of products once
or twice, their outputs are compared to a relative tolerance.

The limit (:mod:`polygym.cost.limit`) is one more: no code, but the time that none goes below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from polygym.compiler.codegen.common.mapping import SEQUENTIAL, Mapping
from polygym.compiler.codegen.common.sizes import own_sizes
from polygym.compiler.poly.schedule import Schedule
from polygym.compiler.poly.strategy import AUTO, ISL, ORIGINAL, Strategy, parse_strategy
from polygym.cost.limit.bound import limit
from polygym.cost.limit.demand import demand_of
from polygym.episodes.automatic import strategy_within
from polygym.errors import PolygymError
from polygym.measure.evaluation import Evaluator
from polygym.measure.evaluation.apart import never
from polygym.measure.evaluation.foreign import compile_foreign
from polygym.measure.evaluation.patience import counted_within
from polygym.measure.machine.kept import peaks_of
from polygym.measure.worker.outcome import Ok, Outcome, Status
from polygym.measure.worker.problem import CompiledProgram
from polygym.programs import Program
from polygym.search.explore.tried_again import again
from polygym.search.sweep.rows import LIMIT, Timing

_SEEDS: tuple[Strategy, ...] = (ORIGINAL, ISL, AUTO)
SEEDS = tuple(map(str, _SEEDS))


def seed_or_reason(
    name: str, program: Program, mapping: Mapping, is_stopped: Callable[[], bool]
) -> Schedule | str:
    """Return the schedule that a search may begin with, or why there is none."""
    return _schedule_or_reason(parse_strategy(name), program, mapping, is_stopped)


def isl_or_reason(program: Program, is_stopped: Callable[[], bool] = never) -> Schedule | str:
    """Return isl's schedule of a program, or why there is none.

    Raises:
        StoppedError: ``is_stopped`` before it is known.
    """
    return _schedule_or_reason(ISL, program, SEQUENTIAL, is_stopped)


def _schedule_or_reason(
    strategy: Strategy, program: Program, mapping: Mapping, is_stopped: Callable[[], bool]
) -> Schedule | str:
    sizes = own_sizes(program.scop, dict(program.parameters))
    try:
        return strategy_within(strategy, program.scop, sizes, mapping, is_stopped)
    except PolygymError as error:
        return str(error)


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
    codes = {}
    for name in names:
        if is_stopped():
            return
        if name == LIMIT:
            yield name, _limit_timing(evaluator)
            continue
        try:
            codes[name] = compile_foreign(name, evaluator.program, evaluator.options.threads)
        except PolygymError as error:
            yield name, Timing(Status.DOES_NOT_COMPILE, detail=str(error))
    if not codes or is_stopped():
        return
    session = evaluator.session

    def measure(programs: Sequence[CompiledProgram]) -> list[Timing]:
        together = (session.problem.original, *programs)
        base, *found = session.measure_together(together, rounds, evaluator.measuring())
        return [_timing(outcome, base) for outcome in found]

    yield from zip(codes, again(tuple(codes.values()), measure), strict=True)


def _limit_timing(evaluator: Evaluator) -> Timing:
    """Return the limit as if code had reached it; the detail says what it is bound by."""
    options, baseline = evaluator.options, evaluator.baseline_seconds
    try:
        demand = counted_within(lambda: demand_of(evaluator.program))
        peaks = peaks_of(options.threads)
    except PolygymError as error:
        return Timing(Status.DOES_NOT_COMPILE, detail=str(error))
    found = limit(demand, peaks, reassociates=options.mapping.tolerance is not None)
    return Timing(Status.OK, found.seconds, baseline, detail=found.binds.value)


def _timing(outcome: Outcome, base: Outcome) -> Timing:
    seconds, samples = (base.best, tuple(base.samples)) if isinstance(base, Ok) else (0.0, ())
    if not isinstance(outcome, Ok):
        return Timing(outcome.status, 0.0, seconds, (), samples, str(outcome))
    return Timing(Status.OK, outcome.best, seconds, tuple(outcome.samples), samples)
