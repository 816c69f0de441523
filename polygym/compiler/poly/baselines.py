"""The schedules to compare with: the order of the source, and what isl's own scheduler finds.

isl's scheduler (in the line of Pluto and Feautrier) minimises dependence distances band by band.
It is the "ISL heuristic" of the comparison; the usual options are the settings Polly gives it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import assert_never

from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.dependences import dependences
from polygym.compiler.poly.isl_budget import bounded
from polygym.compiler.poly.isl_variants import variant_schedule
from polygym.compiler.poly.lifted import lifted
from polygym.compiler.poly.numbered import numbered
from polygym.compiler.poly.schedule import Schedule, parse
from polygym.compiler.poly.scheduler import SchedulingTask
from polygym.compiler.poly.strategy import ISL, IslOptions, Original, Settled
from polygym.errors import LimitError

DEEPEST_NEST = 9


@lru_cache(maxsize=64)
def original(scop: Scop) -> Schedule:
    """Return the order in which the source runs the statements."""
    return parse(scop.schedule, scop)


@lru_cache(maxsize=64)
def isl_schedule(scop: Scop, options: IslOptions = ISL) -> Schedule:
    """Return the schedule that isl computes from the program's dependences, which is remembered.

    isl's result is a tree; it is flattened to one affine map per statement. Large numbers in
    domains are parameters for isl (:mod:`polygym.compiler.poly.lifted`), and statements have
    numbers in the place of names (:mod:`polygym.compiler.poly.numbered`).

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
    with bounded("isl's scheduler"):
        symbolic = lifted(scop)
        if symbolic is not None:
            return symbolic.settled(_scheduled(symbolic.scop, options))
        return _scheduled(scop, options)


def _scheduled(scop: Scop, options: IslOptions) -> Schedule:
    program = numbered(scop)
    task = SchedulingTask.of(program, options)
    if options.is_variant:
        found = variant_schedule(task, program.numbered(original(scop)))
    else:
        found = parse(str(task.solved().get_map()), program.scop)
    return program.named(found)


def prepare(scop: Scop) -> None:
    """Compute what all of isl's strategies need of a program, which is remembered.

    Raises:
        LimitError: it would take too long.
    """
    symbolic = lifted(scop)
    dependences(scop if symbolic is None else symbolic.scop)


def schedule_by(strategy: Settled, scop: Scop) -> Schedule:
    """Return the schedule that a strategy gives a program; raises as :func:`isl_schedule` does."""
    match strategy:
        case Original():
            return original(scop)
        case IslOptions():
            return isl_schedule(scop, strategy)
        case _:
            assert_never(strategy)
