"""The limit of a program on this machine, as commands show it beside times."""

from __future__ import annotations

from collections.abc import Callable

from polygym.cli.output import seconds
from polygym.compiler.codegen.common.mapping import Mapping
from polygym.cost.limit.bound import Limit, limit
from polygym.cost.limit.demand import demand_of
from polygym.errors import PolygymError
from polygym.measure.evaluation.patience import counted_within
from polygym.measure.machine.kept import known_peaks, peaks_of
from polygym.measure.machine.peaks import Peaks
from polygym.programs import Program


def limit_under(mapping: Mapping, program: Program) -> Limit:
    """Return the limit of a program under a mapping; the machine is measured if it never was.

    Raises:
        PolygymError: it takes isl too long, or the machine cannot be measured.
    """
    return _limit(peaks_of, mapping, program)


def known_limit(mapping: Mapping, program: Program) -> Limit | None:
    """Return the limit of a program where the machine was measured before, and None elsewhere."""
    if (peaks := known_peaks(mapping.threads)) is None:
        return None
    try:
        return _limit(lambda _: peaks, mapping, program)
    except PolygymError:
        return None


def share(one: Limit, time: float) -> float:
    """Return which part of the limit code reaches that takes so long."""
    return one.seconds / time if time else 0.0


def sentence(one: Limit, time: float) -> str:
    """Say how near to its limit a program is.

    Example: ``22.4 ms (41 % of it reached; bound by compute)``.
    """
    return f"{seconds(one.seconds)} ({share(one, time):.2%} of it reached; {bound_by(one)})"


def disturbance(peaks: Peaks) -> str:
    """Say that peaks may be too low; nothing where the machine was ours."""
    if not peaks.disturbed:
        return ""
    return (
        f"the machine was busy when its peaks were measured (others had {peaks.disturbed:.1f} "
        "cores): they may be too low; polygym machine --again"
    )


def bound_by(one: Limit) -> str:
    """Say what a program is bound by."""
    return f"bound by {one.binds.value}"


def _limit(peaks: Callable[[int], Peaks], mapping: Mapping, program: Program) -> Limit:
    demand = counted_within(lambda: demand_of(program))
    return limit(demand, peaks(mapping.threads), reassociates=mapping.tolerance is not None)
