"""Columns of text: what fits, what is cut, and that it stays within the picture."""

import pytest
from matplotlib.transforms import Bbox

from polygym.pictures import HEIGHT, WIDTH
from polygym.pictures.page import TextColumn, TextEntry, fit_lines
from tests.pictures.scenes.sample_scenes import scene_of, small
from tests.pictures.scenes.test_canvas import differing, texts


def test_what_fits_is_kept_as_it_is() -> None:
    notes = [TextEntry("a"), TextEntry("b", is_highlighted=True), TextEntry("c", is_faint=True)]
    assert fit_lines(notes, 10, 3) == notes


@pytest.mark.parametrize("place", range(40))
def test_what_stands_out_is_seen_wherever_it_is(place: int) -> None:
    entries = fit_lines([TextEntry(str(k), is_highlighted=k == place) for k in range(40)], 10, 10)
    assert len(entries) == 10
    assert [note.text for note in entries if note.is_highlighted] == [str(place)]
    assert entries[-1].text == "… 31 more"
    numbers = [int(note.text) for note in entries[:-1]]
    assert numbers == list(range(numbers[0], numbers[0] + 9))


def test_long_lines_are_broken() -> None:
    entries = fit_lines([TextEntry("one two three four", is_faint=True)], 9, 5)
    assert [note.text for note in entries] == ["one two", "three", "four"]
    assert all(note.is_faint for note in entries)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_columns_stay_within_the_picture_and_beside_each_other(count: int) -> None:
    text = "S12[t, i, j] → [-14tsteps - 70n - 70, m + 8n] as the model says"
    columns = (TextColumn("tile of loop 3 in the nest of " * 6, (TextEntry(text),) * 40),) * count
    bottom_half = [
        box for _, box in texts(scene_of(small("y_ax"), text_columns=columns)) if box.y0 < 265
    ]
    starts = sorted({round(box.x0) for box in bottom_half})
    assert len(starts) == count
    assert len(bottom_half) == count * (1 + 16)
    for box in bottom_half:
        assert Bbox.from_bounds(0, 0, WIDTH, HEIGHT).contains(box.x0, box.y0)
        assert box.x1 < min((x for x in starts if x > round(box.x0)), default=WIDTH)


def test_columns_take_the_place_of_the_space() -> None:
    space = scene_of(small("y_ax"))
    text = scene_of(small("y_ax"), text_columns=(TextColumn("a"),))
    assert differing(space, text) > 1000
    assert not any("ray" in content for content, _ in texts(text))
