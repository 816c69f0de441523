"""Baseline schedules: the order of the source, and the result of isl's scheduler.

isl's scheduler (in the line of Pluto and Feautrier) minimises dependence distances band by band.
It is the "ISL heuristic" of the comparison; the usual options are the settings Polly gives it.
"""

from functools import lru_cache
from typing import assert_never

from polygym.errors import LimitError
from polygym.ir.scop import Scop
from polygym.poly.dependences import dependences
from polygym.poly.isl_budget import bounded_operations
from polygym.poly.schedule import Schedule, parse_schedule
from polygym.poly.scheduling.isl_scheduler import SchedulingTask, with_canonical_names
from polygym.poly.scheduling.isl_variants import variant_schedule
from polygym.poly.scheduling.strategy import ISL, FixedStrategy, IslOptions, OriginalOrder
from polygym.poly.scheduling.symbolic_sizes import with_symbolic_sizes

DEEPEST_NEST = 9


@lru_cache(maxsize=64)
def original_schedule(scop: Scop) -> Schedule:
    """Return the order in which the source runs the statements."""
    return parse_schedule(scop.schedule, scop)


@lru_cache(maxsize=64)
def isl_schedule(scop: Scop, options: IslOptions = ISL) -> Schedule:
    """Return the schedule that isl computes from the program's dependences, which is remembered.

    isl's result is a tree; it is flattened to one affine map per statement. Large numbers in
    domains are parameters for isl (:mod:`polygym.poly.with_symbolic_sizes`), and statements have
    numbers in the place of names (:mod:`polygym.poly.with_canonical_names`).

    Raises:
        InputError: isl finds none, or none without what ``options`` exclude.
        LimitError: it would take too long; nests too deep for isl's solver are not begun with,
            since no bound counts its steps.
    """
    if scop.depth > DEEPEST_NEST:
        raise LimitError(
            f"isl's scheduler: expected at most {DEEPEST_NEST} loops inside each other, found "
            f"{scop.depth}; deeper ones take it minutes or more"
        )
    with bounded_operations("isl's scheduler"):
        symbolic = with_symbolic_sizes(scop)
        if symbolic is not None:
            return symbolic.with_constant_sizes(_compute_isl_schedule(symbolic.scop, options))
        return _compute_isl_schedule(scop, options)


def _compute_isl_schedule(scop: Scop, options: IslOptions) -> Schedule:
    program = with_canonical_names(scop)
    task = SchedulingTask.of(program, options)
    if options.is_variant:
        schedule = variant_schedule(task, program.to_canonical(original_schedule(scop)))
    else:
        schedule = parse_schedule(str(task.solve().get_map()), program.scop)
    return program.to_source(schedule)


def prepare_isl_scheduling(scop: Scop) -> None:
    """Compute what all of isl's strategies need of a program, which is remembered.

    Raises:
        LimitError: it would take too long.
    """
    symbolic = with_symbolic_sizes(scop)
    dependences(scop if symbolic is None else symbolic.scop)


def schedule_by(strategy: FixedStrategy, scop: Scop) -> Schedule:
    """Return the schedule that a strategy gives a program; raises as :func:`isl_schedule` does."""
    match strategy:
        case OriginalOrder():
            return original_schedule(scop)
        case IslOptions():
            return isl_schedule(scop, strategy)
        case _:
            assert_never(strategy)
