"""Loops of arithmetic: how many operations a second there are, and how long one waits for another.

*Throughput*: twelve vectors in registers, each of which gets one operation a round that does not
wait for the others: enough for two units that take six cycles each. *Latency*: one number, eight
operations a round, each on the result of the one before.

Operands come from memory, where there are ones, so that LLVM knows nothing of them and numbers stay
what they are. Integers are added to and then flipped: LLVM would make one multiplication of many
additions, but not of these.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from polygym.compiler.codegen.common.machine import this_machine
from polygym.compiler.ir.types import ScalarType
from polygym.measure.machine.code import OWN, compiled, counted

_VECTORS = 12
_CHAIN = 8
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
_ROOM = 256
PLACES = {scalar: 512 + _ROOM * number for number, scalar in enumerate((*FLOATING, *INTEGERS))}


class Loop(Enum):
    """What a loop does to each of its numbers."""

    ADD = "add"
    MULTIPLY = "multiply"
    MULTIPLY_ADD = "multiply-add"
    ADD_PRODUCT = "multiply-add into a sum"
    BOTH = "addition and multiply-add"
    LESSER = "minimum"
    DIVIDE = "divide"
    ROOT = "root"
    FLIP = "add and flip"


_THROUGHPUT = (
    Loop.ADD,
    Loop.MULTIPLY,
    Loop.MULTIPLY_ADD,
    Loop.BOTH,
    Loop.LESSER,
    Loop.DIVIDE,
    Loop.ROOT,
)
_LATENCY = (
    Loop.ADD,
    Loop.MULTIPLY,
    Loop.MULTIPLY_ADD,
    Loop.ADD_PRODUCT,
    Loop.DIVIDE,
    Loop.ROOT,
)
_SLOW = (Loop.DIVIDE, Loop.ROOT)


@dataclass(frozen=True, slots=True)
class Stream:
    """A loop on numbers of a type, in lanes of vectors or one by one, or as a chain.

    A multiply-add counts as one here.
    """

    loop: Loop
    type: ScalarType
    lanes: int
    chained: bool = False

    @property
    def rounds(self) -> int:
        """How often a thread goes around."""
        return _SLOW_ROUNDS if self.loop in _SLOW else _ROUNDS

    @property
    def operations(self) -> int:
        """How many operations a thread carries out."""
        each = 2 if self.loop is Loop.FLIP else 1
        return self.rounds * each * (_CHAIN if self.chained else _VECTORS * self.lanes)


def streams() -> Iterator[Stream]:
    """Yield all loops."""
    for scalar in FLOATING:
        lanes = this_machine().vector_bits // scalar.bits
        yield from (Stream(loop, scalar, lanes) for loop in _THROUGHPUT)
        yield from (Stream(loop, scalar, 1, chained=True) for loop in _LATENCY)
    for scalar in INTEGERS:
        lanes = this_machine().vector_bits // scalar.bits
        yield Stream(Loop.FLIP, scalar, lanes)
        yield Stream(Loop.DIVIDE, scalar, 1)
    yield Stream(Loop.FLIP, ScalarType.LONG, 1)


def code_of(stream: Stream, threads: int) -> bytes:
    """Return the object code of a loop."""
    element = _LLVM[stream.type]
    kind = element if stream.lanes == 1 else f"<{stream.lanes} x {element}>"
    place = PLACES[stream.type]
    before = [f"  %one.at = getelementptr i8, ptr %ones, i64 {place}"]
    before.append(f"  %one = load {kind}, ptr %one.at, align 8")
    count = 1 if stream.chained else _VECTORS
    values = []
    for number in range(count):
        at = place + 8 * (number + 1)  # of one place LLVM would make one value
        before.append(f"  %begin{number}.at = getelementptr i8, ptr %ones, i64 {at}")
        before.append(f"  %begin{number} = load {kind}, ptr %begin{number}.at, align 8")
        values.append((kind, f"%value{number}", f"%begin{number}"))
    body = "\n".join(_steps(stream, kind, number) for number in range(count))
    text = counted(stream.rounds, "\n".join(before), values, body)
    sums = [text]
    for number in range(count):
        sums.append(f"  %result{number} = getelementptr i8, ptr %ones, i64 0")
        sums.append(f"  store volatile {kind} %value{number}.next, ptr %result{number}, align 8")
    return compiled(
        "\n".join([*sums, "  ret void"]), threads, declarations="\n".join(_declared(kind))
    )


def _declared(kind: str) -> Iterator[str]:
    if kind.endswith(("double", "float", "double>", "float>")):
        name = _suffix(kind)
        yield f"declare {kind} @llvm.fma.{name}({kind}, {kind}, {kind})"
        yield f"declare {kind} @llvm.sqrt.{name}({kind})"


def _suffix(kind: str) -> str:
    """Return how LLVM names a type in intrinsics.

    >>> _suffix("<8 x double>"), _suffix("float")
    ('v8f64', 'f32')
    """
    short = "f64" if "double" in kind else "f32"
    return f"v{kind[1:].split()[0]}{short}" if kind.startswith("<") else short


def _steps(stream: Stream, kind: str, number: int) -> str:
    """Return what one round does to one value."""
    steps = _CHAIN if stream.chained else 1
    lines, value = [], f"%value{number}"
    for step in range(steps):
        result = f"%value{number}.next" if step == steps - 1 else f"%value{number}.{step}"
        lines += _operation(stream, kind, value, result, number)
        value = result
    return "\n".join(lines)


def _operation(stream: Stream, kind: str, value: str, result: str, number: int) -> list[str]:
    is_floating, suffix = stream.type.is_floating, _suffix(kind) if stream.type.is_floating else ""
    added = f"  {result} = fadd {kind} {value}, %one"
    multiplied = f"call {kind} @llvm.fma.{suffix}({kind}"
    match stream.loop:
        case Loop.ADD:
            return [added]
        case Loop.MULTIPLY:
            return [f"  {result} = fmul {kind} {value}, %one"]
        case Loop.MULTIPLY_ADD:
            return [f"  {result} = {multiplied} {value}, {kind} %one, {kind} %one)"]
        case Loop.ADD_PRODUCT:
            return [f"  {result} = {multiplied} %one, {kind} %one, {kind} {value})"]
        case Loop.BOTH:
            product = f"  {result} = {multiplied} {value}, {kind} %one, {kind} %one)"
            return [added if number % 2 else product]
        case Loop.LESSER:
            bits = "i1" if stream.lanes == 1 else f"<{stream.lanes} x i1>"
            begin = f"%begin{number}"
            return [
                f"  {result}.added = fneg {kind} {value}",
                f"  {result}.less = fcmp olt {kind} {result}.added, {begin}",
                f"  {result} = select {bits} {result}.less, {kind} {result}.added, {kind} {begin}",
            ]
        case Loop.DIVIDE:
            return [f"  {result} = {'fdiv' if is_floating else 'sdiv'} {kind} {value}, %one"]
        case Loop.ROOT:
            return [f"  {result} = call {kind} @llvm.sqrt.{suffix}({kind} {value})"]
        case Loop.FLIP:
            return [
                f"  {result}.sum = add {kind} {value}, %one",
                f"  {result} = xor {kind} {result}.sum, %begin{number}",
            ]


def ones() -> str:
    """Return a loop that writes the ones of every type into a thread's memory."""
    lines = []
    for scalar, place in PLACES.items():
        value = "1.0" if scalar.is_floating else "1"
        for number in range(_ROOM // scalar.size):
            name = f"%{_LLVM[scalar]}.{number}"
            at = place + number * scalar.size
            lines.append(f"  {name} = getelementptr i8, ptr %ones, i64 {at}")
            lines.append(f"  store {_LLVM[scalar]} {value}, ptr {name}")
    assert max(PLACES.values()) + _ROOM <= OWN
    return "\n".join([*lines, "  ret void"])
