"""Roles of loops on a device: what counts blocks, what counts threads, what runs in order.

A role belongs to a member of a band, hence to every loop that isl makes of it. It is known by a
statement and the number of loops around the member (:mod:`polygym.codegen.loopir.names`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from polygym.codegen.loopir import ir
from polygym.codegen.loopir.names import counter_depth


@dataclass(frozen=True, slots=True)
class BlockLoop:
    """Iterations are shared out among blocks, along this coordinate of the grid."""

    coordinate: int


@dataclass(frozen=True, slots=True)
class ThreadLoop:
    """Iterations are shared out among so many threads of a block, along x, y or z (0, 1, 2)."""

    axis: int
    threads: int


@dataclass(frozen=True, slots=True)
class SumLoop:
    """Terms of a sum are shared out among the threads of a block along x, or of several blocks."""

    threads: int
    blocks: int = 1


LoopRole: TypeAlias = BlockLoop | ThreadLoop | SumLoop


@dataclass(frozen=True)
class Roles:
    """The roles by statement and number of loops around; what is missing runs in order."""

    of_member: Mapping[tuple[str, int], LoopRole]

    def of(self, loop: ir.Loop) -> LoopRole | None:
        """Return the role of a loop."""
        instance = next(ir.instances_in(loop.body), None)
        if instance is None:
            return None
        return self.of_member.get((instance.statement, counter_depth(loop.variable)))

    def block_coordinates(self, node: ir.Node) -> frozenset[int]:
        """Return the coordinates of the grid that loops in a node are shared out along."""
        roles = (self.of(loop) for loop in ir.loops_in(node))
        return frozenset(role.coordinate for role in roles if isinstance(role, BlockLoop))

    def runs_outside(self, node: ir.Node, coordinate: int) -> bool:
        """Whether some instance is in no loop that is shared out along a coordinate."""
        if isinstance(node, ir.Instance):
            return True
        role = self.of(node) if isinstance(node, ir.Loop) else None
        if isinstance(role, BlockLoop) and role.coordinate == coordinate:
            return False
        return any(self.runs_outside(child, coordinate) for child in ir.children_of(node))

    def thread_axes(self, node: ir.Node) -> dict[int, int]:
        """Return the axes that loops in a node are shared out along, with the threads of each."""
        result: dict[int, int] = {}
        for loop in ir.loops_in(node):
            role = self.of(loop)
            if isinstance(role, SumLoop):
                result[0] = max(role.threads, result.get(0, 1))
            if isinstance(role, ThreadLoop):
                result[role.axis] = max(role.threads, result.get(role.axis, 1))
        return result
