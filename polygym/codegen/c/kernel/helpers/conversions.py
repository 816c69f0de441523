"""Helpers between types: bits of another type, conversions that saturate, types that alias."""

from __future__ import annotations

from polygym.codegen.c.kernel.helpers.definitions import definition
from polygym.codegen.c.kernel.helpers.type_names import SCALARS, c_type, is_vector, split_type


def aliasing_type(name: str, base: str) -> str:
    """Return a type of numbers that may be those of an array of another type."""
    return f"typedef {SCALARS[base][0]} {name} __attribute__((may_alias));"


def bits_as(name: str, source: str, target: str) -> str:
    """Return the bits of a number as another number."""
    return definition(
        f"{c_type(target)} {name}({c_type(source)} x)",
        f"{c_type(target)} result;",
        "__builtin_memcpy(&result, &x, sizeof result);",
        "return result;",
    )


def saturate(name: str, source: str, target: str) -> str:
    """Return the nearest integer that a type has, 0 for what is no number."""
    base, bits, lanes = split_type(target)
    if is_vector(target):
        source_base = source.partition("_x")[0]
        call = f"polygym_saturate_{source_base}_to_{base}"
        calls = ", ".join(f"{call}(x[{k}])" for k in range(lanes))
        own = target.removeprefix("u")
        return definition(f"{own} {name}({source} x)", f"return ({own}){{{calls}}};")
    signed = not base.startswith("u")
    low = f"-0x1p{bits - 1}" if signed else "0.0"
    high = f"0x1p{bits - 1 if signed else bits}"
    scalar = SCALARS[base][0]
    most = (1 << (bits - signed)) - 1
    suffix = ("" if signed else "u") + ("l" if bits == 64 else "")
    # A negative least number is its positive neighbour's complement: C has no such literal.
    least = f"-{most}{suffix} - 1" if signed else "0"
    return definition(
        f"{scalar} {name}({c_type(source)} x)",
        f"return x != x ? 0 : x <= {low} ? {least} : x >= {high} ? {most}{suffix} : ({scalar})x;",
    )
