"""Values of integers in LLVM IR, as far as arguments, constants and counters of loops decide them.

A *context* gives values to some names: arguments, and the counters of the loops that are looked at.
Everything that is computed from these is evaluated; what comes from memory is unknown, None.

Example: with ``%c0`` = 3, ``%a = shl i64 %c0, 9`` is 1536, ``icmp eq i64 %a, 480`` is 0.
"""

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from polygym.cost.machine_code.ir_text import Function, Instruction, PhiNode

Definitions: TypeAlias = Mapping[str, Instruction | PhiNode]
"""Instructions and phis by the names of their results."""

_NUMBER = re.compile(r"^-?\d+$")
_FLAGS = re.compile(r"\b(nuw|nsw|exact|disjoint|nneg|samesign|inbounds|nusw)\s+")
_CALL = re.compile(
    r"@llvm\.(?P<name>smax|smin|umax|umin|abs|usub\.sat|uadd\.sat)\.i(?P<bits>\d+)\((?P<rest>.*)\)"
)
_TYPE = re.compile(r"^i(\d+)\s+")
_MOST_STEPS = 400

_ARITHMETIC: dict[str, Callable[[int, int, int], int | None]] = {
    "add": lambda a, b, _: a + b,
    "sub": lambda a, b, _: a - b,
    "mul": lambda a, b, _: a * b,
    "shl": lambda a, b, _: a << b if 0 <= b < 64 else None,
    "ashr": lambda a, b, _: a >> b if 0 <= b < 64 else None,
    "lshr": lambda a, b, bits: (a % (1 << bits)) >> b if 0 <= b < 64 else None,
    "and": lambda a, b, _: a & b,
    "or": lambda a, b, _: a | b,
    "xor": lambda a, b, _: a ^ b,
    "sdiv": lambda a, b, _: _quotient(a, b) if b else None,
    "srem": lambda a, b, _: a - b * _quotient(a, b) if b else None,
    "udiv": lambda a, b, bits: (a % (1 << bits)) // (b % (1 << bits)) if b else None,
    "urem": lambda a, b, bits: (a % (1 << bits)) % (b % (1 << bits)) if b else None,
}

_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
}


class Values:
    """The integers of a function in a context."""

    def __init__(self, definitions: Definitions, context: Mapping[str, int]) -> None:
        """Begin with what the context has."""
        self._definitions = definitions
        self._known: dict[str, int | None] = dict(context)
        self._steps = 0

    def value(self, operand: str) -> int | None:
        """Return the value of an operand, None where it is unknown."""
        operand = operand.strip()
        if _NUMBER.match(operand):
            return int(operand)
        if operand in ("true", "false"):
            return int(operand == "true")
        if not operand.startswith("%"):
            return None
        name = operand[1:]
        if name not in self._known:
            self._known[name] = None  # what depends on itself is unknown
            self._steps += 1
            definition = self._definitions.get(name)
            if definition is not None and self._steps < _MOST_STEPS:
                self._known[name] = (
                    self._merged(definition)
                    if isinstance(definition, PhiNode)
                    else self._computed(definition)
                )
        return self._known[name]

    def _merged(self, phi: PhiNode) -> int | None:
        """Return the first value of a phi that is known: that of the way which goes straight on."""
        values = (self.value(value) for _, value in phi.incoming)
        return next((value for value in values if value is not None), None)

    def _computed(self, instruction: Instruction) -> int | None:
        rest = _FLAGS.sub("", instruction.rest)
        match instruction.opcode:
            case "icmp":
                return self._compared(rest)
            case "select":
                return self._selected(rest)
            case "zext" | "sext" | "trunc" | "freeze":
                return self._converted(instruction.opcode, rest)
            case "call":
                return self._called(rest)
            case "extractvalue" if rest.endswith(", 1"):
                return 0  # nothing overflows
            case opcode if opcode in _ARITHMETIC:
                kind = _TYPE.match(rest)
                operands = self._operands(rest)
                if kind is None or operands is None:
                    return None
                result = _ARITHMETIC[opcode](*operands, int(kind[1]))
                return None if result is None else _wrapped(result, int(kind[1]))
        return None

    def _operands(self, rest: str) -> tuple[int, int] | None:
        if _TYPE.match(rest) is None:
            return None
        first, comma, second = _TYPE.sub("", rest).partition(",")
        a, b = self.value(first), self.value(second)
        return None if a is None or b is None or not comma else (a, b)

    def _compared(self, rest: str) -> int | None:
        predicate, _, rest = rest.partition(" ")
        if rest.startswith("ptr ") and rest.endswith(" null"):
            return int(predicate == "ne")  # memory is there
        kind, operands = _TYPE.match(rest), self._operands(rest)
        if kind is None or operands is None:
            return None
        if predicate.startswith("u"):
            operands = (operands[0] % (1 << int(kind[1])), operands[1] % (1 << int(kind[1])))
        name = predicate if predicate in ("eq", "ne") else predicate[1:]
        return int(_COMPARISONS[name](*operands))

    def _selected(self, rest: str) -> int | None:
        parts = [part.strip() for part in rest.split(",")]
        if len(parts) != 3 or not all(_TYPE.match(part) for part in parts):
            return None
        condition, yes, no = (_TYPE.sub("", part) for part in parts)
        taken = self.value(condition)
        return None if taken is None else self.value(yes if taken else no)

    def _converted(self, opcode: str, rest: str) -> int | None:
        kind = _TYPE.match(rest)
        if kind is None:
            return None
        source, _, target = _TYPE.sub("", rest).partition(" to ")
        value = self.value(source)
        if value is None:
            return None
        if opcode == "zext":
            return value % (1 << int(kind[1]))
        return _wrapped(value, int(target.strip()[1:])) if opcode == "trunc" else value

    def _called(self, rest: str) -> int | None:
        call = _CALL.search(rest)
        if call is None:
            return None
        bits = int(call["bits"])
        values = [self.value(part.split()[-1]) for part in call["rest"].split(",") if part.strip()]
        known = [value for value in values if value is not None]
        if len(known) != len(values) or not known:
            return None
        if call["name"] == "abs":
            return abs(known[0])
        if call["name"].startswith("u"):
            known = [value % (1 << bits) for value in known]
        if call["name"].endswith(".sat"):
            first, second = known
            is_sum = call["name"].startswith("uadd")
            result = min(first + second, (1 << bits) - 1) if is_sum else max(0, first - second)
            return _wrapped(result, bits)
        return max(known) if call["name"].endswith("max") else min(known)


def _quotient(a: int, b: int) -> int:
    """Return a quotient as C has it, rounded toward 0.

    >>> _quotient(-7, 2), _quotient(7, 2)
    (-3, 3)
    """
    magnitude = abs(a) // abs(b)
    return magnitude if (a < 0) == (b < 0) else -magnitude


def _wrapped(value: int, bits: int) -> int:
    """Return a number as it is kept in so many bits, with a sign.

    >>> _wrapped(255, 8), _wrapped(1, 1)
    (-1, 1)
    """
    if bits == 1:
        return value & 1
    value %= 1 << bits
    return value - (1 << bits) if value >> (bits - 1) else value


def definitions_of(function: Function) -> dict[str, Instruction | PhiNode]:
    """Return the instructions and phis of a function by the names of their results."""
    result: dict[str, Instruction | PhiNode] = {}
    for block in function.blocks.values():
        result |= {phi.name: phi for phi in block.phis}
        result |= {each.name: each for each in block.body if each.name}
    return result
