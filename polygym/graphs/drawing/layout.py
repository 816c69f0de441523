"""Layout of a drawn graph: places of the boxes and routes of the edges, from above to below.

``order_layers`` decides who stands beside whom. Here layers become rows, what
would be too long is cut where few edges run and goes on in a column to the right, and edges become
lines.

Layers of a drawn graph: the boxes of each, their order, and their places.

After Sugiyama, Tagawa and Toda (1981): nodes get layers such that edges run downwards; what passes
a layer gets a place in it; the order within layers is that of the neighbours' means, as long as
fewer edges cross; and places are as near to the neighbours' as the order and the widths allow. That
last step is a least-squares fit under x1 + d1 ≤ x2, x2 + d2 ≤ x3 …, which is isotonic regression of
what is left when the distances are taken off, and is solved exactly by pooling.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil

EDGE_WIDTH = 6.0
"""How wide a place is that an edge passes through."""

_BOX_GAP = 14.0
_SWEEPS = 12


@dataclass(slots=True)
class LayerGrid:
    """Vertices in rows: the boxes, and after them one for every layer that an edge passes."""

    rows: list[list[int]]
    widths: list[float]
    chains: list[list[int]]
    above: list[list[int]]
    below: list[list[int]]

    @staticmethod
    def of(sizes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]]) -> LayerGrid:
        """Return the grid of boxes in the order in which they come."""
        layers = _layers(len(sizes), edges)
        rows: list[list[int]] = [[] for _ in range(max(layers, default=-1) + 1)]
        for vertex, layer in enumerate(layers):
            rows[layer].append(vertex)
        grid = LayerGrid(rows, [width for width, _ in sizes], [], [], [])
        for source, target in edges:
            chain = [source]
            for layer in range(layers[source] + 1, layers[target]):
                chain.append(len(grid.widths))
                rows[layer].append(len(grid.widths))
                grid.widths.append(EDGE_WIDTH)
            grid.chains.append([*chain, target])
        grid.above = [[] for _ in grid.widths]
        grid.below = [[] for _ in grid.widths]
        for chain in grid.chains:
            for vertex, other in pairwise(chain):
                grid.above[other].append(vertex)
                grid.below[vertex].append(other)
        return grid


def order_layers(grid: LayerGrid) -> None:
    """Put every row in the order of the means of its neighbours, while fewer edges cross."""
    best, fewest = [list(row) for row in grid.rows], _crossings(grid)
    for sweep in range(_SWEEPS):
        is_down = sweep % 2 == 0
        neighbours = grid.above if is_down else grid.below
        places: dict[int, float] = {}
        for row in grid.rows if is_down else reversed(grid.rows):
            means = {
                vertex: sum(places[other] for other in neighbours[vertex]) / len(neighbours[vertex])
                if neighbours[vertex]
                else float(place)
                for place, vertex in enumerate(row)
            }
            row.sort(key=means.__getitem__)
            places.update((vertex, float(place)) for place, vertex in enumerate(row))
        if (crossings := _crossings(grid)) < fewest:
            best, fewest = [list(row) for row in grid.rows], crossings
    grid.rows[:] = best


def x_positions(grid: LayerGrid) -> list[float]:
    """Return the middle of every vertex, across."""
    xs = [0.0] * len(grid.widths)
    for row in grid.rows:
        for vertex, place in zip(
            row, closest_positions([0.0] * len(row), _distances(grid, row)), strict=True
        ):
            xs[vertex] = place
    for sweep in range(_SWEEPS):
        neighbours = grid.above if sweep % 2 == 0 else grid.below
        for row in grid.rows if sweep % 2 == 0 else reversed(grid.rows):
            wanted = [
                sum(xs[other] for other in neighbours[vertex]) / len(neighbours[vertex])
                if neighbours[vertex]
                else xs[vertex]
                for vertex in row
            ]
            for vertex, place in zip(
                row, closest_positions(wanted, _distances(grid, row)), strict=True
            ):
                xs[vertex] = place
    return xs


def closest_positions(targets: Sequence[float], distances: Sequence[float]) -> list[float]:
    """Return places with distances between them, the sum of squares from those wanted least.

    >>> closest_positions([5.0, 5.0], [2.0])
    [4.0, 6.0]
    """
    offsets = [0.0]
    for distance in distances:
        offsets.append(offsets[-1] + distance)
    pools: list[tuple[float, int]] = []
    for place, offset in zip(targets, offsets, strict=False):
        mean, count = place - offset, 1
        while pools and pools[-1][0] > mean:
            other, many = pools.pop()
            mean, count = (mean * count + other * many) / (count + many), count + many
        pools.append((mean, count))
    means = [mean for mean, count in pools for _ in range(count)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=False)]


def _layers(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Return layers: results as high as they can stand, all others right above what takes them."""
    highest = [0] * count
    for source, target in sorted(edges, key=lambda edge: edge[1]):
        highest[target] = max(highest[target], highest[source] + 1)
    takers: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        takers[source].append(target)
    result = list(highest)
    for vertex in reversed(range(count)):
        if takers[vertex]:
            result[vertex] = min(result[taker] for taker in takers[vertex]) - 1
    return result


