"""Sinking: the points of a tiled band move into the branches below it (imperfect nests).

::

    Band(i, j) → Sequence{ S: Leaf, T: Band(k) }
        →   Band(⌊i/64⌋, ⌊j/64⌋) → Sequence{ S: Band(i, j), T: Band(i, j, k) }

Each branch then has a band of its own, with roles of its own: S runs in vectors along j, and T
holds in registers what it adds up along k. Within one tile all of S now runs before all of T.

Side conditions, asked of the pairs that no loop around the band orders:

* none leads from a later branch to an earlier one: in ``for i { S: a[i] = b[i - 1]; T: b[i] = … }``
  S needs what T has left one iteration before, and nothing sinks;
* the points and the members of a branch's own band become one band only if they are permutable
  with each other; else the points are a band around it.

What is coincident is decided anew for each branch: pairs between branches do not count any more.

Running through: the points of independent loops move inside loops that have to stay in order.

::

    Band(i: coincident, j: coincident, k) → Band(l)
        →   Band(⌊i/64⌋, ⌊j/64⌋) → Band(k) → Band(i, j, l)

This is a sum over two loops, k and l, which cannot be permuted: the order of its terms is kept.
Now i and j stand in one band with l, where one of them may run in vectors.

Side condition: none beyond the band's own. A coincident member has δ = 0 for every pair that no
loop around orders, so wherever it runs among the others, no pair is reversed.

Partial sinking: the outer loops of a band stay above the sequence, the others sink.

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
from polygym.codegen.tree.ir import Band, BandMember, Branch, SequenceNode, restrict_member
from polygym.codegen.tree.loop_context import LoopContext


@dataclass(frozen=True)
class SunkBranch:
    """The band of one branch with the points of the band above, of ``own_members`` members."""

    band: Band
    own_members: int


def sink_points(band: Band, loop_context: LoopContext) -> tuple[SunkBranch, ...] | None:
    """Return the bands of the branches after sinking, or None where that is not legal."""
    if not isinstance(band.child, SequenceNode):
        return None
    sequence = band.child
    return loop_context.memo.get_or_compute(
        ("sink", band, loop_context), lambda: _sunk_branches(band, sequence, loop_context)
    )


def _sunk_branches(
    band: Band, sequence: SequenceNode, loop_context: LoopContext
) -> tuple[SunkBranch, ...] | None:
    if _has_backward_pair(sequence, loop_context):
        return None
    return tuple(
        _sink_into_branch(band, branch, loop_context.for_branch(branch.statements))
        for branch in sequence.branches
    )


def _has_backward_pair(sequence: SequenceNode, loop_context: LoopContext) -> bool:
    """Whether some pair leads from a later branch to an earlier one."""
    branches = enumerate(sequence.branches)
    group = {name: place for place, branch in branches for name in branch.statements}
    ends = (pair.dependence for pair in loop_context.pairs)
    return any(group[end.source] > group[end.sink] for end in ends)


def _sink_into_branch(band: Band, branch: Branch, loop_context: LoopContext) -> SunkBranch:
    """Return a branch with the points of the band above moved into it."""
    statements = branch.statements
    points = tuple(restrict_member(member, band.statements, statements) for member in band.members)
    match branch.child:
        case Band(_, members, child) if all(
            loop_context.allows(member.rows, statements) for member in members
        ):
            joined = loop_context.with_coincidence((*points, *members), statements)
            return SunkBranch(Band(statements, joined, child), len(members))
        case child:
            alone = loop_context.with_coincidence(points, statements)
            return SunkBranch(Band(statements, alone, child), 0)


@dataclass(frozen=True)
class InwardInterchange:
    """Members at ``moved_positions`` run in ``inner_band``; the others are ``staying_members``.

    ``loop_context`` is what surrounds the band inside: the members that stay.
    """

    moved_positions: tuple[int, ...]
    staying_members: tuple[BandMember, ...]
    inner_band: Band
    loop_context: LoopContext


def interchange_inward(band: Band, loop_context: LoopContext) -> InwardInterchange | None:
    """Return the band below joined by the coincident members of this one.

    None where there is nothing to move, or nothing to move it through.
    """
    if not isinstance(band.child, Band):
        return None
    child = band.child
    return loop_context.memo.get_or_compute(
        ("through", band, loop_context), lambda: _interchanged(band, child, loop_context)
    )


def _interchanged(band: Band, child: Band, loop_context: LoopContext) -> InwardInterchange | None:
    statements = band.statements
    moving = tuple(place for place, member in enumerate(band.members) if member.coincident)
    staying = tuple(member for member in band.members if not member.coincident)
    if not moving or not staying:
        return None
    below = loop_context.inside_members(staying, statements)
    members = (*(band.members[place] for place in moving), *child.members)
    inside = Band(statements, below.with_coincidence(members, statements), child.child)
    return InwardInterchange(moving, staying, inside, below)


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
