"""Types and constants of LLVM as kinds and constants of printed C."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from polygym.codegen.c.kernel.values import POINTER, VOID, Constant, Kind


def kind_of(type_: Any) -> Kind:
    """Return the kind of values of an LLVM type; masks get theirs from what they are made of."""
    if isinstance(type_, ir.VectorType):
        element = kind_of(type_.element)
        return Kind(element.base, element.bits, type_.count)
    if isinstance(type_, ir.IntType):
        return Kind("i", type_.width)
    if isinstance(type_, ir.PointerType):
        return POINTER
    bits = {ir.DoubleType: 64, ir.FloatType: 32, ir.HalfType: 16}.get(type(type_))
    return VOID if bits is None else Kind("f", bits)


def constant_of(value: Any) -> Constant:
    """Return a constant: a number, numbers of lanes, or None for any number at all."""
    kind = kind_of(value.type)
    if value.constant is ir.Undefined:
        return Constant(kind, None)
    if kind.lanes is not None:
        if value.constant is None:
            return Constant(kind, (0,) * kind.lanes)
        numbers = tuple(
            number.constant if isinstance(number, ir.Constant) else number
            for number in value.constant
        )
        if all(number is ir.Undefined for number in numbers):
            return Constant(kind, None)
        return Constant(kind, tuple(signed(kind, 0 if n is None else n) for n in numbers))
    number = signed(kind, value.constant)
    if kind.is_truth:
        return Constant(kind, int(bool(number)))
    return Constant(kind, 0 if number is None and kind is not POINTER else number)


def signed(kind: Kind, number: Any) -> Any:
    """Return the signed number of an integer's bits; another number as it is."""
    if kind.base != "i" or kind.bits < 2 or number is None:
        return number
    half = 1 << (kind.bits - 1)
    return (number + half) % (2 * half) - half
