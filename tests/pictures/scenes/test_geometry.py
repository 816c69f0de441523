"""Where things are drawn: planes, arrows, scales."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygym.pictures.scenes.instance_plot import evenly_chosen
from polygym.pictures.scenes.projection import PixelBox, arrow_shape, fit_projection, points_array
from polygym.pictures.scenes.space_plot import fit_scale, signed_log

BOX = PixelBox(10, 20, 300, 200)


@given(
    st.lists(st.tuples(st.integers(-50, 50), st.integers(0, 60)), min_size=1, max_size=3),
)
def test_a_plane_stays_in_its_box(ranges: list[tuple[int, int]]) -> None:
    lowest = [low for low, _ in ranges]
    highest = [low + span for low, span in ranges]
    surface = fit_projection(lowest, highest, BOX)
    for ends in product((False, True), repeat=len(ranges)):
        x, y = surface.corner(*ends)
        assert BOX.left - 1e-6 <= x <= BOX.left + BOX.width + 1e-6
        assert BOX.bottom - 1e-6 <= y <= BOX.bottom + BOX.height + 1e-6


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_dots_of_a_small_cube_do_not_hide_each_other(size: int) -> None:
    surface = fit_projection((0, 0, 0), (size - 1,) * 3, BOX)
    spots = np.array([surface.pixel(place) for place in product(range(size), repeat=3)])
    apart = np.hypot(*(spots[:, None] - spots[None, :]).transpose(2, 0, 1))
    assert apart[~np.eye(len(spots), dtype=bool)].min() > 7


def test_the_axes_of_a_plane_point_right_deep_and_up() -> None:
    surface = fit_projection((0, 0, 0), (1, 1, 1), BOX)
    (right, level), (deep_right, deep_up), (still, up) = surface.steps
    assert right > 0
    assert level == 0
    assert deep_right > 0
    assert deep_up > 0
    assert still == 0
    assert up > 0


def test_an_arrow_starts_and_ends_outside_of_its_dots() -> None:
    shape = arrow_shape((0, 0), (40, 0), points_array([(0, 0), (40, 0)]), 4)
    assert shape.line[0] == pytest.approx([4, 0])
    assert shape.tip[0] == pytest.approx([36, 0])
    assert np.all(shape.line[:, 1] == 0)


def test_an_arrow_goes_round_a_dot_in_between() -> None:
    shape = arrow_shape((0, 0), (40, 0), points_array([(0, 0), (20, 0), (40, 0)]), 4)
    assert shape.line[:, 1].max() > 2


def test_an_arrow_between_equal_spots_is_nothing() -> None:
    shape = arrow_shape((5, 5), (5, 5), points_array([(5, 5)]), 4)
    assert np.all(np.isfinite(shape.line))
    assert np.all(shape.tip == 5)


@given(st.lists(st.fractions(max_denominator=50) | st.integers(-(10**30), 10**30), max_size=9))
def test_a_scale_has_room_for_all_values_in_order(values: list[Fraction | int]) -> None:
    value_scale = fit_scale([values], 50, 100)
    heights = [value_scale.height(value) for value in sorted([*values, -1, 0, 1])]
    assert heights == sorted(heights)
    assert heights[0] >= 50
    assert heights[-1] <= 150
    ticks = value_scale.ticks()
    assert 0 in ticks
    assert len(ticks) <= 11
    assert list(ticks) == sorted(set(ticks))
    assert all(value_scale.least <= tick <= value_scale.most for tick in ticks)


def test_large_values_are_compressed() -> None:
    assert not fit_scale([(10, -10)], 0, 1).is_logarithmic
    assert fit_scale([(11,)], 0, 1).is_logarithmic
    assert signed_log(2**2000 - 1) == pytest.approx(2000)
    assert signed_log(Fraction(-1, 1)) == -1


@given(st.lists(st.integers(), unique=True, min_size=1), st.integers(1, 12))
def test_thinned_values_are_some_of_them(values: list[int], most: int) -> None:
    chosen = evenly_chosen(sorted(values), most)
    assert 1 <= len(chosen) <= most
    assert set(chosen) <= set(values)
