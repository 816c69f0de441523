"""Layouts: boxes do not overlap, edges run downwards, places are the best that the order allows."""

from __future__ import annotations

from itertools import combinations, pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.graphs.drawing.layout import (
    GraphLayout,
    LayerGrid,
    closest_positions,
    layered_layout,
    order_layers,
    x_positions,
)

Sizes = list[tuple[float, float]]
Edges = list[tuple[int, int]]


@st.composite
def _boxes(draw: st.DrawFn) -> tuple[Sizes, Edges]:
    count = draw(st.integers(1, 14))
    size = st.tuples(st.integers(10, 80), st.integers(10, 40))
    sizes = [
        (float(width), float(height))
        for width, height in draw(st.lists(size, min_size=count, max_size=count))
    ]
    pairs = list(combinations(range(count), 2))
    chosen = draw(st.lists(st.sampled_from(pairs), max_size=25, unique=True)) if pairs else []
    return sizes, chosen


def _overlapping(layout: GraphLayout, sizes: Sizes) -> list[tuple[int, int]]:
    return [
        (one, other)
        for one, other in combinations(range(len(sizes)), 2)
        if all(
            abs(layout.middles[one][axis] - layout.middles[other][axis])
            < (sizes[one][axis] + sizes[other][axis]) / 2 - 1e-6
            for axis in (0, 1)
        )
    ]


@settings(max_examples=200, deadline=None)
@given(_boxes(), st.sampled_from([120.0, 400.0, 1e9]))
def test_boxes_stand_apart_inside_of_the_picture(
    boxes: tuple[Sizes, Edges], longest: float
) -> None:
    sizes, edges = boxes
    layout = layered_layout(sizes, edges, longest)
    assert not _overlapping(layout, sizes)
    for (x, y), (width, height) in zip(layout.middles, sizes, strict=True):
        assert -1e-6 <= x - width / 2
        assert x + width / 2 <= layout.width + 1e-6
        assert -1e-6 <= y - height / 2
        assert y + height / 2 <= layout.height + 1e-6


@settings(max_examples=200, deadline=None)
@given(_boxes(), st.sampled_from([120.0, 1e9]))
def test_lines_run_from_box_to_box(boxes: tuple[Sizes, Edges], longest: float) -> None:
    sizes, edges = boxes
    layout = layered_layout(sizes, edges, longest)
    assert len(layout.lines) == len(edges)
    for (source, target), line in zip(edges, layout.lines, strict=True):
        (x, y), (to_x, to_y) = line[0], line[-1]
        assert len(line) % 2 == 0
        assert x == layout.middles[source][0]
        assert abs(y - layout.middles[source][1] - sizes[source][1] / 2) < 1e-6
        assert abs(to_x - layout.middles[target][0]) <= sizes[target][0] / 2
        assert abs(to_y - layout.middles[target][1] + sizes[target][1] / 2) < 1e-6
        assert all(-1e-6 <= corner[1] <= layout.height + 1e-6 for corner in line)
        if longest == 1e9:  # one column
            assert all(point[1] <= other[1] + 1e-6 for point, other in pairwise(line))


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.integers(-20, 20), min_size=1, max_size=5),
    st.lists(st.integers(1, 6), min_size=4, max_size=4),
    st.lists(st.integers(-3, 3), min_size=5, max_size=5),
)
def test_places_are_the_nearest_ones(
    wanted: list[int], distances: list[int], moves: list[int]
) -> None:
    distances = distances[: len(wanted) - 1]
    positions = closest_positions(wanted, distances)

    def cost(ones: list[float]) -> float:
        return sum((one - other) ** 2 for one, other in zip(ones, wanted, strict=True))

    def fits(ones: list[float]) -> bool:
        gaps = zip(ones, ones[1:], distances, strict=False)
        return all(other - one >= distance - 1e-9 for one, other, distance in gaps)

    assert fits(positions)
    # The problem is convex: what no move nearby mends is the best.
    for scale in (1e-3, 0.1, 1.0):
        moved = [position + scale * move for position, move in zip(positions, moves, strict=False)]
        assert not fits(moved) or cost(moved) >= cost(positions) - 1e-9


def test_layers_are_right_above_what_takes_them() -> None:
    # 0 → 1 → 2 → 4 and 3 → 4: the second input stands beside 2, not beside 0.
    grid = LayerGrid.of([(10.0, 10.0)] * 5, [(0, 1), (1, 2), (2, 4), (3, 4)])
    assert [sorted(row) for row in grid.rows] == [[0], [1], [2, 3], [4]]


def test_edges_that_cross_are_put_apart() -> None:
    grid = LayerGrid.of([(10.0, 10.0)] * 6, [(0, 5), (1, 4), (2, 3)])
    order_layers(grid)
    upper, lower = grid.rows
    assert [{0: 5, 1: 4, 2: 3}[node] for node in upper] == lower
    xs = x_positions(grid)
    assert all(abs(xs[one] - xs[other]) < 1e-6 for one, other in ((0, 5), (1, 4), (2, 3)))


def test_long_edges_take_a_place_in_every_layer_that_they_pass() -> None:
    grid = LayerGrid.of([(10.0, 10.0)] * 4, [(0, 1), (1, 2), (2, 3), (0, 3)])
    assert [len(row) for row in grid.rows] == [1, 2, 2, 1]
    assert grid.chains[3] == [0, 4, 5, 3]


def test_what_is_too_long_goes_on_in_another_column_where_few_edges_run() -> None:
    chain = [(node, node + 1) for node in range(39)]
    layout = layered_layout([(50.0, 30.0)] * 40, chain, max_height=600.0)
    assert layout.height < 700
    assert len({x for x, _ in layout.middles}) == 4
    heights = [sum(x == column for x, _ in layout.middles) for column, _ in layout.middles]
    assert max(heights) - min(heights) <= 4
    # 20 boxes of which every layer has two, but for one in the middle: it is cut there.
    edges = [(a, b) for a in range(0, 10, 2) for b in (a + 2, a + 3)]
    edges += [(a + 1, b) for a in range(0, 10, 2) for b in (a + 2, a + 3)]
    edges += [(10, 12), (11, 12), (12, 13), (12, 14)]
    edges += [(a, b) for a in (13, 15, 17) for b in (a + 2, a + 3)]
    edges += [(a + 1, b) for a in (13, 15, 17) for b in (a + 2, a + 3)]
    parts = layered_layout([(50.0, 30.0)] * 21, edges, max_height=370.0)
    tops = [node for node, (_, y) in enumerate(parts.middles) if y < parts.middles[0][1] + 1]
    assert tops in ([0, 1, 12], [0, 1, 13, 14])


def test_nothing_is_laid_out_as_nothing() -> None:
    assert layered_layout([], []) == GraphLayout((), (), 0.0, 0.0)
