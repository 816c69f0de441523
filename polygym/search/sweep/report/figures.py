"""The pictures of a report, with what is to be read beside each.

They are drawn of what there is: a sweep that has just begun has pictures with less in them.

The best so far against schedules explored: a curve for each policy, its mean over programs.

The numbers are those of the search, at its size.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean

from polygym.pictures.charts.best_speedups import SpeedupGroup, best_speedups_picture
from polygym.pictures.charts.chart_style import Picture
from polygym.pictures.charts.limit_shares import LimitShares, limit_shares_picture
from polygym.pictures.charts.policy_curves import policy_curves_picture
from polygym.pictures.charts.speedup_distribution import SpeedupDistribution, distribution_picture
from polygym.search.sweep.reader import SweepContents
from polygym.search.sweep.rows import ISL, EpisodeRow
from polygym.search.sweep.statistics import KernelSummary, mean_best, mean_of_limit, mean_reference

_NO_DATA = "No schedule has run yet."


@dataclass(frozen=True, slots=True)
class ReportFigure:
    """A picture, the name of its files, its title, and the sentences under it."""

    name: str
    title: str
    caption: str
    picture: Picture


def sweep_figures(
    contents: SweepContents, summaries: Sequence[KernelSummary]
) -> tuple[ReportFigure, ...]:
    """Return the pictures of a sweep."""
    drawn = (
        _distribution(contents, summaries),
        _best_speedups(summaries),
        _policies(contents, summaries),
    )
    return (*drawn, _limits(summaries)) if any(summary.limit for summary in summaries) else drawn


def _distribution(contents: SweepContents, summaries: Sequence[KernelSummary]) -> ReportFigure:
    size = str(contents.setting.search_dataset)
    shown = [summary for summary in summaries if summary.speedups or summary.search_references]
    picture = distribution_picture(
        [
            SpeedupDistribution(summary.label, summary.speedups, summary.search_references)
            for summary in shown
        ],
        size,
    )
    count = sum(len(summary.speedups) for summary in shown)
    faster = sum(speedup > 1 for summary in shown for speedup in summary.speedups)
    text = (
        f"{plural(count, 'distinct schedule')} that ran, of {plural(len(shown), 'program')} at the "
        f"size {size}; {faster:,} of them faster than the original order. A violin is as wide as "
        "schedules are dense; its dot is the fastest. Programs with few schedules have a dot for "
        "each."
    )
    title = "Speedups of the legal schedules"
    return ReportFigure("distribution", title, text if count else _NO_DATA, picture)


def _best_speedups(summaries: Sequence[KernelSummary]) -> ReportFigure:
    shown = [summary for summary in summaries if summary.best is not None]
    names = list(dict.fromkeys(name for summary in shown for name in summary.references))
    known = {name: mean_reference(shown, name) for name in names}
    means = {name: mean for name, mean in known.items() if mean is not None}
    groups = [SpeedupGroup(summary.label, summary.best, summary.references) for summary in shown]
    together = SpeedupGroup("geo. mean", mean_best(shown), means)
    picture = best_speedups_picture(groups, together, _sizes(shown))
    confirmed = sum(summary.is_confirmed for summary in shown)
    text = (
        f"The fastest schedule of each program ({plural(len(shown), 'program')}) and the geometric "
        f"means. {_measured_again(confirmed, len(shown))}"
    )
    title = "The best schedule of each program"
    return ReportFigure("best", title, text if shown else _NO_DATA, picture)


def _limits(summaries: Sequence[KernelSummary]) -> ReportFigure:
    shown = [summary for summary in summaries if summary.share_of_limit is not None]
    programs = []
    for summary in shown:
        shares = {"best schedule": summary.share_of_limit, ISL: summary.isl_of_limit}
        known = {name: value for name, value in shares.items() if value is not None}
        programs.append(LimitShares(summary.label, known, summary.bound_by))
    mean = mean_of_limit(shown)
    text = (
        f"Which share of its limit each program reaches ({plural(len(shown), 'program')}; "
        f"geometric mean of the best: {100 * (mean or 0):.3g} %). No schedule, storage or mapping "
        "is faster than the limit on this machine; docs/explanation/limit.md explains it."
    )
    title = "Every program under its roof"
    picture = limit_shares_picture(programs, _sizes(shown))
    return ReportFigure("limits", title, text if shown else _NO_DATA, picture)


def _sizes(shown: Sequence[KernelSummary]) -> str:
    return " and ".join(sorted({summary.dataset for summary in shown})) or "no size yet"


def _measured_again(confirmed: int, programs: int) -> str:
    """Say how many of the bests were measured again, and what the others are."""
    again = "measured again at the larger size, in turn with the original order and isl's schedule"
    if not confirmed:
        return "Speedups are as measured in the search."
    if confirmed == programs:
        return f"It was {again}." if programs == 1 else f"All were {again}."
    return f"{confirmed} of them were {again}; the others are as measured in the search."


def _policies(contents: SweepContents, summaries: Sequence[KernelSummary]) -> ReportFigure:
    kernels = curve_kernels(contents)
    size = str(contents.setting.search_dataset)
    of = {summary.kernel: summary.search_references for summary in summaries}
    names = list(dict.fromkeys(name for kernel in kernels for name in of[kernel]))
    speedups = {name: [of[k][name] for k in kernels if of[k].get(name)] for name in names}
    levels = {name: geometric_mean(values) for name, values in speedups.items() if values}
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


Curve = tuple[tuple[int, float], ...]


def curves(contents: SweepContents) -> dict[str, Curve]:
    """Return for each policy the mean of the best so far after 1, 2, 3 … episodes, as steps.

    The mean is over the programs that every policy has explored. One for which nothing has run
    correctly yet counts with the speedup at which a run is cut off, 1 over the timeout factor; one
    that was explored less far than others keeps its last best. A pair (n, mean) holds until the
    next; the last one is where the policy has come to.
    """
    policies = tuple(dict.fromkeys(row.policy for row in contents.episodes))
    of: dict[tuple[str, str], list[EpisodeRow]] = {}
    for row in contents.episodes:
        of.setdefault((row.policy, row.kernel), []).append(row)
    kernels = curve_kernels(contents)
    speedups = {outcome.number: outcome.timing.speedup for outcome in contents.outcomes}
    floor = 1.0 / contents.setting.evaluation.timeout_factor
    return {
        policy: _mean_curve([_best_so_far(of[policy, name], speedups) for name in kernels], floor)
        for policy in policies * bool(kernels)
    }


def curve_kernels(contents: SweepContents) -> tuple[str, ...]:
    """Return the programs over which :func:`curves` takes its means."""
    policies = {row.policy for row in contents.episodes}
    seen = {(row.policy, row.kernel) for row in contents.episodes}
    names = [row.name for row in contents.kernels] if policies else []
    return tuple(name for name in names if all((policy, name) in seen for policy in policies))


def passes(curve: Curve, level: float) -> int | None:
    """Return after how many episodes a curve is above a level, None if it never is.

    >>> passes(((1, 0.5), (4, 1.2), (9, 1.2)), 1.0)
    4
    """
    return next((number for number, mean in curve if mean > level), None)


def _best_so_far(
    episodes: Sequence[EpisodeRow], speedups: Mapping[int, float | None]
) -> tuple[list[int], list[float], int]:
    """Return where the best improves (numbers of episodes, bests) and how many there are."""
    numbers: list[int] = []
    bests: list[float] = []
    for count, row in enumerate(sorted(episodes, key=lambda row: row.index), start=1):
        speedup = None if row.outcome is None else speedups.get(row.outcome)
        if speedup is not None and (not bests or speedup > bests[-1]):
            numbers.append(count)
            bests.append(speedup)
    return numbers, bests, len(episodes)


def _mean_curve(series: Sequence[tuple[list[int], list[float], int]], floor: float) -> Curve:
    changes = sorted({1, *(number for numbers, _, _ in series for number in numbers)})
    last = max(count for _, _, count in series)
    points = []
    for number in dict.fromkeys((*changes, last)):
        reached = [values[: bisect_right(numbers, number)][-1:] for numbers, values, _ in series]
        bests = [max([floor, *values]) for values in reached]
        points.append((number, geometric_mean(bests)))
    return tuple(points)
