"""Accesses to memory: whole vectors, some of their lanes, lanes with a stride or with offsets.

A gather whose offsets grow evenly is a strided load, ``base + splat g * (0, 1, 2, 3)``.
"""

from __future__ import annotations

from typing import Any

from polygym.codegen.c.kernel.lifting.builder import OperationBuilder
from polygym.codegen.c.kernel.lifting.masks import converted_mask, first_count, uniform_value
from polygym.codegen.c.kernel.values import LONG, VOID, Argument, Constant, Kind, Operation, Value


def memory_access(
    builder: OperationBuilder, name: str, kind: Kind, operands: list[Value], data: Any
) -> Value:
    """Return a load or a store; a load has the name of its array for a hint."""
    result = builder.emit(name, kind, *operands, data=data)
    return _hinted(result, operands[0]) if name == "load" else result


def masked_access(
    builder: OperationBuilder, name: str, kind: Kind, operands: list[Value], mask: Value
) -> Value:
    """Return a load or a store of those lanes that a mask has."""
    whole = operands[0].kind if name == "store" else kind
    which, more = _lanes_of_mask(builder, mask, whole)
    if which == "all":
        return memory_access(builder, name, kind, operands, whole.scalar)
    result = builder.emit(f"masked_{name}", kind, *operands, *more, data=(which, whole))
    return _hinted(result, operands[-1])


def _places(pointers: Value) -> tuple[str, list[Value], Kind]:
    """Return how the addresses of lanes come about, of which values."""
    assert isinstance(pointers, Operation)
    if pointers.name == "address":
        base, offsets = pointers.operands
        growth = _growth(offsets)
        if growth is not None:
            return "strided", [base, growth], pointers.data
        return "offsets", [base, offsets], pointers.data
    addresses: list[Value] = []
    element = Kind("i", 8)
    while isinstance(pointers, Operation) and pointers.name == "insert":
        address = pointers.operands[1]
        addresses.insert(0, address)
        if isinstance(address, Operation) and address.name == "address":
            element = address.data
        pointers = pointers.operands[0]
    return "scattered", addresses, element


def _growth(offsets: Value) -> Value | None:
    """Return by how much offsets grow from lane to lane, from 0 on; None if otherwise."""
    if isinstance(offsets, Constant) and isinstance(offsets.value, tuple):
        step = offsets.value[1] if len(offsets.value) > 1 else 0
        if offsets.value == tuple(step * k for k in range(len(offsets.value))):
            return Constant(LONG, step)
    if isinstance(offsets, Operation) and offsets.name == "mul":
        wide, count = offsets.operands
        if isinstance(count, Constant) and count.value == tuple(range(len(count.value))):
            return uniform_value(wide)
    return None


def _lanes_of_mask(builder: OperationBuilder, mask: Value, kind: Kind) -> tuple[str, list[Value]]:
    """Return which lanes a mask has, and the value that says so."""
    first = first_count(mask)
    if first is None:
        return "mask", [converted_mask(builder, mask, kind.bits)]
    if isinstance(first, Constant) and first.value >= (kind.lanes or 1):
        return "all", []
    return "first", [first]


def gather(builder: OperationBuilder, kind: Kind, pointers: Value, mask: Value) -> Value:
    """Return a load of lanes from addresses of their own."""
    how, operands, element = _places(pointers)
    which, more = _lanes_of_mask(builder, mask, kind)
    name = {"strided": "strided_load", "offsets": "gather", "scattered": "scattered_load"}[how]
    result = builder.emit(name, kind, *operands, *more, data=(which, kind, element))
    return _hinted(result, operands[0])


def scatter(builder: OperationBuilder, value: Value, pointers: Value, mask: Value) -> Value:
    """Return a store of lanes to addresses of their own."""
    how, operands, element = _places(pointers)
    which, more = _lanes_of_mask(builder, mask, value.kind)
    name = {"strided": "strided_store", "offsets": "scatter", "scattered": "scattered_store"}
    data = (which, value.kind, element)
    return builder.emit(name[how], VOID, value, *operands, *more, data=data)


def _hinted(access: Value, pointer: Value) -> Value:
    """Return an access with the name of its array for a hint."""
    if isinstance(access, Operation):
        access.hint = _root_name(pointer)
    return access


def _root_name(pointer: Value) -> str:
    """Return the name of the array to which a pointer belongs, if it has one."""
    while isinstance(pointer, Operation):
        if pointer.hint:
            return pointer.hint
        if pointer.name != "address":
            return ""
        pointer = pointer.operands[0]
    return pointer.name if isinstance(pointer, Argument) else ""
