"""Helpers that compute: fused operations, roots, roundings, signs.

A fused operation of vectors is one instruction where the processor has it; else it is that of the
halves, and of single numbers in the end.
"""

from __future__ import annotations

from polygym.codegen.c.kernel.helpers.definitions import definition, guarded_definition
from polygym.codegen.c.kernel.helpers.type_names import (
    c_type,
    intrinsics,
    is_vector,
    lane_numbers,
    mask_type,
    split_type,
)

_FUSED = {
    "fma": ("fmadd", "{f}(a, b, c)", "a * b + c"),
    "fnma": ("fnmadd", "{f}(-a, b, c)", "c - a * b"),
    "fms": ("fmsub", "{f}(a, b, -c)", "a * b - c"),
    "fnms": ("fnmsub", "{f}(-a, b, -c)", "-(a * b) - c"),
}
_ROUNDING = {"floor": 9, "ceil": 10, "trunc": 11, "rint": 4}


def fused_operation(name: str, which: str, type_name: str) -> str:
    """Return a fused operation: as one instruction where the processor has it, else as two."""
    base, _, _ = split_type(type_name)
    kind = c_type(type_name)
    instruction, scalar, plain = _FUSED[which]
    known = intrinsics(type_name)
    condition = "if defined(__FMA__) || defined(__FP_FAST_FMA)"
    fast = [f"#{condition}"]
    if known is not None:
        guard = "AVX512F" if known.prefix == "_mm512" else "FMA"
        operands = ", ".join(f"({known.vector}){operand}" for operand in "abc")
        call = f"{known.prefix}_{instruction}_{known.suffix}({operands})"
        fast = [f"#if defined(__{guard}__)", f"  return ({kind}){call};", f"#el{condition}"]
    if is_vector(type_name):
        fast += _halves(name, type_name)
    else:
        fast.append(f"  return {scalar.format(f=_builtin('fma', base))};")
    head = f"{kind} {name}({kind} a, {kind} b, {kind} c)"
    return guarded_definition(head, fast, [f"  return {plain};"])


def _halves(name: str, type_name: str) -> list[str]:
    """Return lines that do the same for the halves of vectors, or for both lanes of two."""
    base, bits, lanes = split_type(type_name)
    stem = name[: -len(type_name)]
    if lanes * bits <= 128:
        calls = ", ".join(f"{stem}{base}(a[{k}], b[{k}], c[{k}])" for k in range(lanes))
        return [f"  return ({type_name}){{{calls}}};"]
    half = f"{base}_x{lanes // 2}"

    def part(places: str) -> str:
        parts = ", ".join(f"__builtin_shufflevector({n}, {n}, {places})" for n in "abc")
        return f"{stem}{half}({parts})"

    return [
        f"  const {half} low = {part(lane_numbers(0, lanes // 2))};",
        f"  const {half} high = {part(lane_numbers(lanes // 2, lanes))};",
        f"  return __builtin_shufflevector(low, high, {lane_numbers(0, lanes)});",
    ]


def exact_fma(name: str, type_name: str) -> str:
    """Return a fused operation that rounds once everywhere."""
    base, _, lanes = split_type(type_name)
    kind, builtin = c_type(type_name), _builtin("fma", base)
    head = f"{kind} {name}({kind} a, {kind} b, {kind} c)"
    if not is_vector(type_name):
        return definition(head, f"return {builtin}(a, b, c);")
    calls = ", ".join(f"{builtin}(a[{k}], b[{k}], c[{k}])" for k in range(lanes))
    return definition(head, f"return ({kind}){{{calls}}};")


def math_function(name: str, function: str, type_name: str) -> str:
    """Return a function of the mathematical library: of one number, or lane by lane."""
    base, _, lanes = split_type(type_name)
    kind, builtin = c_type(type_name), _builtin(function, base)
    arguments = ("a", "b") if function == "copysign" else ("a",)
    head = f"{kind} {name}({', '.join(f'{kind} {a}' for a in arguments)})"
    if not is_vector(type_name):
        return definition(head, f"return {builtin}({', '.join(arguments)});")
    mask = mask_type(type_name)
    sign = f"({mask})polygym_splat_{type_name}(-0.0{_suffix(base)})"
    if function == "fabs":
        return definition(head, f"return ({kind})(({mask})a & ~{sign});")
    if function == "copysign":
        return definition(head, f"return ({kind})((({mask})a & ~{sign}) | (({mask})b & {sign}));")
    calls = ", ".join(f"{builtin}(a[{k}])" for k in range(lanes))
    slow = f"  return ({kind}){{{calls}}};"
    return guarded_definition(head, _vector_math(function, type_name), [slow])


def _vector_math(function: str, type_name: str) -> list[str]:
    """Return lines that compute a root, or round, in one instruction; none where there is none."""
    known = intrinsics(type_name)
    if known is None or (function != "sqrt" and function not in _ROUNDING):
        return []
    prefix, suffix, operand = known.prefix, known.suffix, f"({known.vector})a"
    guard = {"_mm": "SSE4_1", "_mm256": "AVX", "_mm512": "AVX512F"}[prefix]
    if function == "sqrt":
        call = f"{prefix}_sqrt_{suffix}({operand})"
    else:
        verb = "roundscale" if prefix == "_mm512" else "round"
        call = f"{prefix}_{verb}_{suffix}({operand}, {_ROUNDING[function]})"
    return [f"#if defined(__{guard}__)", f"  return ({type_name}){call};"]


def _builtin(function: str, base: str) -> str:
    """Return the compiler's own function for numbers of a type."""
    return f"__builtin_{function}{_suffix(base)}"


def _suffix(base: str) -> str:
    """Return the end of the name of a builtin."""
    return "f" if base == "float" else ""
