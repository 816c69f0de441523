"""Layers of a drawn graph: the boxes of each, their order, and their places.

After Sugiyama, Tagawa and Toda (1981): nodes get layers such that edges run downwards; what passes
a layer gets a place in it; the order within layers is that of the neighbours' means, as long as
fewer edges cross; and places are as near to the neighbours' as the order and the widths allow. That
last step is a least-squares fit under x1 + d1 ≤ x2, x2 + d2 ≤ x3 …, which is isotonic regression of
what is left when the distances are taken off, and is solved exactly by pooling.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

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
        for one, layer in enumerate(layers):
            rows[layer].append(one)
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
            for one, other in pairwise(chain):
                grid.above[other].append(one)
                grid.below[one].append(other)
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


def x_positions(grid: LayerGrid) -> list[float]:
    """Return the middle of every vertex, across."""
    xs = [0.0] * len(grid.widths)
    for row in grid.rows:
        for one, place in zip(
            row, closest_positions([0.0] * len(row), _distances(grid, row)), strict=True
        ):
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
            for one, place in zip(
                row, closest_positions(wanted, _distances(grid, row)), strict=True
            ):
                xs[one] = place
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
    for one in reversed(range(count)):
        if takers[one]:
            result[one] = min(result[taker] for taker in takers[one]) - 1
    return result


def _crossings(grid: LayerGrid) -> int:
    """Return how many pairs of edges cross between two rows."""
    literal = 0
    for upper, lower in pairwise(grid.rows):
        place_of = {one: place for place, one in enumerate(lower)}
        ends: list[int] = []
        for one in upper:
            places = sorted(place_of[other] for other in grid.below[one])
            literal += sum(len(ends) - bisect_right(ends, place) for place in places)
            for place in places:
                insort(ends, place)
    return literal


def _distances(grid: LayerGrid, row: Sequence[int]) -> list[float]:
    return [(grid.widths[one] + grid.widths[other]) / 2 + _BOX_GAP for one, other in pairwise(row)]
