"""Small multiples: bars as tall as their shares, marks for the others, letters inside the sheet."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygym.pictures.charts.small_multiples import (
    Bins,
    HistogramPanel,
    MultiplesPanel,
    PropertyPanel,
    small_multiples_svg,
)

NAMESPACE = "{http://www.w3.org/2000/svg}"
BACKGROUND_AND_LEGEND = 2
UPRIGHT = HistogramPanel(
    "Loops", ("1", "2", "3+"), ((0.5, 0.25, 0.25), (0.0, 1.0, 0.0), (0.5, 0.5, 0.0))
)
LYING = PropertyPanel("Any", ("sum", "a bound < i"), ((0.2, 0.4), (0.0, 1.0), (0.5, 0.5)))


def elements(text: str, tag: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(text).iter(f"{NAMESPACE}{tag}"))


def numbers(nodes: list[ElementTree.Element], name: str) -> list[float]:
    return [float(element.get(name, "nan")) for element in nodes]


def picture(*panels: MultiplesPanel) -> str:
    return small_multiples_svg("A <title>", ("ours", "a & b", "others"), panels, "a note")


def test_bars_are_as_tall_as_shares() -> None:
    bars = elements(picture(UPRIGHT), "rect")[BACKGROUND_AND_LEGEND:]
    tall = numbers(bars, "height")
    assert tall[0] == pytest.approx(2 * tall[1], abs=0.2)
    assert tall[1] == tall[2]
    bottoms = [y + height for y, height in zip(numbers(bars, "y"), tall, strict=True)]
    assert bottoms == pytest.approx([bottoms[0]] * 3, abs=0.2)


def test_rows_are_as_long_as_shares() -> None:
    bars = elements(picture(LYING), "rect")[BACKGROUND_AND_LEGEND:]
    first, second = numbers(bars, "width")
    assert second == pytest.approx(2 * first, abs=0.2)
    assert len(set(numbers(bars, "x"))) == 1


def test_a_mark_as_high_as_a_bar_has_its_share() -> None:
    text = picture(HistogramPanel("x", ("1", "2"), ((0.3, 0.7), (0.7, 0.3))))
    first, second = elements(text, "rect")[BACKGROUND_AND_LEGEND:]
    _, low, high = numbers(elements(text, "circle"), "cy")
    assert low == pytest.approx(float(second.get("y", 0)), abs=0.2)
    assert high == pytest.approx(float(first.get("y", 0)), abs=0.2)


def test_nothing_has_no_mark_in_upright_panels_alone() -> None:
    legend = 1
    assert len(elements(picture(UPRIGHT), "circle")) == legend + 1
    assert len(elements(picture(UPRIGHT), "polygon")) == legend + 2
    assert len(elements(picture(LYING), "circle")) == legend + 2


def test_all_letters_are_escaped_and_inside() -> None:
    text = picture(UPRIGHT, UPRIGHT, LYING, UPRIGHT)
    width, height = map(float, ElementTree.fromstring(text).get("viewBox", "").split()[2:])
    labels = elements(text, "text")
    assert {"A <title>", "a & b", "a bound < i", "3+", "a note"} <= {label.text for label in labels}
    for element in labels:
        assert element.text
        size = 0.6 * float(element.get("font-size", 0)) * len(element.text)
        before = {"start": 0.0, "middle": 0.5, "end": 1.0}[element.get("text-anchor", "start")]
        left = float(element.get("x", 0)) - before * size
        assert 0 <= left <= left + size <= width, element.text
        assert 12 <= float(element.get("y", 0)) <= height, element.text


def test_panels_do_not_lie_on_each_other() -> None:
    """Two rows: two upright panels, and a lying one that has no room beside them."""
    labels = elements(picture(UPRIGHT, UPRIGHT, LYING), "text")
    places = {
        (element.get("x"), element.get("y"))
        for element in labels
        if element.get("font-size") == "13"
    }
    assert len({x for x, _ in places}) == 2
    assert len({y for _, y in places}) == 2


def test_letters_are_on_white() -> None:
    """A reader's page may be dark."""
    first = elements(picture(), "rect")[0]
    assert first.get("fill") == "#ffffff"
    assert first.get("width") == ElementTree.fromstring(picture()).get("width")


@given(
    st.lists(st.floats(-5, 100), max_size=30),
    st.lists(st.integers(-3, 40), min_size=1, max_size=6, unique=True),
)
def test_every_value_is_in_one_bin(values: list[float], begins: list[int]) -> None:
    bins = Bins.whole(*sorted(begins))
    shares = bins.shares(values)
    assert len(shares) == len(bins.labels) == len(begins)
    assert sum(shares) == pytest.approx(1 if values else 0)
    for place, share in enumerate(shares):
        low = bins.lower_bounds[place] if place else float("-inf")
        high = bins.lower_bounds[place + 1] if place + 1 < len(begins) else float("inf")
        inside = sum(low <= value < high for value in values)
        assert share == pytest.approx(inside / max(1, len(values)))


def test_bins_have_names() -> None:
    assert Bins.whole(0, 1, 2, 3, 5, 9, 17).labels == ("0", "1", "2", "3-4", "5-8", "9-16", "17+")
