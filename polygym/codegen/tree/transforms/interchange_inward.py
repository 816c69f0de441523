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

from polygym.codegen.tree.ir import Band, BandMember
from polygym.codegen.tree.loop_context import LoopContext


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
