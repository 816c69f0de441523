"""Selections of numbers, of lanes and of masks.

Minima and maxima are operations of their own: ``select (a < b), a, b`` → ``min a b``.
"""

from __future__ import annotations

from polygym.codegen.c.kernel.lifting.builder import OperationBuilder
from polygym.codegen.c.kernel.lifting.masks import converted_mask, first_count
from polygym.codegen.c.kernel.values import LONG, Constant, Kind, Operation, Value, are_same


def selection(builder: OperationBuilder, kind: Kind, operands: list[Value]) -> Value:
    """Return one value or another one, by a truth value or by a mask."""
    condition, then, otherwise = operands
    if isinstance(condition, Constant) and condition.kind.is_truth:
        return then if condition.value else otherwise
    if kind.bits == 1 and kind.lanes is not None:
        return _mask_selection(builder, condition, then, otherwise)
    if condition.kind.lanes is not None:
        first = first_count(condition)
        if first is not None:
            return builder.emit("select_first", kind, first, then, otherwise)
        order = _lesser_or_greater(condition, then, otherwise)
        if order is not None:
            return builder.emit(order, kind, then, otherwise)
        mask = converted_mask(builder, condition, kind.bits)
        return builder.emit("select", kind, mask, then, otherwise)
    if kind == LONG and isinstance(condition, Operation) and condition.name == "icmp":
        first, second = condition.operands
        is_same = are_same(first, then) and are_same(second, otherwise)
        extreme = {"slt": "min", "sgt": "max"}.get(condition.data)
        if extreme is not None and is_same:
            return builder.emit(extreme, kind, then, otherwise)
    return builder.emit("select", kind, condition, then, otherwise)


def _lesser_or_greater(condition: Value, then: Value, otherwise: Value) -> str | None:
    """Return the minimum or the maximum that a selection of lanes is, None if it is neither.

    Of floats the minimum of a and b is ``a < b ? a : b``, whatever is no number.
    """
    if not isinstance(condition, Operation) or condition.name not in ("icmp", "fcmp"):
        return None
    signs = {"slt": "lesser", "sle": "lesser", "sgt": "greater", "sge": "greater"}
    if condition.name == "fcmp":
        signs = {"olt": "lesser", "ogt": "greater"}
    elif then.kind.bits != 32:
        return None
    own = signs.get(condition.data)
    first, second = condition.operands
    if own is None or first.kind != then.kind:
        return None
    return own if are_same(first, then) and are_same(second, otherwise) else None


def _mask_selection(
    builder: OperationBuilder, condition: Value, then: Value, otherwise: Value
) -> Value:
    """Return one mask or another one."""
    if condition.kind.lanes is None:
        first, second = first_count(then), first_count(otherwise)
        if first is not None and second is not None:
            count = builder.emit("select", LONG, condition, first, second)
            return builder.emit("first_lanes", Kind("m", 0, then.kind.lanes), count)
        bits = max(value.kind.bits for value in (then, otherwise) if value.kind.base == "m")
        masks = [converted_mask(builder, value, bits or 64) for value in (then, otherwise)]
        return builder.emit("select", Kind("m", bits or 64, then.kind.lanes), condition, *masks)
    bits = max(
        (value.kind.bits for value in (condition, then, otherwise) if value.kind.base == "m"),
        default=64,
    )
    kind = Kind("m", bits or 64, then.kind.lanes)
    masks = [converted_mask(builder, value, kind.bits) for value in (condition, then, otherwise)]
    return builder.emit("select", kind, *masks)
