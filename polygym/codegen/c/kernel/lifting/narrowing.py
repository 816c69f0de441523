"""Integer lanes at the width of what they come from: less to widen, to compare and to cut again.

C computes with ``int`` what is narrower, so code that is emitted widens, computes and truncates.
LLVM finds the narrow operation itself; gcc does not, and widening lanes costs it more::

    trunc (add (zext x), (splat 1))  → add x, splat 1        modulo 2^16, say
    icmp eq (sext a), (sext b)       → icmp eq a, b
"""

from __future__ import annotations

from polygym.codegen.c.kernel.lifting.builder import OperationBuilder
from polygym.codegen.c.kernel.lifting.constants import signed
from polygym.codegen.c.kernel.values import Constant, Kind, Operation, Value

_WIDENING = ("sext", "zext")
_MODULAR = ("add", "sub", "mul", "and", "or", "xor")
_DEPTH = 4
"""Operations one within the other that are looked at."""


def truncated(builder: OperationBuilder, kind: Kind, value: Value) -> Value:
    """Return the low bits of integer lanes, of narrow operations where that is the same."""
    if _is_narrow(value, _DEPTH):
        return _narrow(builder, kind, value)
    return builder.emit("trunc", kind, value)


def _is_narrow(value: Value, depth: int) -> bool:
    """Whether low bits follow from values that are not wider: of operations modulo 2^bits."""
    if isinstance(value, Constant):
        return value.value is not None
    if not isinstance(value, Operation):
        return False
    if value.name in _WIDENING:
        return value.operands[0].kind.base == "i" and value.operands[0].kind.bits > 1
    if value.name == "splat":
        return True
    return (
        depth > 0
        and value.name in _MODULAR
        and all(_is_narrow(operand, depth - 1) for operand in value.operands)
    )


def _narrow(builder: OperationBuilder, kind: Kind, value: Value) -> Value:
    """Return the low bits of a value that has them in narrow operations."""
    if isinstance(value, Constant):
        return Constant(kind, tuple(signed(kind, lane) for lane in value.value))
    assert isinstance(value, Operation)
    if value.name == "splat":
        low = builder.emit("trunc", kind.scalar, value.operands[0])
        return builder.emit("splat", kind, low)
    if value.name in _WIDENING:
        (source,) = value.operands
        if source.kind == kind:
            return source
        return builder.emit(value.name if source.kind.bits < kind.bits else "trunc", kind, source)
    operands = [_narrow(builder, kind, operand) for operand in value.operands]
    wraps = value.name in ("add", "sub", "mul")
    return builder.emit(value.name, kind, *operands, data=wraps)


def narrow_operands(left: Value, right: Value) -> tuple[Value, Value]:
    """Return what is equal where two values are, narrower if both have been widened alike."""
    if not (isinstance(left, Operation) and isinstance(right, Operation)):
        return left, right
    if left.name != right.name or left.name not in _WIDENING:
        return left, right
    first, second = left.operands[0], right.operands[0]
    is_narrow = first.kind == second.kind and first.kind.base == "i" and first.kind.bits > 1
    return (first, second) if is_narrow else (left, right)
