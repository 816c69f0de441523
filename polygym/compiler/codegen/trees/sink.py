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
"""

from __future__ import annotations

from dataclasses import dataclass

from polygym.compiler.codegen.trees.pairs import weakly_ordered
from polygym.compiler.codegen.trees.surroundings import Surroundings
from polygym.compiler.codegen.trees.tree import Band, Branch, Sequence, restricted


@dataclass(frozen=True)
class Sunk:
    """The band of one branch with the points of the band above; ``own`` members were its own."""

    band: Band
    own: int


def sink(band: Band, around: Surroundings) -> tuple[Sunk, ...] | None:
    """Return the bands of the branches after sinking, or None where that is not legal."""
    if not isinstance(band.child, Sequence):
        return None
    sequence = band.child
    return around.memory.of(("sink", band, around), lambda: _sunk(band, sequence, around))


def _sunk(band: Band, sequence: Sequence, around: Surroundings) -> tuple[Sunk, ...] | None:
    if _leads_back(sequence, around):
        return None
    return tuple(
        _branch(band, branch, around.within(branch.statements)) for branch in sequence.branches
    )


def _leads_back(sequence: Sequence, around: Surroundings) -> bool:
    """Whether some pair leads from a later branch to an earlier one."""
    group = {
        name: place for place, branch in enumerate(sequence.branches) for name in branch.statements
    }
    return any(group[pair.dependence.source] > group[pair.dependence.sink] for pair in around.pairs)


def _branch(band: Band, branch: Branch, around: Surroundings) -> Sunk:
    """Return a branch with the points of the band above moved into it."""
    statements = branch.statements
    points = tuple(restricted(member, band.statements, statements) for member in band.members)
    match branch.child:
        case Band(_, members, child) if all(
            weakly_ordered(around.pairs, statements, member.rows, around.parameters)
            for member in members
        ):
            joined = around.reviewed((*points, *members), statements)
            return Sunk(Band(statements, joined, child), len(members))
        case child:
            return Sunk(Band(statements, around.reviewed(points, statements), child), 0)
