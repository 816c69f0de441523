"""Vectors made of lanes: insertions, shuffles, extractions, conversions.

A shuffle that repeats one number is a broadcast, ``shuffle (insert x, 0), 0 0 0 0`` → ``splat x``.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from polygym.codegen.c.kernel.lifting.builder import OperationBuilder
from polygym.codegen.c.kernel.lifting.masks import comparison, converted_mask, first_count
from polygym.codegen.c.kernel.lifting.narrowing import truncated
from polygym.codegen.c.kernel.values import LONG, TRUTH, Constant, Kind, Operation, Value


def all_lanes(vector: Value) -> list[Value] | None:
    """Return the numbers of a vector that has been made lane by lane, None before the last."""
    lanes: list[Value] = []
    if vector.kind.base == "p":
        return None
    while isinstance(vector, Operation) and vector.name == "insert":
        lanes.insert(0, vector.operands[1])
        vector = vector.operands[0]
    return lanes if len(lanes) == vector.kind.lanes else None


def shuffle(builder: OperationBuilder, kind: Kind, operands: list[Value], order: Any) -> Value:
    """Return lanes of vectors in another order."""
    places = tuple(
        place.constant if isinstance(place, ir.Constant) else place for place in order.constant
    )
    first, second = operands[0], operands[1]
    if isinstance(first, Operation) and first.name == "insert" and not any(places):
        if first.data == 0 and isinstance(first.operands[0], Constant):
            return builder.emit("splat", kind, first.operands[1])
    if first.kind.base in "im" and (first.kind.bits == 1 or first.kind.base == "m"):
        first = converted_mask(builder, first, first.kind.bits if first.kind.bits > 1 else 64)
        kind = Kind("m", first.kind.bits, kind.lanes)
    if isinstance(second, Constant) and second.value is None:
        return builder.emit("shuffle", kind, first, data=places)
    return builder.emit("shuffle", kind, first, second, data=places)


def extraction(builder: OperationBuilder, vector: Value, place: Value) -> Value:
    """Return a lane of a vector."""
    assert isinstance(place, Constant)
    first = first_count(vector) if vector.kind.base == "m" else None
    if first is not None:
        return builder.emit("icmp", TRUTH, Constant(LONG, place.value), first, data="slt")
    if vector.kind.base == "m":
        lane = builder.emit("extract", vector.kind.scalar, vector, data=place.value)
        return builder.emit("icmp", TRUTH, lane, Constant(vector.kind.scalar, 0), data="ne")
    if isinstance(vector, Operation) and vector.name == "splat":
        return vector.operands[0]
    return builder.emit("extract", vector.kind.scalar, vector, data=place.value)


def cast(builder: OperationBuilder, name: str, kind: Kind, value: Value) -> Value:
    """Return a conversion; the lanes of a mask become 1 and 0, low bits become lanes of a mask."""
    if name == "zext" and kind.lanes is not None and value.kind.base == "m":
        mask = converted_mask(builder, value, kind.bits)
        units = Constant(kind, (1,) * kind.lanes)
        return builder.emit("and", kind, builder.emit("bitcast", kind, mask), units, data=False)
    if name == "trunc" and kind.lanes is not None and value.kind.base == "i":
        return truncated(builder, kind, value) if kind.bits > 1 else _low_bits(builder, value)
    return builder.emit(name, kind, value)


def _low_bits(builder: OperationBuilder, value: Value) -> Value:
    """Return the mask of the lanes that are odd."""
    units, zeros = (Constant(value.kind, (bit,) * (value.kind.lanes or 1)) for bit in (1, 0))
    low = builder.emit("and", value.kind, value, units, data=False)
    return comparison(builder, "icmp", "ne", [low, zeros])
