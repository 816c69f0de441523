"""Masks of vectors: comparisons of lanes, the first n lanes, selections by masks.

A mask of the first lanes is known by their number alone until lanes of some width are needed::

    (0, 1, 2, 3) < splat n   → the first n lanes
    (0, 1, 2, 3) <= splat n  → the first n + 1 lanes
"""

from __future__ import annotations

from polygym.codegen.c.kernel.lifting.builder import OperationBuilder
from polygym.codegen.c.kernel.lifting.narrowing import narrow_operands
from polygym.codegen.c.kernel.values import LONG, TRUTH, Constant, Kind, Operation, Value


def comparison(
    builder: OperationBuilder, name: str, predicate: str, operands: list[Value]
) -> Value:
    """Return a comparison of numbers, or of lanes as a mask."""
    left, right = operands
    if left.kind.lanes is None:
        return builder.emit(name, TRUTH, left, right, data=predicate)
    is_count = isinstance(left, Constant) and left.value == tuple(range(left.kind.lanes))
    same = uniform_value(right)
    if is_count and same is not None and predicate in ("slt", "sle"):
        if predicate == "sle":
            same = builder.emit("add", LONG, same, Constant(LONG, 1), data=False)
        return builder.emit("first_lanes", Kind("m", 0, left.kind.lanes), same)
    if name == "icmp" and predicate in ("eq", "ne"):
        left, right = narrow_operands(left, right)
    return builder.emit(name, left.kind.mask, left, right, data=predicate)


def uniform_value(value: Value) -> Value | None:
    """Return the one number in all lanes of a vector, None if they are not known to agree."""
    if isinstance(value, Operation) and value.name == "splat":
        return value.operands[0]
    if isinstance(value, Constant) and value.uniform is not None:
        return Constant(value.kind.scalar, value.uniform)
    return None


def converted_mask(builder: OperationBuilder, value: Value, bits: int) -> Value:
    """Return a mask with lanes of so many bits."""
    lanes = value.kind.lanes
    kind = Kind("m", bits, lanes)
    if isinstance(value, Constant):
        numbers = value.value or (0,) * (lanes or 0)
        return Constant(kind, tuple(-int(bool(number)) for number in numbers))
    if value.kind == kind:
        return value
    if isinstance(value, Operation) and value.name == "first_lanes":
        return builder.emit("first_mask", kind, value.operands[0])
    return builder.emit("convert_mask", kind, value)


def first_count(value: Value) -> Value | None:
    """Return how many lanes a mask has, where these are the first ones."""
    if isinstance(value, Operation) and value.name == "first_lanes":
        return value.operands[0]
    if isinstance(value, Constant) and value.value is not None:
        flags = [bool(number) for number in value.value]
        count = sum(flags)
        if all(flags[:count]):
            return Constant(LONG, count)
    return None


def mask_operation(builder: OperationBuilder, name: str, operands: list[Value]) -> Value:
    """Return a conjunction, a disjunction or a difference of masks."""
    bits = max(operand.kind.bits if operand.kind.base == "m" else 0 for operand in operands)
    kind = Kind("m", bits or 64, operands[0].kind.lanes)
    return builder.emit(
        name, kind, *(converted_mask(builder, o, kind.bits) for o in operands), data=False
    )
