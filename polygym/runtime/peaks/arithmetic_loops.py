"""Loops of arithmetic: throughput and latency of operations.

*Throughput*: twelve vectors in registers, each of which gets one operation a round that does not
wait for the others: enough for two units that take six cycles each. *Latency*: one number, eight
operations a round, each on the result of the one before.

Operands come from memory, where there are ones, so that LLVM knows nothing of them and numbers stay
what they are. Integers are added to and then flipped: LLVM would make one multiplication of many
additions, but not of these.

Loops that move bytes from a level of the memory, to it, or both.

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

from polygym.ir.types import ScalarType
from polygym.mapping.machine import this_machine
from polygym.runtime.peaks.loop_code import THREAD_BYTES, compile_loop, counted_loop

_VECTORS = 12
_CHAIN_LENGTH = 8
_ROUNDS = 150_000
_SLOW_ROUNDS = 15_000  # of divisions and roots

FLOATING = (ScalarType.DOUBLE, ScalarType.FLOAT)
INTEGERS = (ScalarType.BYTE, ScalarType.SHORT, ScalarType.INT, ScalarType.LONG)

_LLVM = {
    ScalarType.DOUBLE: "double",
    ScalarType.FLOAT: "float",
    ScalarType.BYTE: "i8",
    ScalarType.SHORT: "i16",
    ScalarType.INT: "i32",
    ScalarType.LONG: "i64",
}

# Where the ones of a type stand in a thread's memory; results stand at its beginning.
_BYTES_PER_TYPE = 256
OPERAND_OFFSETS = {
    scalar: 512 + _BYTES_PER_TYPE * number for number, scalar in enumerate((*FLOATING, *INTEGERS))
}


class ArithmeticLoop(Enum):
    """What a loop does to each of its numbers."""

    ADD = "add"
    MULTIPLY = "multiply"
    MULTIPLY_ADD = "multiply-add"
    ADD_PRODUCT = "multiply-add into a sum"
    BOTH = "addition and multiply-add"
    MINIMUM = "minimum"
    DIVIDE = "divide"
    ROOT = "root"
    ADD_AND_FLIP = "add and flip"


_THROUGHPUT_LOOPS = tuple(
    loop
    for loop in ArithmeticLoop
    if loop not in (ArithmeticLoop.ADD_PRODUCT, ArithmeticLoop.ADD_AND_FLIP)
)
_LATENCY_LOOPS = tuple(
    loop
    for loop in ArithmeticLoop
    if loop not in (ArithmeticLoop.BOTH, ArithmeticLoop.MINIMUM, ArithmeticLoop.ADD_AND_FLIP)
)
_SLOW_LOOPS = (ArithmeticLoop.DIVIDE, ArithmeticLoop.ROOT)


@dataclass(frozen=True, slots=True)
class ArithmeticStream:
    """A loop on numbers of a type, in lanes of vectors or one by one, or as a chain.

    A multiply-add counts as one here.
    """

    loop: ArithmeticLoop
    type: ScalarType
    lanes: int
    is_chained: bool = False

    @property
    def rounds(self) -> int:
        """How often a thread goes around."""
        return _SLOW_ROUNDS if self.loop in _SLOW_LOOPS else _ROUNDS

    @property
    def operations(self) -> int:
        """How many operations a thread carries out."""
        each = 2 if self.loop is ArithmeticLoop.ADD_AND_FLIP else 1
        return self.rounds * each * (_CHAIN_LENGTH if self.is_chained else _VECTORS * self.lanes)


def arithmetic_streams() -> Iterator[ArithmeticStream]:
    """Yield all loops."""
    for scalar in FLOATING:
        lanes = this_machine().vector_bits // scalar.bits
        yield from (ArithmeticStream(loop, scalar, lanes) for loop in _THROUGHPUT_LOOPS)
        yield from (ArithmeticStream(loop, scalar, 1, is_chained=True) for loop in _LATENCY_LOOPS)
    for scalar in INTEGERS:
        lanes = this_machine().vector_bits // scalar.bits
        yield ArithmeticStream(ArithmeticLoop.ADD_AND_FLIP, scalar, lanes)
        yield ArithmeticStream(ArithmeticLoop.DIVIDE, scalar, 1)
    yield ArithmeticStream(ArithmeticLoop.ADD_AND_FLIP, ScalarType.LONG, 1)


def arithmetic_code(stream: ArithmeticStream, threads: int) -> bytes:
    """Return the object code of a loop."""
    element = _LLVM[stream.type]
    kind = element if stream.lanes == 1 else f"<{stream.lanes} x {element}>"
    place = OPERAND_OFFSETS[stream.type]
    before = [f"  %one.at = getelementptr i8, ptr %ones, i64 {place}"]
    before.append(f"  %one = load {kind}, ptr %one.at, align 8")
    count = 1 if stream.is_chained else _VECTORS
    values = []
    for number in range(count):
        at = place + 8 * (number + 1)  # of one place LLVM would make one value
        before.append(f"  %begin{number}.at = getelementptr i8, ptr %ones, i64 {at}")
        before.append(f"  %begin{number} = load {kind}, ptr %begin{number}.at, align 8")
        values.append((kind, f"%value{number}", f"%begin{number}"))
    body = "\n".join(_steps(stream, kind, number) for number in range(count))
    text = counted_loop(stream.rounds, "\n".join(before), values, body)
    sums = [text]
    for number in range(count):
        sums.append(f"  %result{number} = getelementptr i8, ptr %ones, i64 0")
        sums.append(f"  store volatile {kind} %value{number}.next, ptr %result{number}, align 8")
    return compile_loop(
        "\n".join([*sums, "  ret void"]), threads, declarations="\n".join(_declarations(kind))
    )


def _declarations(kind: str) -> Iterator[str]:
    if kind.endswith(("double", "float", "double>", "float>")):
        name = _intrinsic_suffix(kind)
        yield f"declare {kind} @llvm.fma.{name}({kind}, {kind}, {kind})"
        yield f"declare {kind} @llvm.sqrt.{name}({kind})"


def _intrinsic_suffix(kind: str) -> str:
    """Return how LLVM names a type in intrinsics.

    >>> _intrinsic_suffix("<8 x double>"), _intrinsic_suffix("float")
    ('v8f64', 'f32')
    """
    short = "f64" if "double" in kind else "f32"
    return f"v{kind[1:].split()[0]}{short}" if kind.startswith("<") else short


def _steps(stream: ArithmeticStream, kind: str, number: int) -> str:
    """Return what one round does to one value."""
    steps = _CHAIN_LENGTH if stream.is_chained else 1
    lines, value = [], f"%value{number}"
    for step in range(steps):
        result = f"%value{number}.next" if step == steps - 1 else f"%value{number}.{step}"
        lines += _operation(stream, kind, value, result, number)
        value = result
    return "\n".join(lines)


_FMA = "{result} = call {kind} @llvm.fma.{suffix}({kind} "
_OPERATIONS = {
    ArithmeticLoop.ADD: "{result} = fadd {kind} {value}, %one",
    ArithmeticLoop.MULTIPLY: "{result} = fmul {kind} {value}, %one",
    ArithmeticLoop.MULTIPLY_ADD: f"{_FMA}{{value}}, {{kind}} %one, {{kind}} %one)",
    ArithmeticLoop.ADD_PRODUCT: f"{_FMA}%one, {{kind}} %one, {{kind}} {{value}})",
    ArithmeticLoop.MINIMUM: "{result}.added = fneg {kind} {value}\n"
    "{result}.less = fcmp olt {kind} {result}.added, {begin}\n"
    "{result} = select {bits} {result}.less, {kind} {result}.added, {kind} {begin}",
    ArithmeticLoop.DIVIDE: "{result} = {divide} {kind} {value}, %one",
    ArithmeticLoop.ROOT: "{result} = call {kind} @llvm.sqrt.{suffix}({kind} {value})",
    ArithmeticLoop.ADD_AND_FLIP: "{result}.sum = add {kind} {value}, %one\n"
    "{result} = xor {kind} {result}.sum, {begin}",
}


def _operation(
    stream: ArithmeticStream, kind: str, value: str, result: str, number: int
) -> list[str]:
    loop, is_floating = stream.loop, stream.type.is_floating
    if loop is ArithmeticLoop.BOTH:
        loop = ArithmeticLoop.ADD if number % 2 else ArithmeticLoop.MULTIPLY_ADD
    text = _OPERATIONS[loop].format(
        result=result,
        kind=kind,
        value=value,
        begin=f"%begin{number}",
        bits="i1" if stream.lanes == 1 else f"<{stream.lanes} x i1>",
        divide="fdiv" if is_floating else "sdiv",
        suffix=_intrinsic_suffix(kind) if is_floating else "",
    )
    return [f"  {line}" for line in text.split("\n")]


def fill_ones_code() -> str:
    """Return a loop that writes the ones of every type into a thread's memory."""
    lines = []
    for scalar, place in OPERAND_OFFSETS.items():
        value = "1.0" if scalar.is_floating else "1"
        for number in range(_BYTES_PER_TYPE // scalar.size):
            name = f"%{_LLVM[scalar]}.{number}"
            at = place + number * scalar.size
            lines.append(f"  {name} = getelementptr i8, ptr %ones, i64 {at}")
            lines.append(f"  store {_LLVM[scalar]} {value}, ptr {name}")
    assert max(OPERAND_OFFSETS.values()) + _BYTES_PER_TYPE <= THREAD_BYTES
    return "\n".join([*lines, "  ret void"])


_BYTES_PER_THREAD = 48 << 20  # that a thread moves in caches, about
_MEMORY = "memory"
_CACHE = re.compile(r"L(\d) (\w+) (\d+)K")

# Where the system does not describe its caches: all that fits into the smallest of any machine.
_DEFAULT_PIECE = 16 << 10
_MIN_MEMORY_PIECE = 64 << 20
_STREAMS = 8


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
    step = 2 * _STREAMS * 64
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
    stride = _STREAMS * lanes * 8
    before = [
        f"  %begin = mul i64 %number, {move.level.bytes_per_thread}",
        "  %read = getelementptr i8, ptr %from, i64 %begin",
        "  %write = getelementptr i8, ptr %to, i64 %begin",
        f"  %start = load {kind}, ptr %ones, align 8",
    ]
    body = [
        line for n in range(_STREAMS) for line in _vector_code(move.kind, kind, n, n * lanes * 8)
    ]
    body += [
        f"  %after = add i64 %offset, {stride}",
        f"  %over = icmp sge i64 %after, {piece}",
        "  %offset.next = select i1 %over, i64 0, i64 %after",
    ]
    carried = [(kind, f"%value{number}", "%start") for number in range(_STREAMS)]
    carried.append(("i64", "%offset", "0"))
    turns = move.level.sweeps * (piece // stride)
    text = [counted_loop(turns, "\n".join(before), carried, "\n".join(body))]
    for number in range(_STREAMS):  # so that nothing is left out
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
