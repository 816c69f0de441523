"""What is done to a schedule for the machine's sake: the options between a schedule and its code.

A schedule fixes the order of the instances; a mapping decides how the loops that realise it use
the machine. The one mapping there is today, :data:`SEQUENTIAL`, leaves the tree as the schedule
says and the vectorising to LLVM. Transformations of the tree are pure functions ``(Tree, Mapping)
-> Tree`` and belong behind :func:`apply_mapping`, where bands know which members are permutable and
which are coincident (see :mod:`polygym.codegen.tree`).
"""

from __future__ import annotations

from dataclasses import dataclass

from polygym.codegen.tree import Tree


@dataclass(frozen=True, slots=True)
class Mapping:
    """How loops are mapped to the machine: today, one after the other."""


SEQUENTIAL = Mapping()


def apply_mapping(tree: Tree, mapping: Mapping) -> Tree:
    """Return the tree of loops to generate code for; sequential code keeps the schedule's own."""
    del mapping
    return tree
