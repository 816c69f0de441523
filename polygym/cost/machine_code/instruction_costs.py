"""Costs of instructions of LLVM IR: units of a core that they keep busy, and their latency.

A core starts six operations a cycle. Two of them may be of vectors or of floating numbers, two
loads, one a store, one a shuffle. A vector that is wider than the machine's counts as several. The
numbers are those that recent cores of x86 and Arm have in common, rounded: they tell code with
vectors from code without, not one core from another.

Example, vectors of 512 bits: ``fadd <16 x float>`` is one operation, half a cycle, and its result
is there after 3 cycles; ``fadd <32 x float>`` is two operations.
"""

import re
from dataclasses import dataclass, fields
from math import ceil

from polygym.codegen.common.packing_candidates import CACHE_LINE
from polygym.cost.machine_code.ir_text import Instruction

_VECTOR = re.compile(r"<(?P<count>\d+) x (?P<element>\w+)>")
_SCALAR = re.compile(r"\b(?P<element>i\d+|half|bfloat|float|double)\b")
_CALLEE = re.compile(r"@(?P<name>[-\w.$]+)\(")
_BITS = {"half": 16, "bfloat": 16, "float": 32, "double": 64, "ptr": 64}

# One number for all elements of a vector: a load does that by the way.
_BROADCAST = re.compile(r"> poison, (?:\w+ \S+, i64 0|<.*> zeroinitializer)$")

_LENGTH = re.compile(r", i64 (?P<bytes>\d+), i1")

_FREE = frozenset(
    ("getelementptr", "bitcast", "ptrtoint", "inttoptr", "freeze", "unreachable", "alloca", "fence")
)
_FREE_CALLS = ("llvm.lifetime", "llvm.assume", "llvm.experimental.noalias", "llvm.dbg")
_SHUFFLES = frozenset(("shufflevector", "insertelement", "extractelement"))
_CONVERSIONS = frozenset(
    ("sitofp", "uitofp", "fptosi", "fptoui", "fpext", "fptrunc", "zext", "sext", "trunc")
)
_FLOATING = frozenset(("fneg", "fcmp"))
_FUSED = ("llvm.fmuladd", "llvm.fma.")
_DIVISIONS = frozenset(("sdiv", "udiv", "srem", "urem"))
_ISSUED, _LOADED, _COMPUTED = 6, 2, 2
_INTEGER_DIVISION, _CALL_CYCLES, _COPY_CYCLES = 8.0, 30.0, 10.0  # and what a copy begins with
_INTEGER_EXTREME = re.compile(r"@llvm\.(?:[su](?:max|min)|abs)\.")
# Without masks of their own, as AVX-512 has them, cores take masked stores apart.
_MASKED_BITS, _MASKED_STORE_CYCLES = 512, 16.0


@dataclass(frozen=True, slots=True)
class UnitCycles:
    """Cycles in which units of a core are busy, and counts.

    ``bytes`` are those of cache lines that may be touched, ``operations`` those on floating
    numbers.

    The busiest unit decides how long code takes, unless it waits for its own results.
    """

    issue: float = 0.0
    vector: float = 0.0
    load: float = 0.0
    store: float = 0.0
    shuffle: float = 0.0
    divide: float = 0.0
    bytes: float = 0.0
    operations: float = 0.0

    def plus(self, other: "UnitCycles", times: float = 1.0) -> "UnitCycles":
        """Return the cycles of this code and of other code that runs so often."""
        return UnitCycles(
            *(getattr(self, unit.name) + times * getattr(other, unit.name) for unit in fields(self))
        )

    @property
    def busiest(self) -> float:
        """The cycles of the unit that is busy longest."""
        return max(self.issue, self.vector, self.load, self.store, self.shuffle, self.divide)


@dataclass(frozen=True, slots=True)
class _ValueType:
    """The type of an operand: how many elements, of which kind."""

    count: int
    element: str

    @property
    def bits(self) -> int:
        known = _BITS.get(self.element)
        return self.count * (int(self.element[1:]) if known is None else known)

    @property
    def touched(self) -> float:
        """Bytes of an access: vectors lie in one piece, and of one number a line is touched."""
        return self.bits / 8 if self.count > 1 else CACHE_LINE

    def pieces(self, vector_bits: int) -> float:
        """Return how many registers it takes."""
        return max(1.0, ceil(self.bits / vector_bits))


def _types(text: str) -> list[_ValueType]:
    """Return the types that a text names, the vectors before the others."""
    vectors = [_ValueType(int(each["count"]), each["element"]) for each in _VECTOR.finditer(text)]
    rest = _VECTOR.sub("", text)
    return [*vectors, *(_ValueType(1, each["element"]) for each in _SCALAR.finditer(rest))]


def registers_of(type_text: str, vector_bits: int) -> float:
    """Return how many registers of vectors and floating numbers a value of a type takes."""
    kinds = [kind for kind in _types(type_text) if kind.count > 1 or kind.element[0] != "i"]
    return sum(kind.pieces(vector_bits) for kind in kinds)


