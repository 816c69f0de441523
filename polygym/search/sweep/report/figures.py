"""The three pictures of a report, with what is to be read beside each.

They are drawn of what there is: a sweep that has just begun has pictures with less in them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from polygym.pictures.bests import Group, bests_picture
from polygym.pictures.chart import Picture
from polygym.pictures.distribution import Distribution, distribution_picture
from polygym.pictures.policies import policies_picture
from polygym.search.explore.means import geometric_mean
from polygym.search.sweep.curves import curve_kernels, curves, passes
from polygym.search.sweep.reading import Contents
from polygym.search.sweep.statistics import (
    KernelSummary,
    mean_best,
    mean_reference,
)


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture, the name of its files, its title, and the sentences under it."""

    name: str
    title: str
    caption: str
    picture: Picture


def figures(contents: Contents, found: Sequence[KernelSummary]) -> tuple[Figure, ...]:
    """Return the pictures of a sweep."""
    return (_distribution(contents, found), _bests(found), _policies(contents, found))


def _distribution(contents: Contents, found: Sequence[KernelSummary]) -> Figure:
    size = str(contents.setting.search_dataset)
    shown = [one for one in found if one.speedups or one.search_references]
    picture = distribution_picture(
        [Distribution(one.label, one.speedups, one.search_references) for one in shown], size
    )
    count = sum(len(one.speedups) for one in shown)
    faster = sum(speedup > 1 for one in shown for speedup in one.speedups)
    return Figure(
        "distribution",
        "Speedups of the legal schedules",
        f"Every one of {count} distinct schedules that ran, of {len(shown)} programs at the size "
        f"{size}; {faster} of them are faster than the original order. A violin is as wide as "
        "schedules are dense; its dot is the fastest. Programs with few schedules have a dot for "
        "each.",
        picture,
    )


def _bests(found: Sequence[KernelSummary]) -> Figure:
    shown = [one for one in found if one.best is not None]
    names = list(dict.fromkeys(name for one in shown for name in one.references))
    means: Mapping[str, float] = {
        name: mean for name in names if (mean := mean_reference(shown, name)) is not None
    }
    groups = [Group(one.label, one.best, one.references) for one in shown]
    size = " and ".join(sorted({one.dataset for one in shown})) or "no size yet"
    picture = bests_picture(groups, Group("geo. mean", mean_best(shown), means), size)
    confirmed = sum(one.is_confirmed for one in shown)
    text = (
        f"The fastest schedule of each of {len(shown)} programs, and the geometric means. "
        f"{confirmed} of them were measured again at the larger size, in turn with the original "
        "order and isl's schedule"
    )
    if confirmed < len(shown):
        text += f"; the other {len(shown) - confirmed} are as measured in the search"
    return Figure("best", "The best schedule of each program", text + ".", picture)


def _policies(contents: Contents, found: Sequence[KernelSummary]) -> Figure:
    kernels = curve_kernels(contents)
    size = str(contents.setting.search_dataset)
    of = {one.kernel: one.search_references for one in found}
    names = list(dict.fromkeys(name for kernel in kernels for name in of[kernel]))
    levels: dict[str, float] = {}
    for name in names:
        mean = geometric_mean(of[kernel][name] for kernel in kernels if of[kernel].get(name))
        if mean is not None:
            levels[name] = mean
    found_curves = curves(contents)
    text = (
        f"The geometric mean over {len(kernels)} programs of the best speedup so far, at the size "
        f"{size}. A program without a schedule that has run counts as the slowest that would."
    )
    for name, level in levels.items():
        for policy, curve in found_curves.items():
            number = passes(curve, level)
            after = "never" if number is None else f"after {number} schedules"
            text += f" {policy} passes {name} {after}."
    return Figure(
        "policies",
        "The best so far against schedules explored",
        text,
        policies_picture(found_curves, levels, len(kernels), size),
    )
