"""Sinking some loops of a band where not all of them may: the outer ones stay above the sequence.

::

    Band(k, j) → Sequence{ S: Leaf, T: Band(i), U: Band(i) }
        →   Band(⌊k/64⌋, ⌊j/64⌋) → Band(k) → Sequence{ S: Band(j), T: Band(j, i), U: Band(j, i) }

Where everything waits for what an earlier k has left, nothing sinks as a whole: U of one k leads
back to T of the next. Once k stands still that is ordered, and only pairs within one k count. So
for a growing number of members that stay, the others sink, if they may
(:mod:`polygym.compiler.codegen.trees.sink`). As tiles go around all members, U finds in a cache
what T has read, and threads meet once for every diagonal of tiles, not once for every k.

Example, Gram and Schmidt's method, column k normalised by S, r = Σ_i q[i][k] · a[i][j] by T and
a[i][j] -= q[i][k] · r by U. Below the sequence stand loops over i alone, which go down columns;
with j among them T and U run along rows, in vectors.

Side conditions: those of tiles and of sinking. It is done where statements run in vectors by it
that would not, and all that would still do; and where the mapping asks for no order of these loops.
"""

from __future__ import annotations

from dataclasses import dataclass

from polygym.compiler.codegen.trees.points import arrangement
from polygym.compiler.codegen.trees.setting import Setting
from polygym.compiler.codegen.trees.sink import sink
from polygym.compiler.codegen.trees.surroundings import Surroundings
from polygym.compiler.codegen.trees.tree import Band, Leaf, Sequence, Tree, is_last


@dataclass(frozen=True)
class PartlySunk:
    """The first ``staying`` members of a band stay, the others are those of the ``rest``.

    ``around`` is what surrounds that.
    """

    staying: int
    rest: Band
    around: Surroundings


def sink_partly(band: Band, around: Surroundings, setting: Setting) -> PartlySunk | None:
    """Return how some members of a band stay and the others sink; None where that is no gain."""
    if not isinstance(band.child, Sequence):
        return None
    return setting.remembered(
        "sink partly", band, around, lambda own: _sunk_partly(band, around, own)
    )


def _sunk_partly(band: Band, around: Surroundings, setting: Setting) -> PartlySunk | None:
    if not setting.has_vectors:
        return None
    if len(band.members) < 2 or setting.last(band.statements, band.members):
        return None
    inside = around.inside(band.members, band.statements)
    before = _in_vectors(band.child, inside, setting)
    for staying in range(1, len(band.members)):
        outer, inner = band.members[:staying], band.members[staying:]
        below = around.inside(outer, band.statements)
        rest = Band(band.statements, below.reviewed(inner, band.statements), band.child)
        if sink(rest, below) is not None and _in_vectors(rest, below, setting) > before:
            return PartlySunk(staying, rest, below)
    return None


def _in_vectors(tree: Tree, around: Surroundings, setting: Setting) -> frozenset[str]:
    """Return the statements that would run in vectors, if everything sinks that may."""
    match tree:
        case Leaf():
            return frozenset()
        case Sequence(branches):
            parts = [
                _in_vectors(one.child, around.within(one.statements), setting) for one in branches
            ]
            return frozenset().union(*parts)
        case Band() if is_last(tree):
            groups = arrangement(tree, around, setting).groups
            names = [one.statements for one in groups if one.has_vectors]
            return frozenset().union(*names)
        case Band(statements, members, child):
            if (sunk := sink(tree, around)) is None:
                return _in_vectors(child, around.inside(members, statements), setting)
            found = [
                _in_vectors(one.band, around.within(one.band.statements), setting) for one in sunk
            ]
            return frozenset().union(*found)
