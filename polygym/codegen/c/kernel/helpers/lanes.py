"""Helpers for lanes of vectors: broadcasts, masks, selections, minima and maxima."""

from __future__ import annotations

from polygym.codegen.c.kernel.helpers.definitions import (
    INLINE,
    definition,
    guarded_definition,
    written_definition,
)
from polygym.codegen.c.kernel.helpers.type_names import (
    SCALARS,
    bit_mask_type,
    intrinsics,
    lane_numbers,
    mask_type,
    split_type,
)


def splat(name: str, type_name: str) -> str:
    """Return the broadcast of a number to all lanes."""
    base, _, lanes = split_type(type_name)
    values = ", ".join(["x"] * lanes)
    return definition(
        f"{type_name} {name}({SCALARS[base][0]} x)", f"return ({type_name}){{{values}}};"
    )


def keep(name: str, type_name: str) -> str:
    """Return the identity, whose value gcc keeps in a register."""
    _, bits, lanes = split_type(type_name)
    guard, places = {128: ("SSE2", "x"), 256: ("AVX", "x"), 512: ("AVX512F", "v")}.get(
        bits * lanes, ("none", "x")
    )
    body = [
        f"#if defined(__{guard}__) && !defined(__clang__)",
        f'  __asm__("" : "+{places}"(x));',
        "#endif",
        "  return x;",
    ]
    comment = "/* A value that stays in its register: gcc would load it again for each use. */"
    return f"{comment}\n{written_definition(f'{type_name} {name}({type_name} x)', body)}"


def select(name: str, type_name: str) -> str:
    """Return the lanes of a vector that are in a mask, and those of another one that are not."""
    base, bits, lanes = split_type(type_name)
    mask, known = mask_type(type_name), intrinsics(type_name)
    head = f"{type_name} {name}({mask} mask, {type_name} a, {type_name} b)"
    slow = [f"  return ({type_name})((mask & ({mask})a) | (~mask & ({mask})b));"]
    fast = []
    if known is not None and bits * lanes <= 256:
        suffix = known.suffix if base in ("double", "float") else "epi8"
        guard = "AVX2" if known.prefix == "_mm256" else "SSE4_1"
        operands = ", ".join(f"({known.vector}){operand}" for operand in ("b", "a", "mask"))
        call = f"{known.prefix}_blendv_{suffix}({operands})"
        fast = [f"#if defined(__{guard}__)", f"  return ({type_name}){call};"]
    return guarded_definition(head, fast, slow)


def lesser_or_greater(name: str, which: str, type_name: str) -> str:
    """Return the lesser or the greater of two vectors, lane by lane, as processors have it."""
    known, mask = intrinsics(type_name), mask_type(type_name)
    head = f"{type_name} {name}({type_name} a, {type_name} b)"
    sign, word = ("<", "min") if which == "lesser" else (">", "max")
    slow = [f"  return polygym_select_{type_name}(({mask})(a {sign} b), a, b);"]
    fast = []
    if known is not None:
        guard = {"_mm": "SSE4_1", "_mm256": "AVX2", "_mm512": "AVX512F"}[known.prefix]
        call = f"{known.prefix}_{word}_{known.suffix}(({known.vector})a, ({known.vector})b)"
        fast = [f"#if defined(__{guard}__)", f"  return ({type_name}){call};"]
    return guarded_definition(head, fast, slow)


def select_first(name: str, type_name: str) -> str:
    """Return the first lanes of a vector, and the others of another one."""
    mask = mask_type(type_name)
    head = f"{type_name} {name}(long count, {type_name} a, {type_name} b)"
    return definition(
        head, f"return polygym_select_{type_name}(polygym_first_{mask}(count), a, b);"
    )


def first_lanes(name: str, type_name: str) -> str:
    """Return the mask of the first lanes."""
    base, _, lanes = split_type(type_name)
    scalar = SCALARS[base][0]
    return definition(
        f"{type_name} {name}(long count)",
        f"const {scalar} some = ({scalar})(count < 0 ? 0 : count > {lanes} ? {lanes} : count);",
        f"return ({type_name}){{{lane_numbers(0, lanes)}}} < polygym_splat_{type_name}(some);",
    )


def bits_of_mask(name: str, type_name: str) -> str:
    """Return a mask as AVX-512 has it: one bit for each lane."""
    _, _, lanes = split_type(type_name)
    known = intrinsics(type_name)
    assert known is not None
    vector = known.vector
    return "\n".join(
        [
            "#if defined(__AVX512F__)",
            f"{INLINE} {bit_mask_type(lanes)} {name}({type_name} mask)",
            "{",
            f"  return {known.prefix}_cmplt_{known.suffix}_mask(({vector})mask, ({vector}){{0}});",
            "}",
            "#endif",
        ]
    )


def any_lane(name: str, type_name: str) -> str:
    """Return whether a mask has any lane."""
    _, _, lanes = split_type(type_name)
    return definition(
        f"int {name}({type_name} mask)",
        "int result = 0;",
        f"for (int k = 0; k < {lanes}; k++)",
        "  result |= mask[k] != 0;",
        "return result;",
    )
