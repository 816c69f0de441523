"""The charts of a sweep: files for every sweep, however little or odd it found."""

import re
import struct
from itertools import combinations

import pytest

from polygym.pictures.charts import chart_style
from polygym.pictures.charts.best_speedups import SpeedupGroup, best_speedups_picture
from polygym.pictures.charts.policy_curves import policy_curves_picture
from polygym.pictures.charts.speedup_distribution import (
    SpeedupDistribution,
    density,
    distribution_picture,
)

NAMES = [f"floyd-warshall-{number}" for number in range(30)]
NOTHING = SpeedupGroup("geo. mean", None, {})


def width(picture: chart_style.Picture) -> int:
    assert picture.svg.startswith(b"<?xml")
    assert picture.png.startswith(b"\x89PNG\r\n\x1a\n")
    result, _ = struct.unpack(">II", picture.png[16:24])
    return int(result)


@pytest.mark.parametrize(
    "distributions",
    [
        [],
        [SpeedupDistribution("mvt", (), {})],
        [SpeedupDistribution("$mvt_$\x00", (1.0,), {"isl": 1.0})],
        [SpeedupDistribution("mvt", (1.0,) * 50, {"isl": 2.0})],
        [SpeedupDistribution("mvt", (1e-9, 1e9, *([0.5] * 20)), {"isl": 2.0, "polly": 1.0})],
    ],
)
def test_every_distribution_has_a_picture(distributions: list[SpeedupDistribution]) -> None:
    assert width(distribution_picture(distributions, "mini")) == 700


@pytest.mark.parametrize(
    ("groups", "mean"),
    [
        ([], NOTHING),
        ([SpeedupGroup("mvt", None, {})], NOTHING),
        (
            [SpeedupGroup("mvt", 0.5, {"isl": 1.0}), SpeedupGroup("lu", 700.0, {"polly": 1e-4})],
            NOTHING,
        ),
        ([SpeedupGroup("mvt", 1.0, {})], SpeedupGroup("geo. mean", 1.0, {"isl": 3.0})),
    ],
)
def test_every_best_has_a_picture(groups: list[SpeedupGroup], mean: SpeedupGroup) -> None:
    assert width(best_speedups_picture(groups, mean, "mini")) == 700


@pytest.mark.parametrize(
    ("curves", "levels"),
    [
        ({}, {}),
        ({"uniform": ((1, 0.5),)}, {"isl": 1.0}),
        ({"uniform": ((1, 0.5), (100_000, 40.0)), "p": ((1, 1.0),)}, {"isl": 1.0, "polly": 1.0}),
    ],
)
def test_every_curve_has_a_picture(
    curves: dict[str, tuple[tuple[int, float], ...]], levels: dict[str, float]
) -> None:
    assert width(policy_curves_picture(curves, levels, 3, "mini")) == 700


def test_no_two_lines_of_curves_and_levels_share_a_colour() -> None:
    curves = {name: ((1, 1.5), (9, 2.0 + place)) for place, name in enumerate("abc")}
    levels = {name: 1.1 + place for place, name in enumerate(("isl", "clang", "gcc", "polly"))}
    svg = policy_curves_picture(curves, levels, 3, "mini").svg.decode()
    curve_widths, level_widths = "stroke-width: 1.5", "stroke-width: 0.9"
    colors = {
        color
        for color, width in re.findall(r"stroke: (#\w{6}); (stroke-width: [\d.]+)", svg)
        if width in (curve_widths, level_widths)
    } | set(re.findall(r"stroke-dasharray: [\d.,]+; stroke-dashoffset: 0; stroke: (#\w{6})", svg))
    assert len(colors - {chart_style.style.INK, chart_style.style.FAINT_INK}) >= len(curves) + len(
        levels
    )


def test_a_suite_is_as_wide_as_a_page_and_not_wider() -> None:
    wide = [SpeedupDistribution(name, (1.0, 2.0), {}) for name in NAMES]
    assert width(distribution_picture(wide, "mini")) == 1440
    groups = [SpeedupGroup(name, 2.0, {}) for name in NAMES]
    assert width(best_speedups_picture(groups, NOTHING, "mini")) == 1440


def test_the_same_sweep_has_the_same_picture() -> None:
    distributions = [SpeedupDistribution("mvt", (0.5, 1.5), {"isl": 1.0})]
    first, again = (
        distribution_picture(distributions, "mini"),
        distribution_picture(distributions, "mini"),
    )
    assert first.png == again.png
    other = distribution_picture([SpeedupDistribution("mvt", (0.5, 1.6), {"isl": 1.0})], "mini")
    assert first.png != other.png


def test_a_violin_is_widest_where_most_are() -> None:
    densities = density([0.0] * 20 + [1.0] * 5, [-1.0, 0.0, 0.5, 1.0])
    assert max(densities) == densities[1] <= 1
    assert densities[3] > densities[0]


@pytest.mark.parametrize(("low", "high"), [(0.5, 2), (0.001, 3), (1e-9, 1e9), (0.9, 1.1)])
def test_ticks_are_few_and_inside(low: float, high: float) -> None:
    ticks = chart_style.speedup_ticks(low, high)
    assert 1 <= len(ticks) <= 12
    assert ticks == sorted(ticks)
    assert all(low <= tick <= high for tick in ticks)


def test_colours_differ() -> None:
    for first, second in combinations((chart_style.MAIN_COLOR, *chart_style.REFERENCE_COLORS), 2):
        assert first != second
