"""The pictures of a report, with what is to be read beside each.

They are drawn of what there is: a sweep that has just begun has pictures with less in them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from polygym.pictures.charts.best_speedups import SpeedupGroup, best_speedups_picture
from polygym.pictures.charts.chart_style import Picture
from polygym.pictures.charts.limit_shares import LimitShares, limit_shares_picture
from polygym.pictures.charts.policy_curves import policy_curves_picture
from polygym.pictures.charts.speedup_distribution import SpeedupDistribution, distribution_picture
from polygym.search.means import geometric_mean
from polygym.search.sweep.curves import curve_kernels, curves, passes
from polygym.search.sweep.reader import SweepContents
from polygym.search.sweep.rows import ISL
from polygym.search.sweep.statistics import (
    KernelSummary,
    mean_best,
    mean_of_limit,
    mean_reference,
)

_NO_DATA = "No schedule has run yet."


@dataclass(frozen=True, slots=True)
class ReportFigure:
    """A picture, the name of its files, its title, and the sentences under it."""

    name: str
    title: str
    caption: str
    picture: Picture


def sweep_figures(
    contents: SweepContents, found: Sequence[KernelSummary]
) -> tuple[ReportFigure, ...]:
    """Return the pictures of a sweep."""
    drawn = (_distribution(contents, found), _best_speedups(found), _policies(contents, found))
    return (*drawn, _limits(found)) if any(summary.limit for summary in found) else drawn


def _distribution(contents: SweepContents, found: Sequence[KernelSummary]) -> ReportFigure:
    size = str(contents.setting.search_dataset)
    shown = [summary for summary in found if summary.speedups or summary.search_references]
    picture = distribution_picture(
        [
            SpeedupDistribution(
                kernel_summary.label, kernel_summary.speedups, kernel_summary.search_references
            )
            for kernel_summary in shown
        ],
        size,
    )
    count = sum(len(one.speedups) for one in shown)
    faster = sum(speedup > 1 for one in shown for speedup in one.speedups)
    text = (
        f"{plural(count, 'distinct schedule')} that ran, of {plural(len(shown), 'program')} at the "
        f"size {size}; {faster:,} of them faster than the original order. A violin is as wide as "
        "schedules are dense; its dot is the fastest. Programs with few schedules have a dot for "
        "each."
    )
    title = "Speedups of the legal schedules"
    return ReportFigure("distribution", title, text if count else _NO_DATA, picture)


def _best_speedups(found: Sequence[KernelSummary]) -> ReportFigure:
    shown = [summary for summary in found if summary.best is not None]
    names = list(dict.fromkeys(name for one in shown for name in one.references))
    means: Mapping[str, float] = {
        name: mean for name in names if (mean := mean_reference(shown, name)) is not None
    }
    groups = [
        SpeedupGroup(kernel_summary.label, kernel_summary.best, kernel_summary.references)
        for kernel_summary in shown
    ]
    size = " and ".join(sorted({one.dataset for one in shown})) or "no size yet"
    picture = best_speedups_picture(
        groups, SpeedupGroup("geo. mean", mean_best(shown), means), size
    )
    confirmed = sum(one.is_confirmed for one in shown)
    text = (
        f"The fastest schedule of each program ({plural(len(shown), 'program')}) and the geometric "
        f"means. {_measured_again(confirmed, len(shown))}"
    )
    title = "The best schedule of each program"
    return ReportFigure("best", title, text if shown else _NO_DATA, picture)


def _limits(found: Sequence[KernelSummary]) -> ReportFigure:
    shown = [
        kernel_summary for kernel_summary in found if kernel_summary.share_of_limit is not None
    ]
    programs = []
    for summary in shown:
        shares = {"best schedule": summary.share_of_limit, ISL: summary.isl_of_limit}
        known = {name: value for name, value in shares.items() if value is not None}
        programs.append(LimitShares(summary.label, known, summary.bound_by))
    size = " and ".join(sorted({one.dataset for one in shown})) or "no size yet"
    mean = mean_of_limit(shown)
    text = (
        f"Which share of its limit each program reaches ({plural(len(shown), 'program')}; "
        f"geometric mean of the best: {100 * (mean or 0):.3g} %). No schedule, storage or mapping "
        "is faster than the limit on this machine; docs/limit.md says how it is computed."
    )
    title = "Every program under its roof"
    return ReportFigure(
        "limits", title, text if shown else _NO_DATA, limit_shares_picture(programs, size)
    )


def _measured_again(confirmed: int, programs: int) -> str:
    """Say how many of the bests were measured again, and what the others are."""
    again = "measured again at the larger size, in turn with the original order and isl's schedule"
    if not confirmed:
        return "Speedups are as measured in the search."
    if confirmed == programs:
        return f"It was {again}." if programs == 1 else f"All were {again}."
    return f"{confirmed} of them were {again}; the others are as measured in the search."


def _policies(contents: SweepContents, found: Sequence[KernelSummary]) -> ReportFigure:
    kernels = curve_kernels(contents)
    size = str(contents.setting.search_dataset)
    of = {summary.kernel: summary.search_references for summary in found}
    names = list(dict.fromkeys(name for kernel in kernels for name in of[kernel]))
    levels: dict[str, float] = {}
    for name in names:
        mean = geometric_mean(of[kernel][name] for kernel in kernels if of[kernel].get(name))
        if mean is not None:
            levels[name] = mean
    found_curves = curves(contents)
    text = (
        f"The geometric mean over {plural(len(kernels), 'program')} of the best speedup so far, at "
        f"the size {size}. A program without a schedule that has run counts as the slowest that "
        "would."
    )
    for policy, curve in found_curves.items():
        passed = [f"{name} {_after(passes(curve, level))}" for name, level in levels.items()]
        if passed:
            text += f" {policy} passes {', '.join(passed)}."
    title = "The best so far against schedules explored"
    picture = policy_curves_picture(found_curves, levels, len(kernels), size)
    nothing = "No program has been explored by every policy yet."
    return ReportFigure("policies", title, text if kernels else nothing, picture)


def _after(number: int | None) -> str:
    return "never" if number is None else f"after {plural(number, 'schedule')}"


def plural(number: int, noun: str) -> str:
    """Return a number of things.

    >>> plural(1, "program"), plural(3197, "schedule")
    ('1 program', '3,197 schedules')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
