"""Trees as text, for people: a line a member, branches of a sequence behind dashes.

Example, the product of matrices under ``tile=32 threads=2``::

    S0: [(i)/32]; S1: [(i)/32]   parallel, dynamic
      - S0
        S0: [(j)/32]   coincident
          S0: i   jam 4
          S0: j   3 vectors of 256 bits

``[(i)/32]`` is the number of a tile, ⌊i/32⌋. Members of one band stand below each other; what is
below the band is indented. A coincident member has independent iterations, as every one that runs
in threads, in copies or in vectors has.
"""

from collections.abc import Iterator

from polygym.codegen.common.loop_annotation import SEQUENTIAL_LOOP, annotation_text
from polygym.codegen.tree.ir import Band, BandMember, Branch, Leaf, SequenceNode, Tree
from polygym.ir.scop import Scop
from polygym.poly.schedule import Schedule


def print_tree(tree: Tree, scop: Scop, schedule: Schedule) -> str:
    """Return a tree as indented text; without any loop it is empty."""
    return "".join(f"{line}\n" for line in _lines(tree, scop, schedule, ""))


def _lines(tree: Tree, scop: Scop, schedule: Schedule, indent: str) -> Iterator[str]:
    match tree:
        case Leaf():
            return
        case SequenceNode(branches):
            for branch in branches:
                yield f"{indent}- {', '.join(branch.statements)}{_predicate_text(branch)}"
                yield from _lines(branch.child, scop, schedule, f"{indent}  ")
        case Band(statements, members, child):
            for member in members:
                values = "; ".join(
                    f"{name}: "
                    f"{_member_text(member, place, scop.statement(name).iterators, schedule)}"
                    for place, name in enumerate(statements)
                )
                yield f"{indent}{values}{_annotation_suffix(member)}"
            yield from _lines(child, scop, schedule, f"{indent}  ")


def _member_text(
    member: BandMember, place: int, iterators: tuple[str, ...], schedule: Schedule
) -> str:
    """Return what a member counts for one of the statements."""
    return " + ".join(
        text if part.size == 1 else f"[({text})/{part.size}]"
        for part in member.terms
        for text in (part.rows[place].text(iterators, schedule.parameters),)
    )


def _predicate_text(branch: Branch) -> str:
    """Return for which tiles a branch is, ``t0`` being the number of the first loop over tiles."""
    if branch.predicate is None:
        return ""
    names = {part: f"t{place}" for place, part in enumerate(branch.predicate.tile_coordinates)}
    return f"   where {branch.predicate.text(names.__getitem__)}"


def _annotation_suffix(member: BandMember) -> str:
    if member.annotation != SEQUENTIAL_LOOP:
        return f"   {annotation_text(member.annotation)}"
    return "   coincident" if member.coincident else ""
