"""Running through: the points of independent loops move inside loops that have to stay in order.

::

    Band(i: coincident, j: coincident, k) → Band(l)
        →   Band(⌊i/64⌋, ⌊j/64⌋) → Band(k) → Band(i, j, l)

This is a sum over two loops, k and l, which cannot be permuted: the order of its terms is kept.
Now i and j stand in one band with l, where one of them may run in vectors.

Side condition: none beyond the band's own. A coincident member has δ = 0 for every pair that no
loop around orders, so wherever it runs among the others, no pair is reversed.
"""

from __future__ import annotations

from dataclasses import dataclass

from polygym.compiler.codegen.trees.surroundings import Surroundings
from polygym.compiler.codegen.trees.tree import Band, Member


@dataclass(frozen=True)
class Through:
    """``moving`` are the positions of the members that run ``inside``; the others are ``staying``.

    ``around`` is what surrounds the band inside: the members that stay.
    """

    moving: tuple[int, ...]
    staying: tuple[Member, ...]
    inside: Band
    around: Surroundings


def run_through(band: Band, around: Surroundings) -> Through | None:
    """Return the band below joined by the coincident members of this one.

    None where there is nothing to move, or nothing to move it through.
    """
    if not isinstance(band.child, Band):
        return None
    child = band.child
    return around.memory.of(("through", band, around), lambda: _through(band, child, around))


def _through(band: Band, child: Band, around: Surroundings) -> Through | None:
    statements = band.statements
    moving = tuple(place for place, member in enumerate(band.members) if member.coincident)
    staying = tuple(member for member in band.members if not member.coincident)
    if not moving or not staying:
        return None
    below = around.inside(staying, statements)
    members = (*(band.members[place] for place in moving), *child.members)
    inside = Band(statements, below.reviewed(members, statements), child.child)
    return Through(moving, staying, inside, below)
