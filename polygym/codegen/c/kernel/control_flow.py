"""Loops and joins of a function's blocks: dominators, post-dominators, back edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from polygym.codegen.c.kernel.values import BasicBlock, LiftedFunction


@dataclass(frozen=True)
class LoopBlocks:
    """A loop: its first block, the one that leads back there, all its blocks, where it ends."""

    header: BasicBlock
    latch: BasicBlock
    blocks: frozenset[BasicBlock]
    after: BasicBlock

    @property
    def is_tested_at_top(self) -> bool:
        """Whether the loop may run not at all."""
        return self.after in self.header.targets and self.header is not self.latch


@dataclass(frozen=True)
class ControlFlow:
    """The loops of a function by their headers, and where branches join, None at the end."""

    loops: Mapping[BasicBlock, LoopBlocks]
    joins: Mapping[BasicBlock, BasicBlock | None]
    predecessors: Mapping[BasicBlock, Sequence[BasicBlock]]


def control_flow(function: LiftedFunction) -> ControlFlow:
    """Return the loops and joins of a function, whose blocks stand in reverse postorder."""
    blocks = function.blocks
    predecessors: dict[BasicBlock, list[BasicBlock]] = {block: [] for block in blocks}
    for block in blocks:
        for target in block.targets:
            predecessors[target].append(block)
    loops = {}
    for block in blocks:
        latches = [source for source in predecessors[block] if source.number >= block.number]
        if latches:
            (latch,) = latches
            inside = _natural_loop(block, latch, predecessors)
            (after,) = {t for own in inside for t in own.targets if t not in inside}
            loops[block] = LoopBlocks(block, latch, frozenset(inside), after)
    return ControlFlow(loops, _joins(blocks), predecessors)


def _natural_loop(
    header: BasicBlock, latch: BasicBlock, predecessors: Mapping[BasicBlock, list[BasicBlock]]
) -> set[BasicBlock]:
    inside, left = {header}, [latch]
    while left:
        block = left.pop()
        if block not in inside:
            inside.add(block)
            left += predecessors[block]
    return inside


def _joins(blocks: Sequence[BasicBlock]) -> dict[BasicBlock, BasicBlock | None]:
    """Return the immediate post-dominators."""
    sets: dict[BasicBlock, set[BasicBlock]] = {block: set(blocks) for block in blocks}
    changed = True
    while changed:
        changed = False
        for block in reversed(blocks):
            later = [sets[target] for target in block.targets]
            new = {block} | (set.intersection(*later) if later else set())
            if new != sets[block]:
                sets[block], changed = new, True
    joins: dict[BasicBlock, BasicBlock | None] = {}
    for block in blocks:
        others = sets[block] - {block}
        # The nearest one is that which all others post-dominate.
        joins[block] = next((b for b in others if len(sets[b]) == len(others)), None)
    return joins


def can_reach(start: BasicBlock, goal: BasicBlock) -> bool:
    """Whether control may come from a block to another one."""
    seen, left = set(), [start]
    while left:
        block = left.pop()
        if block is goal:
            return True
        if block not in seen:
            seen.add(block)
            left += block.targets
    return False
