"""Mapped trees as text, for goldens, and what their members have been given to do."""

from collections.abc import Iterator
from typing import assert_never

from polygym.compiler.codegen.loop_annotation import (
    Hold,
    Jam,
    LoopAnnotation,
    Parallel,
    Sequential,
    Vector,
)
from polygym.compiler.codegen.trees.tree import Band, Leaf, Member, Sequence, Tree
from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.schedule import Schedule


def tree_text(tree: Tree, scop: Scop, schedule: Schedule) -> str:
    """Return a tree as indented text, a line a member."""
    return "\n".join(_lines(tree, scop, schedule, "")) + "\n"


def _lines(tree: Tree, scop: Scop, schedule: Schedule, indent: str) -> Iterator[str]:
    match tree:
        case Leaf():
            return
        case Sequence(branches):
            for branch in branches:
                yield f"{indent}- {', '.join(branch.statements)}"
                yield from _lines(branch.child, scop, schedule, f"{indent}  ")
        case Band(statements, members, child):
            for member in members:
                values = "; ".join(
                    f"{name}: {_value(member, place, scop.statement(name).iterators, schedule)}"
                    for place, name in enumerate(statements)
                )
                yield f"{indent}{values}{annotation_text(member.annotation)}"
            yield from _lines(child, scop, schedule, f"{indent}  ")


def _value(member: Member, place: int, iterators: tuple[str, ...], schedule: Schedule) -> str:
    return " + ".join(
        text if part.size == 1 else f"[({text})/{part.size}]"
        for part in member.parts
        for text in (part.rows[place].text(iterators, schedule.parameters),)
    )


def annotation_text(annotation: LoopAnnotation) -> str:
    match annotation:
        case Sequential():
            return ""
        case Parallel(dynamic):
            return f"   parallel, {'dynamic' if dynamic else 'static'}"
        case Jam(copies):
            return f"   jam {copies}"
        case Vector(bits, count):
            return f"   {count} vectors of {bits} bits"
        case Hold(statements):
            return f"   holds {', '.join(sorted(statements))}"
        case _:
            assert_never(annotation)


def members_of(tree: Tree) -> Iterator[Member]:
    """Yield all members of a tree."""
    match tree:
        case Leaf():
            return
        case Sequence(branches):
            for branch in branches:
                yield from members_of(branch.child)
        case Band(_, members, child):
            yield from members
            yield from members_of(child)
