"""Loops that move bytes: from a level of the memory, to it, or both.

Each thread goes over a piece of its own, again and again, so that after the first time it is in
that level: in a cache when the piece is smaller than it and larger than the one before, in main
memory when all pieces together are four times as large as the last cache. It reads (and adds up),
writes, reads and writes, or writes past the caches. Of all of these the one that moves most bytes
a second says what the level can do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from polygym.compiler.codegen.common.machine import this_machine
from polygym.measure.machine.code import compiled, counted

_BYTES = 48 << 20  # that a thread moves in caches, about
_MEMORY = "memory"
_CACHE = re.compile(r"L(\d) (\w+) (\d+)K")

# Without a word of the system about caches, all that fits into the smallest of any machine.
_UNKNOWN = 16 << 10
_SMALLEST_MEMORY = 64 << 20
_VECTORS = 8


class Way(Enum):
    """What a loop does to its pieces."""

    READ = "read"
    WRITE = "write"
    COPY = "copy"
    PAST = "write past the caches"


@dataclass(frozen=True, slots=True)
class Piece:
    """A level, how much it holds for all threads (0: everything), and how much each goes over."""

    name: str
    size: int
    piece: int

    @property
    def sweeps(self) -> int:
        """How often a thread goes over its piece."""
        return max(1, _BYTES // self.piece) if self.size else 1


@dataclass(frozen=True, slots=True)
class Move:
    """A loop over pieces of a level."""

    level: Piece
    way: Way

    @property
    def bytes(self) -> int:
        """How many bytes a thread moves."""
        return self.level.sweeps * self.level.piece


def pieces(caches: Sequence[str], threads: int, memory: int) -> tuple[Piece, ...]:
    """Return the levels of a machine, from the cores on; ``memory`` is what may be taken of it.

    Caches are as the machine's fingerprint has them. The last one is shared, others are of a core.

    >>> for one in pieces(("L1 data 32K", "L2 unified 1024K", "L3 unified 32768K"), 2, 2**30):
    ...     print(one)
    Piece(name='L1', size=65536, piece=16384)
    Piece(name='L2', size=2097152, piece=524288)
    Piece(name='L3', size=33554432, piece=8388608)
    Piece(name='memory', size=0, piece=67108864)
    """
    found = [match for text in caches if (match := _CACHE.fullmatch(text))]
    known = [(int(one[1]), int(one[3]) << 10) for one in found if one[2] != "instruction"]
    levels = []
    for number, size in known:
        shared = number == known[-1][0] and number > 2
        piece = size // (2 * threads if shared else 2)
        levels.append(Piece(f"L{number}", size if shared else size * threads, _whole(piece)))
    largest = max((one.size for one in levels), default=_SMALLEST_MEMORY)
    wanted = max(4 * largest, _SMALLEST_MEMORY)
    if not levels:
        levels = [Piece("cache", _UNKNOWN * threads, _UNKNOWN)]
    levels.append(Piece(_MEMORY, 0, _whole(min(wanted, memory) // threads)))
    return tuple(levels)


def _whole(size: int) -> int:
    """Return a size that loops of any vectors end at."""
    step = 2 * _VECTORS * 64
    return max(step, size // step * step)


def moves(levels: Sequence[Piece]) -> Iterator[Move]:
    """Yield all loops."""
    for level in levels:
        yield from (Move(level, way) for way in (Way.READ, Way.WRITE, Way.COPY))
        if not level.size:
            yield Move(level, Way.PAST)


def code_of(move: Move, threads: int) -> bytes:
    """Return the object code of a loop, over one buffer to read from and one to write to."""
    lanes = this_machine().vector_bits // 64
    kind = f"<{lanes} x i64>"
    # A copy reads half of what it moves, and writes the other half.
    piece = move.level.piece // (2 if move.way is Way.COPY else 1)
    stride = _VECTORS * lanes * 8
    before = [
        f"  %begin = mul i64 %number, {move.level.piece}",
        "  %read = getelementptr i8, ptr %from, i64 %begin",
        "  %write = getelementptr i8, ptr %to, i64 %begin",
        f"  %start = load {kind}, ptr %ones, align 8",
    ]
    body = [line for n in range(_VECTORS) for line in _moved(move.way, kind, n, n * lanes * 8)]
    body += [
        f"  %after = add i64 %offset, {stride}",
        f"  %over = icmp sge i64 %after, {piece}",
        "  %offset.next = select i1 %over, i64 0, i64 %after",
    ]
    carried = [(kind, f"%value{number}", "%start") for number in range(_VECTORS)]
    carried.append(("i64", "%offset", "0"))
    turns = move.level.sweeps * (piece // stride)
    text = [counted(turns, "\n".join(before), carried, "\n".join(body))]
    for number in range(_VECTORS):  # so that nothing is left out
        text.append(f"  store volatile {kind} %value{number}.next, ptr %ones, align 8")
    text.append("  ret void")
    return compiled("\n".join(text), threads, buffers=("from", "to"), declarations="!0 = !{i32 1}")


def _moved(way: Way, kind: str, number: int, at: int) -> list[str]:
    """Return what one round does with one vector."""
    value = f"%value{number}"
    lines = [f"  {value}.at = add i64 %offset, {at}"]
    if way in (Way.READ, Way.COPY):
        lines.append(f"  {value}.from = getelementptr i8, ptr %read, i64 {value}.at")
        lines.append(f"  {value}.loaded = load {kind}, ptr {value}.from, align 8")
        lines.append(f"  {value}.next = add {kind} {value}, {value}.loaded")
    else:
        lines.append(f"  {value}.next = add {kind} {value}, %start")
    if way is not Way.READ:
        how = "align 64, !nontemporal !0" if way is Way.PAST else "align 8"
        lines.append(f"  {value}.to = getelementptr i8, ptr %write, i64 {value}.at")
        lines.append(f"  store {kind} {value}.next, ptr {value}.to, {how}")
    return lines


def filled(size: int) -> str:
    """Return a loop that writes to both buffers, so that their memory is there."""
    # A page is there when one number of it was written.
    begin = f"  %begin = mul i64 %number, {size}\n  %start = add i64 0, 1"
    body = (
        "  %place = add i64 %begin, %offset\n"
        "  %read = getelementptr i8, ptr %from, i64 %place\n"
        "  store i64 %turn, ptr %read\n"
        "  %write = getelementptr i8, ptr %to, i64 %place\n"
        "  store i64 %turn, ptr %write\n"
        "  %offset.next = add i64 %offset, 64"
    )
    return counted(size // 64, begin, [("i64", "%offset", "0")], body)
