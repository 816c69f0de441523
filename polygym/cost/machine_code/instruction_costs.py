"""Costs of instructions of LLVM IR: the units of a core that they keep busy, and their latency.

A core is taken to start four operations a cycle; of these two may be of vectors or numbers with a
point, two loads, one a store, one a shuffle. A vector that is wider than the machine's counts as
several. The numbers are those that recent cores of x86 and Arm have in common, rounded; they are to
tell code with vectors from code without, not one core from another.

Example, 512-bit vectors: ``fadd <16 x float>`` is one operation, half a cycle, and 4 cycles until
the next one of a chain may begin; ``fadd <32 x float>`` is two.
"""

import re
from dataclasses import dataclass
from math import ceil

from polygym.cost.machine_code.ir_text import Instruction

_VECTOR = re.compile(r"<(?P<count>\d+) x (?P<element>\w+)>")
_SCALAR = re.compile(r"\b(?P<element>i\d+|half|bfloat|float|double)\b")
_CALLEE = re.compile(r"@(?P<name>[-\w.$]+)\(")
_BITS = {"half": 16, "bfloat": 16, "float": 32, "double": 64, "ptr": 64}

_FREE = frozenset(
    ("getelementptr", "bitcast", "ptrtoint", "inttoptr", "freeze", "unreachable", "alloca", "fence")
)
_CONVERSIONS = frozenset(
    ("sitofp", "uitofp", "fptosi", "fptoui", "fpext", "fptrunc", "zext", "sext", "trunc")
)
_FLOATING = frozenset(("fadd", "fsub", "fmul", "fneg", "fcmp"))
_DIVISION_CYCLES = {"half": 4.0, "bfloat": 4.0, "float": 4.0, "double": 6.0}
_INTEGER_DIVISION = 8.0
_CALL_CYCLES = 30.0
_INTEGER_EXTREME = re.compile(r"@llvm\.(?:[su](?:max|min)|abs)\.")
_MASKED_BITS = 512
_MASKED_STORE_CYCLES = 16.0


@dataclass(frozen=True, slots=True)
class UnitCycles:
    """Cycles in which units of a core are busy: of all, vectors, loads, stores, shuffles, division.

    What is busiest decides how long a piece of code takes, unless it waits for its own results.
    """

    issue: float = 0.0
    vector: float = 0.0
    load: float = 0.0
    store: float = 0.0
    shuffle: float = 0.0
    divide: float = 0.0

    def __add__(self, other: "UnitCycles") -> "UnitCycles":
        """Return the cycles of both."""
        return UnitCycles(
            self.issue + other.issue,
            self.vector + other.vector,
            self.load + other.load,
            self.store + other.store,
            self.shuffle + other.shuffle,
            self.divide + other.divide,
        )

    def times(self, factor: float) -> "UnitCycles":
        """Return the cycles of code that runs so often."""
        return UnitCycles(
            factor * self.issue,
            factor * self.vector,
            factor * self.load,
            factor * self.store,
            factor * self.shuffle,
            factor * self.divide,
        )

    @property
    def busiest(self) -> float:
        """The cycles of the unit that is busy longest."""
        return max(self.issue, self.vector, self.load, self.store, self.shuffle, self.divide)


def _operations(count: float = 1.0) -> UnitCycles:
    return UnitCycles(issue=count / 4)


def _vectors(count: float) -> UnitCycles:
    return UnitCycles(issue=count / 4, vector=count / 2)


def _shuffles(count: float) -> UnitCycles:
    return UnitCycles(issue=count / 4, vector=count / 2, shuffle=count)


@dataclass(frozen=True, slots=True)
class _ValueType:
    """The type of an operand: how many elements, of which kind."""

    count: int
    element: str

    @property
    def bits(self) -> int:
        known = _BITS.get(self.element)
        return self.count * (int(self.element[1:]) if known is None else known)

    def pieces(self, vector_bits: int) -> float:
        """Return how many registers it takes."""
        return max(1.0, ceil(self.bits / vector_bits))


def _types(text: str) -> list[_ValueType]:
    """Return the types that a text names, the vectors before the others."""
    vectors = [_ValueType(int(each["count"]), each["element"]) for each in _VECTOR.finditer(text)]
    rest = _VECTOR.sub("", text)
    return [*vectors, *(_ValueType(1, each["element"]) for each in _SCALAR.finditer(rest))]