def _crossings(grid: LayerGrid) -> int:
    """Return how many pairs of edges cross between two rows."""
    literal = 0
    for upper, lower in pairwise(grid.rows):
        place_of = {vertex: place for place, vertex in enumerate(lower)}
        ends: list[int] = []
        for vertex in upper:
            places = sorted(place_of[other] for other in grid.below[vertex])
            literal += sum(len(ends) - bisect_right(ends, place) for place in places)
            for place in places:
                insort(ends, place)
    return literal


def _distances(grid: LayerGrid, row: Sequence[int]) -> list[float]:
    return [(grid.widths[one] + grid.widths[other]) / 2 + _BOX_GAP for one, other in pairwise(row)]


Point = tuple[float, float]

_LAYER_GAP, _COLUMN_GAP = 26.0, 36.0


@dataclass(frozen=True, slots=True)
class GraphLayout:
    """The middles of the boxes, and for every edge the corners of a line from box to box.

    Pairs of corners are the ends of what runs straight; between them a line may be curved.
    """

    middles: tuple[Point, ...]
    lines: tuple[tuple[Point, ...], ...]
    width: float
    height: float


def layered_layout(
    sizes: Sequence[tuple[float, float]],
    edges: Sequence[tuple[int, int]],
    max_height: float = 1400.0,
) -> GraphLayout:
    """Return where boxes stand, given widths and heights and edges (from a lower to a higher one).

    >>> layered_layout([(10, 10), (10, 10)], [(0, 1)]).middles
    ((5.0, 5.0), (5.0, 41.0))
    """
    grid = LayerGrid.of(sizes, edges)
    order_layers(grid)
    rows = _columns(grid, [height for _, height in sizes], max_height)
    row_of = {vertex: row for row, ones in zip(rows, grid.rows, strict=True) for vertex in ones}
    xs, lefts, width = _place_columns(grid, x_positions(grid), row_of)
    middles = [(xs[vertex], row_of[vertex].middle) for vertex in range(len(sizes))]
    lines = _lines(grid, xs, row_of, lefts, [height for _, height in sizes])
    ys = [y for line in lines for _, y in line] + [edge for row in rows for edge in row.ends]
    top = min(ys, default=0.0)
    return GraphLayout(
        tuple((x, y - top) for x, y in middles),
        tuple(tuple((x, y - top) for x, y in line) for line in lines),
        width,
        max(ys, default=0.0) - top,
    )


@dataclass(frozen=True, slots=True)
class _LayerBand:
    """A layer as it is drawn: in which column, from where to where."""

    column: int
    top: float
    bottom: float

    @property
    def middle(self) -> float:
        """Half of its height."""
        return (self.top + self.bottom) / 2

    @property
    def ends(self) -> tuple[float, float]:
        """Where it begins and ends."""
        return self.top, self.bottom