def spill_cost() -> UnitCycles:
    """Return the cost of a value that is loaded and stored again for want of a register."""
    return UnitCycles(2 / _ISSUED, load=1 / _LOADED, store=1.0)


def cost_of(instruction: Instruction, vector_bits: int) -> UnitCycles:
    """Return the units that an instruction keeps busy."""
    opcode, rest = instruction.opcode, instruction.rest
    if opcode in _FREE or (opcode in _SHUFFLES and _BROADCAST.search(rest)):
        return UnitCycles()
    kind = max(_types(rest) or [_ValueType(1, "i64")], key=lambda each: each.bits)
    pieces = kind.pieces(vector_bits)
    issue, vector = pieces / _ISSUED, pieces / _COMPUTED
    match opcode:
        case "load":
            return UnitCycles(issue, load=pieces / _LOADED, bytes=kind.touched)
        case "store":
            return UnitCycles(issue, store=pieces, bytes=kind.touched)
        case "fdiv" | "frem":
            return UnitCycles(issue, divide=_division_cycles(kind), operations=kind.count)
        case "fadd" | "fsub" | "fmul":
            return UnitCycles(issue, vector, operations=kind.count)
        case "call":
            return _call_cost(rest, kind, pieces, vector_bits)
    if opcode in _DIVISIONS:
        if rest.rpartition(",")[2].strip().startswith("%"):
            return UnitCycles(kind.count, divide=_INTEGER_DIVISION * kind.count)
        return UnitCycles(4 * issue, 4 * vector)  # of a constant: a product and shifts
    if opcode in _SHUFFLES or (opcode in _CONVERSIONS and (kind.count > 1 or "fp" in opcode)):
        return UnitCycles(issue, vector, shuffle=pieces)
    return UnitCycles(issue, vector if kind.count > 1 or opcode in _FLOATING else 0.0)


def _division_cycles(kind: _ValueType) -> float:
    """Return how long the divider is busy with one division."""
    return (6.0 if kind.element == "double" else 4.0) * max(1.0, kind.bits / 256)


def _call_cost(rest: str, kind: _ValueType, pieces: float, vector_bits: int) -> UnitCycles:
    """Return the cost of a call: one operation for most of LLVM's own functions."""
    callee = _CALLEE.search(rest)
    name = "" if callee is None else callee["name"]
    issue, half = pieces / _ISSUED, kind.count / 2
    if name.startswith(_FREE_CALLS):
        return UnitCycles()
    if name.startswith("llvm.masked.gather"):
        return UnitCycles(half, load=half, shuffle=half, bytes=CACHE_LINE * kind.count)
    if name.startswith("llvm.masked.scatter"):
        return UnitCycles(half, store=kind.count, shuffle=half, bytes=CACHE_LINE * kind.count)
    if name.startswith("llvm.masked.load"):
        return UnitCycles(issue, load=pieces / _LOADED, bytes=kind.touched)
    if name.startswith("llvm.masked.store"):
        each = pieces * (1.0 if vector_bits >= _MASKED_BITS else _MASKED_STORE_CYCLES)
        return UnitCycles(each, store=each, bytes=kind.touched)
    if name.startswith("llvm.vector.reduce"):
        return UnitCycles(issue, pieces + 1, shuffle=2 * pieces + 2)
    if name.startswith("llvm.sqrt"):
        return UnitCycles(issue, divide=1.5 * _division_cycles(kind))
    if name.startswith("llvm.mem"):
        length = _LENGTH.search(rest)
        copied = 0 if length is None else int(length["bytes"])
        cycles = _COPY_CYCLES + 8 * copied / vector_bits
        return UnitCycles(cycles / _ISSUED, store=cycles, bytes=copied)
    if name.startswith("llvm."):
        fused = 2.0 * kind.count if name.startswith(_FUSED) else 0.0
        return UnitCycles(issue, pieces / _COMPUTED, operations=fused)
    return UnitCycles(_CALL_CYCLES)


def latency_of(instruction: Instruction) -> float:
    """Return after how many cycles the result of an instruction can be used."""
    opcode, rest = instruction.opcode, instruction.rest
    match opcode:
        case "fadd" | "fsub" | "fmul" | "mul":
            return 3.0
        case "fdiv" | "frem":
            return 14.0 if "double" in rest else 11.0
        case "fcmp" | "shufflevector" | "insertelement" | "extractelement":
            return 2.0
        case "load":
            return 5.0
        case "sdiv" | "udiv" | "srem" | "urem":
            return 14.0
        case "call" if _INTEGER_EXTREME.search(rest):
            return 2.0
        case "call":
            return 4.0 if "@llvm." in rest and "sqrt" not in rest else 20.0
        case opcode if opcode in _CONVERSIONS:
            return 4.0 if "fp" in opcode else 1.0
        case opcode if opcode in _FREE:
            return 0.0
    return 1.0