def cost_of(instruction: Instruction, vector_bits: int) -> UnitCycles:
    """Return the units that an instruction keeps busy."""
    opcode, rest = instruction.opcode, instruction.rest
    if opcode in _FREE:
        return UnitCycles()
    kinds = _types(rest) or [_ValueType(1, "i64")]
    widest = max(kinds, key=lambda kind: kind.bits)
    pieces = widest.pieces(vector_bits)
    match opcode:
        case "load":
            return UnitCycles(issue=pieces / 4, load=pieces / 2)
        case "store":
            return UnitCycles(issue=pieces / 4, store=pieces)
        case "fdiv" | "frem":
            cycles = _DIVISION_CYCLES.get(widest.element, 6.0)
            return UnitCycles(issue=pieces / 4, divide=cycles * max(1.0, widest.bits / 256))
        case "sdiv" | "udiv" | "srem" | "urem":
            return _integer_division(rest, widest, pieces)
        case "shufflevector" | "insertelement" | "extractelement":
            return _shuffles(pieces)
        case "call":
            return _call_cost(rest, widest, pieces, vector_bits)
        case opcode if opcode in _FLOATING:
            return _vectors(pieces)
        case opcode if opcode in _CONVERSIONS and (widest.count > 1 or "fp" in opcode):
            return _shuffles(pieces)
    return _vectors(pieces) if widest.count > 1 else _operations()


def _integer_division(rest: str, kind: _ValueType, pieces: float) -> UnitCycles:
    """Return the cost of a division: of a constant it is a product and shifts."""
    divisor = rest.rpartition(",")[2].strip()
    if not divisor.startswith("%"):
        return _vectors(4 * pieces) if kind.count > 1 else _operations(4)
    return UnitCycles(issue=kind.count, divide=_INTEGER_DIVISION * kind.count)


def _call_cost(rest: str, kind: _ValueType, pieces: float, vector_bits: int) -> UnitCycles:
    """Return the cost of a call: an operation for most of LLVM's own functions."""
    callee = _CALLEE.search(rest)
    name = "" if callee is None else callee["name"]
    if name.startswith(("llvm.lifetime", "llvm.assume", "llvm.experimental.noalias", "llvm.dbg")):
        return UnitCycles()
    if name.startswith("llvm.masked.gather"):
        return UnitCycles(issue=kind.count / 2, load=kind.count / 2, shuffle=kind.count / 2)
    if name.startswith("llvm.masked.scatter"):
        return UnitCycles(issue=kind.count / 2, store=kind.count, shuffle=kind.count / 2)
    if name.startswith("llvm.masked.load"):
        return UnitCycles(issue=pieces / 4, load=pieces / 2)
    if name.startswith("llvm.masked.store"):
        # Without masks of their own, as AVX-512 has them, cores take such stores apart.
        each = 1.0 if vector_bits >= _MASKED_BITS else _MASKED_STORE_CYCLES
        return UnitCycles(issue=each * pieces, store=each * pieces)
    if name.startswith("llvm.vector.reduce"):
        return _shuffles(2 * pieces + 2)
    if name.startswith("llvm.sqrt"):
        cycles = 1.5 * _DIVISION_CYCLES.get(kind.element, 6.0)
        return UnitCycles(issue=pieces / 4, divide=cycles * max(1.0, kind.bits / 256))
    if name.startswith("llvm.mem"):
        return UnitCycles(issue=10.0)
    if name.startswith("llvm."):
        return _vectors(pieces)
    return UnitCycles(issue=_CALL_CYCLES)


def latency_of(instruction: Instruction) -> float:
    """Return after how many cycles the result of an instruction can be used."""
    opcode, rest = instruction.opcode, instruction.rest
    match opcode:
        case "fadd" | "fsub" | "fmul":
            return 4.0
        case "fdiv" | "frem":
            return 14.0 if "double" in rest else 11.0
        case "fcmp":
            return 2.0
        case "load":
            return 5.0
        case "mul":
            return 3.0
        case "sdiv" | "udiv" | "srem" | "urem":
            return 14.0
        case "call":
            if _INTEGER_EXTREME.search(rest):
                return 2.0
            return 4.0 if "@llvm." in rest and "sqrt" not in rest else 20.0
        case "shufflevector" | "insertelement" | "extractelement":
            return 2.0
        case opcode if opcode in _CONVERSIONS:
            return 4.0 if "fp" in opcode else 1.0
        case opcode if opcode in _FREE:
            return 0.0
    return 1.0
