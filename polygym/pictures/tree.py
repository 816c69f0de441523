"""A tree of words: an expression with its parts below it, one of them marked.

Leaves stand side by side in the order of the text, everything else above the middle of its parts.
A tree with more nodes than can be told apart shows as many as fit, in the order of the text.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from polygym.pictures import style
from polygym.pictures.page import TITLE, pixels, sheet

__all__ = ["tree_picture"]

_MOST = 160
_LONGEST_WORD = 12
_EDGE = 40.0
_GAP = 8.0


def tree_picture(
    title: str, words: Sequence[str], parents: Sequence[int], marked: int = -1
) -> NDArray[np.uint8]:
    """Return a picture of a tree: height × width × 3 bytes.

    ``parents`` are the numbers of the nodes above, smaller than a node's own, -1 for the root;
    ``marked`` is a node whose subtree stands out.
    """
    words, parents = list(words)[:_MOST], list(parents)[:_MOST]
    figure = sheet(title)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1 - TITLE))
    width, height = style.as_paper(axes)
    across, down = _places(parents)
    x = _EDGE + (width - 2 * _EDGE) * across
    y = height - _EDGE - (height - 2 * _EDGE) * down
    inside = _below(parents, marked)
    for node, parent in enumerate(parents):
        if parent >= 0:
            colour = style.HIGHLIGHT if parent in inside else style.GRID
            xs, ys = (x[node], x[parent]), (y[node] + _GAP, y[parent] - _GAP)
            style.draw_line(axes, xs, ys, 1, colour, 1.0)
    for node, word in enumerate(words):
        style.write(
            axes,
            (float(x[node]), float(y[node])),
            style.drawable(word, _LONGEST_WORD),
            color=style.HIGHLIGHT if node in inside else style.INK,
            bold=node in inside,
            align=("center", "center"),
        )
    return pixels(figure)


def _places(parents: Sequence[int]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return where nodes stand, both in [0, 1]: across, and down."""
    count = len(parents)
    children: list[list[int]] = [[] for _ in range(count)]
    depth = np.zeros(count)
    for node, parent in enumerate(parents):
        if parent >= 0:
            children[parent].append(node)
            depth[node] = depth[parent] + 1
    across = np.zeros(count)
    leaves = [node for node in range(count) if not children[node]]
    across[leaves] = (np.arange(len(leaves)) + 0.5) / max(len(leaves), 1)
    for node in range(count - 1, -1, -1):
        if children[node]:
            across[node] = np.mean(across[children[node]])
    return across, depth / max(depth.max(initial=0.0), 1.0)


def _below(parents: Sequence[int], marked: int) -> set[int]:
    found = {marked} if 0 <= marked < len(parents) else set()
    for node, parent in enumerate(parents):
        if parent in found:
            found.add(node)
    return found
