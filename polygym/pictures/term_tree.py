"""A tree of words: an expression with its parts below it, one of them marked.

Leaves stand side by side in the order of the text, everything else above the middle of its parts.
A tree with more nodes than can be told apart shows as many as fit, in the order of the text.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from polygym.pictures import style
from polygym.pictures.page import TITLE, new_page, pixels

_MAX_NODES = 160
_MAX_LABEL_LENGTH = 12
_EDGE = 40.0
_GAP = 8.0


def tree_picture(
    title: str, labels: Sequence[str], parents: Sequence[int], highlighted: int = -1
) -> NDArray[np.uint8]:
    """Return a picture of a tree: height × width × 3 bytes.

    ``parents`` are the numbers of the nodes above, smaller than a node's own, -1 for the root;
    ``highlighted`` is a node whose subtree stands out.
    """
    labels, parents = list(labels)[:_MAX_NODES], list(parents)[:_MAX_NODES]
    figure = new_page(title)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1 - TITLE))
    width, height = style.use_pixel_coordinates(axes)
    across, down = _places(parents)
    x = _EDGE + (width - 2 * _EDGE) * across
    y = height - _EDGE - (height - 2 * _EDGE) * down
    inside = _descendants(parents, highlighted)
    for node, parent in enumerate(parents):
        if parent >= 0:
            colour = style.HIGHLIGHT if parent in inside else style.GRID
            xs, ys = (x[node], x[parent]), (y[node] + _GAP, y[parent] - _GAP)
            style.draw_line(axes, xs, ys, 1, colour, 1.0)
    for node, word in enumerate(labels):
        style.write(
            axes,
            (float(x[node]), float(y[node])),
            style.drawable_text(word, _MAX_LABEL_LENGTH),
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


def _descendants(parents: Sequence[int], highlighted: int) -> set[int]:
    result = {highlighted} if 0 <= highlighted < len(parents) else set()
    for node, parent in enumerate(parents):
        if parent in result:
            result.add(node)
    return result