def _columns(grid: LayerGrid, heights: Sequence[float], longest: float) -> list[_LayerBand]:
    """Return the rows, in columns of about one length that are cut where few edges run."""
    tall = [
        max((heights[vertex] for vertex in row if vertex < len(heights)), default=0.0) + _LAYER_GAP
        for row in grid.rows
    ]
    running = [sum(len(grid.below[vertex]) for vertex in row) for row in grid.rows]
    wanted = sum(tall) / max(ceil(sum(tall) / longest), 1)
    rows: list[_LayerBand] = []
    column, y = 0, 0.0
    cuts: list[tuple[int, float, int]] = []
    place = 0
    while place < len(tall):
        rows.append(_LayerBand(column, y, y + tall[place] - _LAYER_GAP))
        y += tall[place]
        if y > 0.75 * wanted:
            cuts.append((running[place], abs(y - wanted), place))
        place += 1
        # What is little more than a column is not worth another one.
        if y > 1.15 * wanted and sum(tall[place:]) > 0.1 * wanted:
            place = min(cuts)[2] + 1
            del rows[place:]
            column, y, cuts = column + 1, 0.0, []
    return rows


def _place_columns(
    grid: LayerGrid, xs: Sequence[float], row_of: Mapping[int, _LayerBand]
) -> tuple[list[float], dict[int, float], float]:
    """Return places with every column to the right of the last, where columns begin, and end."""
    members: dict[int, list[int]] = {}
    for vertex, row in row_of.items():
        members.setdefault(row.column, []).append(vertex)
    moved = list(xs)
    lefts: dict[int, float] = {}
    right = 0.0
    for column, ones in members.items():
        if column:
            right += _COLUMN_GAP + EDGE_WIDTH * sum(
                row_of[vertex].column != row_of[other].column == column
                for chain in grid.chains
                for vertex, other in pairwise(chain)
            )
        lefts[column] = right
        least = min(xs[vertex] - grid.widths[vertex] / 2 for vertex in ones)
        for vertex in ones:
            moved[vertex] = xs[vertex] + lefts[column] - least
            right = max(right, moved[vertex] + grid.widths[vertex] / 2)
    return moved, lefts, right


def _lines(
    grid: LayerGrid,
    xs: Sequence[float],
    row_of: Mapping[int, _LayerBand],
    lefts: Mapping[int, float],
    heights: Sequence[float],
) -> list[tuple[Point, ...]]:
    """Return the corners of every edge, from below one box to the top of another."""
    lanes = dict.fromkeys(lefts, 0)
    ports = _ports(grid, xs)
    lines: list[tuple[Point, ...]] = []
    for place, chain in enumerate(grid.chains):
        source, target = chain[0], chain[-1]
        line = [(xs[source], row_of[source].middle + heights[source] / 2)]
        for vertex, other in pairwise(chain):
            start, end = row_of[vertex], row_of[other]
            x = ports[place] if other == target else xs[other]
            line.append((xs[vertex], start.bottom))
            if start.column != end.column:
                lanes[end.column] += 1
                aside = _COLUMN_GAP / 2 + EDGE_WIDTH * lanes[end.column]
                line += _route_to_next_column(
                    xs[vertex], x, start, end, lefts[end.column] - aside, aside
                )
            line.append((x, end.top))
        line.append((ports[place], row_of[target].middle - heights[target] / 2))
        lines.append(tuple(line))
    return lines


def _route_to_next_column(
    x: float, to: float, start: _LayerBand, end: _LayerBand, lane: float, offset: float
) -> list[Point]:
    """Return the corners of a line that goes on at the top of the next column."""
    under, over = start.bottom + offset / 2, end.top - offset / 2
    return [(x, under), (lane, under), (lane, under), (lane, over), (lane, over), (to, over)]


def _ports(grid: LayerGrid, xs: Sequence[float]) -> dict[int, float]:
    """Return where every edge comes into its box: side by side, in the order from the left."""
    entering: dict[int, list[int]] = {}
    for place, (*_, target) in enumerate(grid.chains):
        entering.setdefault(target, []).append(place)
    result: dict[int, float] = {}
    for target, ones in entering.items():
        ones.sort(key=lambda place: xs[grid.chains[place][-2]])
        step = min(grid.widths[target] / (len(ones) + 1), 24.0)
        for number, place in enumerate(ones):
            result[place] = xs[target] + (number - (len(ones) - 1) / 2) * step
    return result
