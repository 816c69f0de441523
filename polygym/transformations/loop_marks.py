"""Marks on loops, and the mapping that they are.

A step about the mapping marks loops by their names: a tile size, a number of iterations that run
together, the vector loop, the sharing of iterations among threads. A mapping states such options
for nests and by the positions of loops (:mod:`polygym.mapping.mapping`). :func:`mapping_of`
translates the marks of a tree, so a mark follows its loop through later steps. Example, a perfect
nest of L2 around L1 over S0 (after an interchange)::

    tile L1 8; vectorize L1     →     S0:tile=1x8 S0:order=2
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from polygym.mapping.knob_domains import MAX_LOOPS, WorkSharing
from polygym.mapping.mapping import Mapping, nests_of
from polygym.transformations.loop_tree import Loop, LoopTree


@dataclass(frozen=True, slots=True)
class LoopMarks:
    """The marks of one loop; None where it has none of a kind."""

    tile: int | None = None
    jam: int | None = None
    is_vector_loop: bool = False
    vector_bits: int | None = None
    sharing: WorkSharing | None = None


NO_MARKS = LoopMarks()
Marks = tuple[tuple[str, LoopMarks], ...]


def marks_of(marks: Marks, loop: str) -> LoopMarks:
    """Return the marks of a loop."""
    return dict(marks).get(loop, NO_MARKS)


def with_marks(marks: Marks, loop: str, **changes: Any) -> Marks:
    """Return marks with others for one loop."""
    others = [entry for entry in marks if entry[0] != loop]
    own = replace(marks_of(marks, loop), **changes)
    # Names differ, so that no marks are compared.
    return tuple(sorted([*others, (loop, own)] if own != NO_MARKS else others))


def without_in_nest(marks: Marks, nest: Loop, tree: LoopTree, **changes: Any) -> Marks:
    """Return marks with changes for every marked loop of a nest."""
    for name, _ in marks:
        if name in tree.nodes and tree.nest_of(name).name == nest.name:
            marks = with_marks(marks, name, **changes)
    return marks


def mapping_of(
    tree: LoopTree, marks: Marks, base: Mapping, band_positions: dict[str, int]
) -> Mapping:
    """Return a mapping with the marks of a tree's loops; the rest is as ``base`` has it.

    ``band_positions`` has the position of each loop in its permutable band.
    """
    if not marks:
        return base
    known = dict(marks)
    entries = {statement: dict(own) for statement, own in base.nests}
    for nest in tree.nests:
        own = _nest_entries(nest, tree, known, band_positions)
        if own:
            # Of several values for one nest that of the last name counts.
            name = max(nest.statements)
            entries[name] = {**dict(base.for_nest(nest.statements)), **own}
    return replace(base, nests=nests_of(entries))


def _nest_entries(
    nest: Loop, tree: LoopTree, marks: dict[str, LoopMarks], band_positions: dict[str, int]
) -> dict[str, Any]:
    """Return the options of a nest, by name."""
    loops = [loop for loop in tree.loops if loop is nest or nest in tree.paths[loop.name]]
    marked = [(loop, marks[loop.name]) for loop in loops if loop.name in marks]
    if not marked:
        return {}
    own: dict[str, Any] = {}
    sizes: dict[int, int] = {}
    order: dict[int, int] = {}
    for loop, mark in marked:
        depth = len(tree.paths[loop.name])
        if mark.tile is not None:
            sizes[band_positions[loop.name]] = mark.tile
        if mark.jam is not None:
            own["unroll_jam"] = mark.jam
        if mark.jam is not None and mark.jam > 1:
            order[1] = depth + 1
            order.setdefault(0, depth + len(tree.chain(loop.name)))
        if mark.is_vector_loop:
            order[0] = depth + 1
        if mark.vector_bits is not None:
            own["vector_bits"] = mark.vector_bits
        if mark.sharing is not None:
            own["parallel"] = mark.sharing
    if sizes:
        pattern = tuple(sizes.get(place, 1) for place in range(max(sizes) + 1))
        own["tile"] = pattern if set(pattern) != {1} else ()
        if len(pattern) < MAX_LOOPS and own["tile"]:
            own["tile"] = (*pattern, 1)
    numbers = [order[place] for place in sorted(order, reverse=True)]
    if numbers:
        own["order"] = tuple(dict.fromkeys(numbers))
    return own
