"""Where the boxes of a drawn graph stand and how its edges run: layers, from above to below.

Four steps, after Sugiyama, Tagawa and Toda (1981): nodes get layers such that edges run downwards;
what passes a layer gets a place in it; the order within layers is that of the neighbours' means, as
long as fewer edges cross; and places are as near to the neighbours' as the order and the widths
allow. That last step is a least-squares fit under x₁ + d₁ ≤ x₂, x₂ + d₂ ≤ x₃ …, which is isotonic
regression of what is left when the distances are taken off, and is solved exactly by pooling.

What would be too long is cut where few edges run, and goes on in a column to the right.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

__all__ = ["Layout", "Point", "layered", "nearest"]

Point = tuple[float, float]

_BETWEEN_BOXES, _BETWEEN_LAYERS, _BETWEEN_COLUMNS = 14.0, 26.0, 36.0
_PASSING = 6.0
_SWEEPS = 12


@dataclass(frozen=True, slots=True)
class Layout:
    """The middles of the boxes, and for every edge the corners of a line from box to box.

    Pairs of corners are the ends of what runs straight; between them a line may be curved.
    """

    middles: tuple[Point, ...]
    lines: tuple[tuple[Point, ...], ...]
    width: float
    height: float


def layered(
    sizes: Sequence[tuple[float, float]],
    edges: Sequence[tuple[int, int]],
    longest: float = 1400.0,
) -> Layout:
    """Return where boxes stand, given widths and heights and edges (from a lower to a higher one).

    >>> layered([(10, 10), (10, 10)], [(0, 1)]).middles
    ((5.0, 5.0), (5.0, 41.0))
    """
    grid = _Grid.of(sizes, edges)
    _sort(grid)
    xs = _places(grid)
    return _drawn(grid, xs, sizes, edges, longest)


def nearest(wanted: Sequence[float], distances: Sequence[float]) -> list[float]:
    """Return places with distances between them, the sum of squares from those wanted least.

    >>> nearest([5.0, 5.0], [2.0])
    [4.0, 6.0]
    """
    offsets = [0.0]
    for distance in distances:
        offsets.append(offsets[-1] + distance)
    pools: list[tuple[float, int]] = []
    for place, offset in zip(wanted, offsets, strict=False):
        mean, count = place - offset, 1
        while pools and pools[-1][0] > mean:
            other, many = pools.pop()
            mean, count = (mean * count + other * many) / (count + many), count + many
        pools.append((mean, count))
    means = [mean for mean, count in pools for _ in range(count)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=False)]


@dataclass(slots=True)
class _Grid:
    """Vertices in rows: the boxes, and after them one for every layer that an edge passes."""

    rows: list[list[int]]
    widths: list[float]
    chains: list[list[int]]
    above: list[list[int]]
    below: list[list[int]]

    @staticmethod
    def of(sizes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]]) -> _Grid:
        """Return the grid of boxes in the order in which they come."""
        layers = _layers(len(sizes), edges)
        rows: list[list[int]] = [[] for _ in range(max(layers, default=-1) + 1)]
        for one, layer in enumerate(layers):
            rows[layer].append(one)
        grid = _Grid(rows, [width for width, _ in sizes], [], [], [])
        for source, target in edges:
            chain = [source]
            for layer in range(layers[source] + 1, layers[target]):
                chain.append(len(grid.widths))
                rows[layer].append(len(grid.widths))
                grid.widths.append(_PASSING)
            grid.chains.append([*chain, target])
        grid.above = [[] for _ in grid.widths]
        grid.below = [[] for _ in grid.widths]
        for chain in grid.chains:
            for one, other in pairwise(chain):
                grid.above[other].append(one)
                grid.below[one].append(other)
        return grid


def _layers(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Return layers: results as high as they can stand, all others right above what takes them."""
    highest = [0] * count
    for source, target in sorted(edges, key=lambda edge: edge[1]):
        highest[target] = max(highest[target], highest[source] + 1)
    takers: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        takers[source].append(target)
    found = list(highest)
    for one in reversed(range(count)):
        if takers[one]:
            found[one] = min(found[taker] for taker in takers[one]) - 1
    return found


def _sort(grid: _Grid) -> None:
    """Put every row in the order of the means of its neighbours, while fewer edges cross."""
    best, fewest = [list(row) for row in grid.rows], _crossings(grid)
    for sweep in range(_SWEEPS):
        is_down = sweep % 2 == 0
        neighbours = grid.above if is_down else grid.below
        places: dict[int, float] = {}
        for row in grid.rows if is_down else reversed(grid.rows):
            means = {
                one: sum(places[other] for other in neighbours[one]) / len(neighbours[one])
                if neighbours[one]
                else float(place)
                for place, one in enumerate(row)
            }
            row.sort(key=means.__getitem__)
            places.update((one, float(place)) for place, one in enumerate(row))
        if (found := _crossings(grid)) < fewest:
            best, fewest = [list(row) for row in grid.rows], found
    grid.rows[:] = best


def _crossings(grid: _Grid) -> int:
    """Return how many pairs of edges cross between two rows."""
    found = 0
    for upper, lower in pairwise(grid.rows):
        place_of = {one: place for place, one in enumerate(lower)}
        ends: list[int] = []
        for one in upper:
            places = sorted(place_of[other] for other in grid.below[one])
            found += sum(len(ends) - bisect_right(ends, place) for place in places)
            for place in places:
                insort(ends, place)
    return found


