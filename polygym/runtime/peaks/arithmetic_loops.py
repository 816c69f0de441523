"""Loops of arithmetic: throughput and latency of operations.

*Throughput*: twelve vectors in registers, each of which gets one operation a round that does not
wait for the others: enough for two units that take six cycles each. *Latency*: one number, eight
operations a round, each on the result of the one before.

Operands come from memory, where there are ones, so that LLVM knows nothing of them and numbers stay
what they are. Integers are added to and then flipped: LLVM would make one multiplication of many
additions, but not of these.
"""

from collections.abc import Iterator
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


_THROUGHPUT_LOOPS = (
    ArithmeticLoop.ADD,
    ArithmeticLoop.MULTIPLY,
    ArithmeticLoop.MULTIPLY_ADD,
    ArithmeticLoop.BOTH,
    ArithmeticLoop.MINIMUM,
    ArithmeticLoop.DIVIDE,
    ArithmeticLoop.ROOT,
)
_LATENCY_LOOPS = (
    ArithmeticLoop.ADD,
    ArithmeticLoop.MULTIPLY,
    ArithmeticLoop.MULTIPLY_ADD,
    ArithmeticLoop.ADD_PRODUCT,
    ArithmeticLoop.DIVIDE,
    ArithmeticLoop.ROOT,
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


def _operation(
    stream: ArithmeticStream, kind: str, value: str, result: str, number: int
) -> list[str]:
    is_floating, suffix = (
        stream.type.is_floating,
        _intrinsic_suffix(kind) if stream.type.is_floating else "",
    )
    added = f"  {result} = fadd {kind} {value}, %one"
    multiplied = f"call {kind} @llvm.fma.{suffix}({kind}"
    match stream.loop:
        case ArithmeticLoop.ADD:
            return [added]
        case ArithmeticLoop.MULTIPLY:
            return [f"  {result} = fmul {kind} {value}, %one"]
        case ArithmeticLoop.MULTIPLY_ADD:
            return [f"  {result} = {multiplied} {value}, {kind} %one, {kind} %one)"]
        case ArithmeticLoop.ADD_PRODUCT:
            return [f"  {result} = {multiplied} %one, {kind} %one, {kind} {value})"]
        case ArithmeticLoop.BOTH:
            product = f"  {result} = {multiplied} {value}, {kind} %one, {kind} %one)"
            return [added if number % 2 else product]
        case ArithmeticLoop.MINIMUM:
            bits = "i1" if stream.lanes == 1 else f"<{stream.lanes} x i1>"
            begin = f"%begin{number}"
            return [
                f"  {result}.added = fneg {kind} {value}",
                f"  {result}.less = fcmp olt {kind} {result}.added, {begin}",
                f"  {result} = select {bits} {result}.less, {kind} {result}.added, {kind} {begin}",
            ]
        case ArithmeticLoop.DIVIDE:
            return [f"  {result} = {'fdiv' if is_floating else 'sdiv'} {kind} {value}, %one"]
        case ArithmeticLoop.ROOT:
            return [f"  {result} = call {kind} @llvm.sqrt.{suffix}({kind} {value})"]
        case ArithmeticLoop.ADD_AND_FLIP:
            return [
                f"  {result}.sum = add {kind} {value}, %one",
                f"  {result} = xor {kind} {result}.sum, %begin{number}",
            ]


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
