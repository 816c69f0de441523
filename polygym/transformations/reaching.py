"""Construction of a target tree by steps, each legal in its turn.

Two legal orders of one program, the source s = (s₁, s₂, …) and the target t = (t₁, t₂, …), have
legal orders between them: *every* shuffle of the rows of s and t that keeps the rows of each in
their order. The first row of a shuffle that tells two dependent instances apart is the first such
row of s or of t, so it has the right sign. The construction moves the rows of t in front of those
of s, one at a time, from the outside to the inside, and the states in between are shuffles::

    s₁ s₂ s₃   →   t₁ s₁ s₂ s₃   →   t₁ t₂ s₁ s₂ s₃   →   …   →   t₁ t₂ t₃

A row of constants moves in front of a loop by distributing it, and of other constants by reordering
nodes (:mod:`polygym.transformations.node_order`). A row of a loop begins inside, where it is made
of the innermost loop that it depends on (reverse, skew, shift), moves out by interchanges, and the
loops that have it are fused (:mod:`polygym.transformations.loop_fronts`). Loops that order nothing
any more stay in the tree and need no code.

Example, trmm, target ``S0: (0, j, i, k)  S1: (1, i, j)``::

    L1 (i)                      L1 (i)                           L2 (j)
      L2 (j)    distribute        L2 (j)         interchange       L1 (i)
        L3 (k)    L1 before S1      L3 (k) S0      L1 L2             L3 (k) S0
          S0          →           L4 (i)             →             L4 (i)
        S1                          L5 (j) S1                        L5 (j) S1
"""

from __future__ import annotations

from polygym.poly.row_combinations import RowAlgebra
from polygym.transformations.construction import Construction
from polygym.transformations.loop_fronts import LoopFronts
from polygym.transformations.loop_tree import Body, Loop
from polygym.transformations.node_order import NodeOrder


def reach(build: Construction, algebra: RowAlgebra, target: Body) -> None:
    """Take the steps to a simplified body.

    Raises:
        StuckError: some step is not legal, or none is known.
    """
    _reach_body(build, algebra, [node.name for node in build.tree.body], target)


def _reach_body(build: Construction, algebra: RowAlgebra, names: list[str], target: Body) -> None:
    """Arrange neighbouring nodes as the nodes of a target."""
    parts: list[list[str]] = []
    for node in target[:-1]:
        first, names = NodeOrder(build, frozenset(node.statements)).divided(names)
        parts.append(first)
    parts.append(names)
    for part, node in zip(parts, target, strict=True):
        if isinstance(node, Loop):
            _reach_loop(build, algebra, part, node)


def _reach_loop(build: Construction, algebra: RowAlgebra, names: list[str], target: Loop) -> None:
    fronts = LoopFronts(build, algebra, dict(zip(target.statements, target.rows, strict=True)))
    front = fronts.front(names)
    if front is None:
        _reach_body(build, algebra, names, target.body)
        return
    fronts.skew(front, range(len(front.factors)))
    _reach_body(build, algebra, build.body(front.name), target.body)