def _places(grid: _Grid) -> list[float]:
    """Return the middle of every vertex, across."""
    xs = [0.0] * len(grid.widths)
    for row in grid.rows:
        for one, place in zip(row, nearest([0.0] * len(row), _distances(grid, row)), strict=True):
            xs[one] = place
    for sweep in range(_SWEEPS):
        neighbours = grid.above if sweep % 2 == 0 else grid.below
        for row in grid.rows if sweep % 2 == 0 else reversed(grid.rows):
            wanted = [
                sum(xs[other] for other in neighbours[one]) / len(neighbours[one])
                if neighbours[one]
                else xs[one]
                for one in row
            ]
            for one, place in zip(row, nearest(wanted, _distances(grid, row)), strict=True):
                xs[one] = place
    return xs


def _distances(grid: _Grid, row: Sequence[int]) -> list[float]:
    return [
        (grid.widths[one] + grid.widths[other]) / 2 + _BETWEEN_BOXES for one, other in pairwise(row)
    ]


@dataclass(frozen=True, slots=True)
class _Row:
    """A layer as it is drawn: in which column, from where to where."""

    column: int
    top: float
    bottom: float


def _drawn(
    grid: _Grid,
    xs: list[float],
    sizes: Sequence[tuple[float, float]],
    edges: Sequence[tuple[int, int]],
    longest: float,
) -> Layout:
    rows = _columns(grid, [size[1] for size in sizes], longest)
    row_of = {one: row for row, vertices in zip(rows, grid.rows, strict=True) for one in vertices}
    lefts: dict[int, float] = {}
    right = 0.0
    for column in range(rows[-1].column + 1 if rows else 0):
        members = [one for one in row_of if row_of[one].column == column]
        least = min(xs[one] - grid.widths[one] / 2 for one in members)
        most = max(xs[one] + grid.widths[one] / 2 for one in members)
        if column:
            cut = sum(
                row_of[one].column < column <= row_of[other].column
                for chain in grid.chains
                for one, other in pairwise(chain)
            )
            right += _BETWEEN_COLUMNS + _PASSING * cut
        lefts[column] = right
        for one in members:
            xs[one] += right - least
        right += most - least
    height = max((row.bottom for row in rows), default=0.0)
    middles = tuple((xs[one], _middle(row_of[one])) for one in range(len(sizes)))
    lanes = dict.fromkeys(lefts, 0)
    ports = _ports(grid, xs, edges)
    lines: list[tuple[Point, ...]] = []
    for place, chain in enumerate(grid.chains):
        source, target = chain[0], chain[-1]
        points = [(xs[source], middles[source][1] + sizes[source][1] / 2)]
        for one, other in pairwise(chain):
            start, end = row_of[one], row_of[other]
            x = ports[place] if other == target else xs[other]
            points.append((xs[one], start.bottom))
            if start.column != end.column:
                lanes[end.column] += 1
                lane = _BETWEEN_COLUMNS / 2 + _PASSING * lanes[end.column]
                points += _around(xs[one], x, start, end, lefts[end.column] - lane, lane)
            points.append((x, end.top))
            if other != target:
                continue
            points.append((x, middles[target][1] - sizes[target][1] / 2))
        lines.append(tuple(points))
    deepest = max((y for line in lines for _, y in line), default=0.0)
    lowest = min((y for line in lines for _, y in line), default=0.0)
    moved = max(-lowest, 0.0)
    return Layout(
        tuple((x, y + moved) for x, y in middles),
        tuple(tuple((x, y + moved) for x, y in line) for line in lines),
        right,
        max(height, deepest) + moved,
    )


def _middle(row: _Row) -> float:
    return (row.top + row.bottom) / 2


def _around(x: float, to: float, start: _Row, end: _Row, lane: float, offset: float) -> list[Point]:
    """Return the corners of a line that goes on at the top of the next column."""
    under, over = start.bottom + offset / 2, end.top - offset / 2
    return [(x, under), (lane, under), (lane, under), (lane, over), (lane, over), (to, over)]


def _columns(grid: _Grid, heights: Sequence[float], longest: float) -> list[_Row]:
    """Return the rows, cut into columns where few edges run and the column is long enough."""
    tall = [
        max((heights[one] for one in row if one < len(heights)), default=0.0) for row in grid.rows
    ]
    crossing = [sum(len(grid.below[one]) for one in row) for row in grid.rows]
    rows: list[_Row] = []
    column = start = 0
    while start < len(tall):
        ends: list[int] = []
        y = 0.0
        for place in range(start, len(tall)):
            y += tall[place]
            if y > longest and place > start:
                break
            ends.append(place)
            y += _BETWEEN_LAYERS
        last = ends[-1]
        if last + 1 < len(tall):
            late = ends[len(ends) * 3 // 4 :]
            last = min(reversed(late), key=crossing.__getitem__)
        y = 0.0
        for place in range(start, last + 1):
            rows.append(_Row(column, y, y + tall[place]))
            y += tall[place] + _BETWEEN_LAYERS
        start, column = last + 1, column + 1
    return rows


def _ports(grid: _Grid, xs: Sequence[float], edges: Sequence[tuple[int, int]]) -> dict[int, float]:
    """Return where every edge comes into its box: side by side, in the order from the left."""
    entering: dict[int, list[int]] = {}
    for place, (_, target) in enumerate(edges):
        entering.setdefault(target, []).append(place)
    found: dict[int, float] = {}
    for target, places in entering.items():
        places.sort(key=lambda place: xs[grid.chains[place][-2]])
        step = min(grid.widths[target] / (len(places) + 1), 24.0)
        for number, place in enumerate(places):
            found[place] = xs[target] + (number - (len(places) - 1) / 2) * step
    return found
