"""The limit of a program on this machine, as commands show it beside times.

Report of defects: legal schedules whose code computed something else, or crashed.

Every command that measures says so in red and ends with exit code 1; ``report`` only says it.
"""

from collections.abc import Callable

from polygym.cli.output.console import format_seconds, write_text
from polygym.cost.limit.bound import Limit, compute_limit
from polygym.cost.limit.demand import program_demand
from polygym.errors import PolygymError
from polygym.mapping.mapping import Mapping
from polygym.programs import Program
from polygym.runtime.evaluation.evaluation_results import Defects
from polygym.runtime.evaluation.time_limits import count_within
from polygym.runtime.peaks.calibration import cached_peaks, peaks_for
from polygym.runtime.peaks.machine_peaks import Peaks


def limit_under(mapping: Mapping, program: Program) -> Limit:
    """Return the limit of a program under a mapping; the machine is measured if it never was.

    Raises:
        PolygymError: it takes isl too long, or the machine cannot be measured.
    """
    return _limit(peaks_for, mapping, program)


def known_limit(mapping: Mapping, program: Program) -> Limit | None:
    """Return the limit of a program where the machine was measured before, and None elsewhere."""
    if (peaks := cached_peaks(mapping.threads)) is None:
        return None
    try:
        return _limit(lambda _: peaks, mapping, program)
    except PolygymError:
        return None


def limit_share(limit: Limit, time: float) -> float:
    """Return which part of the limit code reaches that takes so long."""
    return limit.seconds / time if time else 0.0


def limit_sentence(limit: Limit, time: float) -> str:
    """Say how near to its limit a program is.

    Example: ``22.4 ms (41 % of it reached; bound by compute)``.
    """
    share = f"{limit_share(limit, time):.2%} of it reached"
    return f"{format_seconds(limit.seconds)} ({share}; {binding_resource(limit)})"


def busy_machine_note(peaks: Peaks) -> str:
    """Say that peaks may be too low; nothing where the machine was ours."""
    if not peaks.background_load:
        return ""
    return (
        f"the machine was busy when its peaks were measured (others had "
        f"{peaks.background_load:.1f} "
        "cores): they may be too low; polygym machine --remeasure"
    )


def binding_resource(limit: Limit) -> str:
    """Say what a program is bound by."""
    return f"bound by {limit.bottleneck.value}"


def _limit(peaks: Callable[[int], Peaks], mapping: Mapping, program: Program) -> Limit:
    demand = count_within(lambda: program_demand(program))
    return compute_limit(demand, peaks(mapping.threads), reassociates=mapping.tolerance is not None)


def report_defects(defects: Defects, mapping: Mapping, program: str = "") -> None:
    """Say it in red; nothing where all was right. ``program`` is whose schedules they are."""
    before = f"{program}: " if program else ""
    for count, what, blame in (
        (defects.wrong, "wrong outputs", mapping.mismatch_reason),
        (defects.crashed, "crashes", "a defect of polygym"),
    ):
        if count:
            write_text(f"{before}{count} {what}: {blame}", err=True, fg="red", bold=True)
