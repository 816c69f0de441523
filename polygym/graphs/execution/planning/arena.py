"""A memory plan: intermediate results one after the other in the same memory.

Each block is needed from one step to another. The largest are placed first, each into the smallest
gap that is large enough among those that are needed at the same time. No two blocks of which one
step needs both overlap.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from polygym.pickling import pickle_by_name

ALIGNMENT = 64
"""Blocks begin at multiples of so many bytes, a line of a cache."""


@dataclass(frozen=True, slots=True)
class ArenaBlock:
    """So many bytes, needed from the first to the last step, both included."""

    bytes: int
    first_step: int
    last_step: int


@pickle_by_name
@dataclass(frozen=True, slots=True)
class ArenaPlan:
    """Where each block begins, how much memory that takes, and how much it would by themselves."""

    offsets: tuple[int, ...]
    bytes: int
    bytes_without_reuse: int


def plan_arena(blocks: Sequence[ArenaBlock]) -> ArenaPlan:
    """Return a place for each block.

    >>> plan_arena([ArenaBlock(64, 0, 1), ArenaBlock(64, 1, 2), ArenaBlock(64, 2, 3)]).offsets
    (0, 64, 0)
    """
    offsets = [0] * len(blocks)
    placed: list[int] = []
    peak = 0
    order = sorted(
        range(len(blocks)),
        key=lambda index: (-blocks[index].bytes, blocks[index].first_step, index),
    )
    for number in order:
        block = blocks[number]
        size = _rounded(block.bytes)
        beside = sorted(
            (offsets[other], offsets[other] + _rounded(blocks[other].bytes))
            for other in placed
            if blocks[other].first_step <= block.last_step
            and block.first_step <= blocks[other].last_step
        )
        best, best_gap = None, 0
        end = 0
        for start, stop in beside:
            gap = start - end
            if gap >= size and (best is None or gap < best_gap):
                best, best_gap = end, gap
            end = max(end, stop)
        offsets[number] = end if best is None else best
        peak = max(peak, offsets[number] + size)
        placed.append(number)
    return ArenaPlan(
        tuple(offsets), peak, sum(_rounded(arena_block.bytes) for arena_block in blocks)
    )


def _rounded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
