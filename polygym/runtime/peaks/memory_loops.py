"""Loops that move bytes from a level of the memory, to it, or both.

Each thread goes over a piece of its own, again and again, so that after the first time it is in
that level: in a cache when the piece is smaller than it and larger than the one before, in main
memory when all pieces together are four times as large as the last cache. It reads (and adds up),
writes, reads and writes, or writes past the caches. Of all of these the one that moves most bytes
a second says what the level can do.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from polygym.mapping.machine import this_machine
from polygym.runtime.peaks.loop_code import compile_loop, counted_loop

_BYTES_PER_THREAD = 48 << 20  # that a thread moves in caches, about
_MEMORY = "memory"
_CACHE = re.compile(r"L(\d) (\w+) (\d+)K")

# Where the system does not describe its caches: all that fits into the smallest of any machine.
_DEFAULT_PIECE = 16 << 10
_MIN_MEMORY_PIECE = 64 << 20
_VECTORS = 8


class MemoryAccessKind(Enum):
    """What a loop does to its pieces."""

    READ = "read"
    WRITE = "write"
    COPY = "copy"
    NON_TEMPORAL_WRITE = "write past the caches"


@dataclass(frozen=True, slots=True)
class MemoryLevel:
    """A level, how much it holds for all threads (0: everything), and how much each goes over."""

    name: str
    size: int
    bytes_per_thread: int

    @property
    def sweeps(self) -> int:
        """How often a thread goes over its piece."""
        return max(1, _BYTES_PER_THREAD // self.bytes_per_thread) if self.size else 1


@dataclass(frozen=True, slots=True)
class MemoryLoop:
    """A loop over pieces of a level."""

    level: MemoryLevel
    kind: MemoryAccessKind

    @property
    def bytes(self) -> int:
        """How many bytes a thread moves."""
        return self.level.sweeps * self.level.bytes_per_thread


def memory_levels(caches: Sequence[str], threads: int, memory: int) -> tuple[MemoryLevel, ...]:
    """Return the levels of a machine, from the cores on; ``memory`` is what may be taken of it.

    Caches are as the machine's fingerprint has them. The last one is shared, others are of a core.

    >>> caches = ("L1 data 32K", "L2 unified 1024K", "L3 unified 32768K")
    >>> for level in memory_levels(caches, 2, 2**30):
    ...     print(level)
    MemoryLevel(name='L1', size=65536, bytes_per_thread=16384)
    MemoryLevel(name='L2', size=2097152, bytes_per_thread=524288)
    MemoryLevel(name='L3', size=33554432, bytes_per_thread=8388608)
    MemoryLevel(name='memory', size=0, bytes_per_thread=67108864)
    """
    matches = [match for text in caches if (match := _CACHE.fullmatch(text))]
    known = [
        (int(match_[1]), int(match_[3]) << 10) for match_ in matches if match_[2] != "instruction"
    ]
    levels = []
    for number, size in known:
        shared = number == known[-1][0] and number > 2
        piece = size // (2 * threads if shared else 2)
        levels.append(
            MemoryLevel(f"L{number}", size if shared else size * threads, _whole_vectors(piece))
        )
    largest = max((level.size for level in levels), default=_MIN_MEMORY_PIECE)
    wanted = max(4 * largest, _MIN_MEMORY_PIECE)
    if not levels:
        levels = [MemoryLevel("cache", _DEFAULT_PIECE * threads, _DEFAULT_PIECE)]
    levels.append(MemoryLevel(_MEMORY, 0, _whole_vectors(min(wanted, memory) // threads)))
    return tuple(levels)


def _whole_vectors(size: int) -> int:
    """Return a size that loops of any vectors end at."""
    step = 2 * _VECTORS * 64
    return max(step, size // step * step)


def memory_loops_for(levels: Sequence[MemoryLevel]) -> Iterator[MemoryLoop]:
    """Yield all loops."""
    for level in levels:
        yield from (
            MemoryLoop(level, way)
            for way in (MemoryAccessKind.READ, MemoryAccessKind.WRITE, MemoryAccessKind.COPY)
        )
        if not level.size:
            yield MemoryLoop(level, MemoryAccessKind.NON_TEMPORAL_WRITE)


def memory_loop_code(move: MemoryLoop, threads: int) -> bytes:
    """Return the object code of a loop, over one buffer to read from and one to write to."""
    lanes = this_machine().vector_bits // 64
    kind = f"<{lanes} x i64>"
    # A copy reads half of what it moves, and writes the other half.
    piece = move.level.bytes_per_thread // (2 if move.kind is MemoryAccessKind.COPY else 1)
    stride = _VECTORS * lanes * 8
    before = [
        f"  %begin = mul i64 %number, {move.level.bytes_per_thread}",
        "  %read = getelementptr i8, ptr %from, i64 %begin",
        "  %write = getelementptr i8, ptr %to, i64 %begin",
        f"  %start = load {kind}, ptr %ones, align 8",
    ]
    body = [
        line for n in range(_VECTORS) for line in _vector_code(move.kind, kind, n, n * lanes * 8)
    ]
    body += [
        f"  %after = add i64 %offset, {stride}",
        f"  %over = icmp sge i64 %after, {piece}",
        "  %offset.next = select i1 %over, i64 0, i64 %after",
    ]
    carried = [(kind, f"%value{number}", "%start") for number in range(_VECTORS)]
    carried.append(("i64", "%offset", "0"))
    turns = move.level.sweeps * (piece // stride)
    text = [counted_loop(turns, "\n".join(before), carried, "\n".join(body))]
    for number in range(_VECTORS):  # so that nothing is left out
        text.append(f"  store volatile {kind} %value{number}.next, ptr %ones, align 8")
    text.append("  ret void")
    return compile_loop(
        "\n".join(text), threads, buffers=("from", "to"), declarations="!0 = !{i32 1}"
    )


def _vector_code(way: MemoryAccessKind, kind: str, number: int, at: int) -> list[str]:
    """Return what one round does with one vector."""
    value = f"%value{number}"
    lines = [f"  {value}.at = add i64 %offset, {at}"]
    if way in (MemoryAccessKind.READ, MemoryAccessKind.COPY):
        lines.append(f"  {value}.from = getelementptr i8, ptr %read, i64 {value}.at")
        lines.append(f"  {value}.loaded = load {kind}, ptr {value}.from, align 8")
        lines.append(f"  {value}.next = add {kind} {value}, {value}.loaded")
    else:
        lines.append(f"  {value}.next = add {kind} {value}, %start")
    if way is not MemoryAccessKind.READ:
        how = (
            "align 64, !nontemporal !0" if way is MemoryAccessKind.NON_TEMPORAL_WRITE else "align 8"
        )
        lines.append(f"  {value}.to = getelementptr i8, ptr %write, i64 {value}.at")
        lines.append(f"  store {kind} {value}.next, ptr {value}.to, {how}")
    return lines


def fill_buffers_code(size: int) -> str:
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
    return counted_loop(size // 64, begin, [("i64", "%offset", "0")], body)
