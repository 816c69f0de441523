"""A memory plan: intermediate results one after the other in the same memory.

Each block is needed from one step to another. The largest are placed first, each into the smallest
gap that is large enough among those that are needed at the same time. No two blocks of which one
step needs both overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polygym.pickles import pickled_by_name

__all__ = ["ALIGNMENT", "Block", "Plan", "planned"]

ALIGNMENT = 64
"""Blocks begin at multiples of so many bytes, a line of a cache."""


@dataclass(frozen=True, slots=True)
class Block:
    """So many bytes, needed from the first to the last step, both included."""

    bytes: int
    first: int
    last: int


@pickled_by_name
@dataclass(frozen=True, slots=True)
class Plan:
    """Where each block begins, how much memory that takes, and how much it would by themselves."""

    offsets: tuple[int, ...]
    bytes: int
    bytes_without: int


def planned(blocks: Sequence[Block]) -> Plan:
    """Return a place for each block.

    >>> planned([Block(64, 0, 1), Block(64, 1, 2), Block(64, 2, 3)]).offsets
    (0, 64, 0)
    """
    offsets = [0] * len(blocks)
    placed: list[int] = []
    peak = 0
    order = sorted(range(len(blocks)), key=lambda one: (-blocks[one].bytes, blocks[one].first, one))
    for number in order:
        block = blocks[number]
        size = _rounded(block.bytes)
        beside = sorted(
            (offsets[other], offsets[other] + _rounded(blocks[other].bytes))
            for other in placed
            if blocks[other].first <= block.last and block.first <= blocks[other].last
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
    return Plan(tuple(offsets), peak, sum(_rounded(one.bytes) for one in blocks))


def _rounded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
