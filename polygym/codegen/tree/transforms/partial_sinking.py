"""Partial sinking: the outer loops of a band stay above the sequence, the others sink.

::

    Band(k, j) → Sequence{ S: Leaf, T: Band(i), U: Band(i) }
        →   Band(⌊k/64⌋, ⌊j/64⌋) → Band(k) → Sequence{ S: Band(j), T: Band(j, i), U: Band(j, i) }

Where everything waits for what an earlier k has left, nothing sinks as a whole: U of one k leads
back to T of the next. Once k stands still that is ordered, and only pairs within one k count. So
for a growing number of members that stay, the others sink, if they may
(:mod:`polygym.codegen.tree.transforms.sinking`). As tiles go around all members, U finds in a cache
what T has read, and threads meet once for every diagonal of tiles, not once for every k.

Example, Gram and Schmidt's method, column k normalised by S, r = Σ_i q[i][k] · a[i][j] by T and
a[i][j] -= q[i][k] · r by U. Below the sequence stand loops over i alone, which go down columns;
with j among them T and U run along rows, in vectors.

Side conditions: those of tiles and of sinking. It is done where statements run in vectors by it
that would not, and all that would still do; and where the mapping asks for no order of these loops.
"""

from dataclasses import dataclass

from polygym.codegen.tree import ir as tree_ir
from polygym.codegen.tree.analysis.planner_context import PlannerContext
from polygym.codegen.tree.inner_loops.arrangement import choose_arrangement
from polygym.codegen.tree.loop_context import LoopContext
from polygym.codegen.tree.transforms.sinking import sink_points


@dataclass(frozen=True)
class PartlySunk:
    """The first ``staying_count`` members of a band stay; the others form the ``sunk_band``.

    ``loop_context`` is what surrounds that.
    """

    staying_count: int
    sunk_band: tree_ir.Band
    loop_context: LoopContext


def sink_partly(
    band: tree_ir.Band, loop_context: LoopContext, context: PlannerContext
) -> PartlySunk | None:
    """Return how some members of a band stay and the others sink; None where that is no gain."""
    if not isinstance(band.child, tree_ir.SequenceNode):
        return None
    return context.memoized(
        "sink partly", band, loop_context, lambda own: _sunk_partly(band, loop_context, own)
    )


def _sunk_partly(
    band: tree_ir.Band, loop_context: LoopContext, context: PlannerContext
) -> PartlySunk | None:
    if not context.has_vectors:
        return None
    if len(band.members) < 2 or context.innermost(band.statements, band.members):
        return None
    inside = loop_context.inside_members(band.members, band.statements)
    before = _vectorized_statements(band.child, inside, context)
    for staying in range(1, len(band.members)):
        outer, inner = band.members[:staying], band.members[staying:]
        below = loop_context.inside_members(outer, band.statements)
        rest = tree_ir.Band(
            band.statements, below.with_coincidence(inner, band.statements), band.child
        )
        if (
            sink_points(rest, below) is not None
            and _vectorized_statements(rest, below, context) > before
        ):
            return PartlySunk(staying, rest, below)
    return None


def _vectorized_statements(
    tree: tree_ir.Tree, loop_context: LoopContext, context: PlannerContext
) -> frozenset[str]:
    """Return the statements that would run in vectors, if everything sinks that may."""
    match tree:
        case tree_ir.Leaf():
            return frozenset()
        case tree_ir.SequenceNode(branches):
            parts = [
                _vectorized_statements(
                    branch.child, loop_context.for_branch(branch.statements), context
                )
                for branch in branches
            ]
            return frozenset().union(*parts)
        case tree_ir.Band() if tree_ir.is_innermost(tree):
            groups = choose_arrangement(tree, loop_context, context).groups
            names = [group.statements for group in groups if group.has_vectors]
            return frozenset().union(*names)
        case tree_ir.Band(statements, members, child):
            if (sunk := sink_points(tree, loop_context)) is None:
                return _vectorized_statements(
                    child, loop_context.inside_members(members, statements), context
                )
            result = [
                _vectorized_statements(
                    sunk_branch.band, loop_context.for_branch(sunk_branch.band.statements), context
                )
                for sunk_branch in sunk
            ]
            return frozenset().union(*result)
