"""Regions in which two loop trees of a program differ.

A step changes few nodes of a tree, and shares the others with the tree before it. So the first body
with a difference is found by identity, from the outside inwards; the *region* is its nodes from the
first different one to the last. Two statements that are not both in the region have the same order
in both trees. Example, ``interchange L3 L4``::

    L1           L1
      S0           S0
      L3     →     L4        region: L4, in L1
        L4           L3
          S1           S1
"""

from __future__ import annotations

from dataclasses import dataclass

from polygym.transformations.loop_tree import Body, Loop, LoopTree, shape_of


@dataclass(frozen=True, slots=True)
class TreeRegion:
    """Neighbours in one body, with the loops around them, outermost first."""

    around: tuple[Loop, ...]
    nodes: Body


def whole_tree(tree: LoopTree) -> TreeRegion:
    """Return the region of all nodes."""
    return TreeRegion((), tree.body)


def changed_region(tree: LoopTree, other: LoopTree) -> TreeRegion:
    """Return where a tree differs from another one of its program."""
    return _differing(tree, other)[0]


def is_same_order(tree: LoopTree, other: LoopTree) -> bool:
    """Whether a tree differs from another one by nothing but names."""
    region, before = _differing(tree, other)
    return shape_of(region.nodes) == shape_of(before)


def _differing(tree: LoopTree, other: LoopTree) -> tuple[TreeRegion, Body]:
    """Return the region that differs, and the nodes of the other tree there."""
    around: list[Loop] = []
    body, known = tree.body, other.body
    while True:
        first, last = _equal_ends(body, known)
        body, known = body[first : len(body) - last], known[first : len(known) - last]
        if len(body) != 1 or len(known) != 1:
            break
        (node,), (before,) = body, known
        if not (isinstance(node, Loop) and isinstance(before, Loop)):
            break
        if not _have_equal_rows(node, before):
            break
        around.append(node)
        body, known = node.body, before.body
    return TreeRegion(tuple(around), body), known


def _equal_ends(body: Body, other: Body) -> tuple[int, int]:
    """Return how many nodes two bodies have in common at their beginning, and at their end."""
    most = min(len(body), len(other))
    first = next((k for k in range(most) if body[k] is not other[k]), most)
    left = most - first
    last = next((k for k in range(left) if body[-1 - k] is not other[-1 - k]), left)
    return first, last


def _have_equal_rows(loop: Loop, other: Loop) -> bool:
    """Whether two loops have the same statements, with the same rows, in any order."""
    if loop.statements == other.statements:
        return loop.rows is other.rows or loop.rows == other.rows
    own = dict(zip(loop.statements, loop.rows, strict=True))
    return own == dict(zip(other.statements, other.rows, strict=True))
