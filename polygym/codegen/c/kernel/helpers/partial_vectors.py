"""Loads and stores of some lanes that are neighbours in memory: the first ones, or those in a mask.

On x86 the processor has instructions for them; elsewhere they go lane by lane, and the first lanes
of long vectors half by half.
"""

from __future__ import annotations

from polygym.codegen.c.kernel.helpers.definitions import guarded_definition, written_definition
from polygym.codegen.c.kernel.helpers.spread_lanes import each_lane, lane_parameter
from polygym.codegen.c.kernel.helpers.type_names import (
    bit_mask_type,
    intrinsics,
    lane_numbers,
    mask_type,
    split_type,
)


def load_partly(name: str, how: str, type_name: str) -> str:
    """Return the load of the ``first`` lanes, or of those in a ``mask``; others are 0."""
    base, bits, lanes = split_type(type_name)
    size, middle = bits // 8, lanes // 2
    head = f"{type_name} {name}(const void *from, {lane_parameter(how, type_name)})"
    if _goes_by_halves(how, type_name):
        half = f"{base}_x{middle}"
        call = f"polygym_load_first_{half}"
        slow = [
            f"  const {half} low = {call}(from, count);",
            f"  const {half} high =",
            f"      {call}((const char *)from + {middle * size}, count - {middle});",
            f"  return __builtin_shufflevector(low, high, {lane_numbers(0, lanes)});",
        ]
    else:
        copy = f"__builtin_memcpy((char *)&result + k * {size}, place + k * {size}, {size});"
        slow = [
            "  const char *place = from;",
            f"  {type_name} result = {{0}};",
            *(f"  {line}" for line in each_lane(how, lanes, copy)),
            "  return result;",
        ]
    return guarded_definition(head, _instructions(how, type_name, is_load=True), slow)


def store_partly(name: str, how: str, type_name: str) -> str:
    """Return the store of the ``first`` lanes, or of those in a ``mask``."""
    base, bits, lanes = split_type(type_name)
    size, middle = bits // 8, lanes // 2
    head = f"void {name}(void *to, {type_name} value, {lane_parameter(how, type_name)})"
    if _goes_by_halves(how, type_name):
        call = f"polygym_store_first_{base}_x{middle}"
        low, high = (
            f"__builtin_shufflevector(value, value, {lane_numbers(*part)})"
            for part in ((0, middle), (middle, lanes))
        )
        slow = [
            f"  {call}(to, {low}, count);",
            f"  {call}((char *)to + {middle * size},",
            f"      {high}, count - {middle});",
        ]
    else:
        copy = f"__builtin_memcpy(place + k * {size}, (const char *)&value + k * {size}, {size});"
        slow = ["  char *place = to;", *(f"  {line}" for line in each_lane(how, lanes, copy))]
    return guarded_definition(head, _instructions(how, type_name, is_load=False), slow)


def _goes_by_halves(how: str, type_name: str) -> bool:
    """Whether the first lanes of a vector are loaded and stored half by half."""
    _, bits, lanes = split_type(type_name)
    return how == "first" and lanes * bits > 256


def _instructions(how: str, type_name: str, *, is_load: bool) -> list[str]:
    """Return lines for x86 that load or store some lanes; none without an instruction.

    ``lanes`` is a mask of bits with AVX-512, and a vector with AVX2.
    """
    _, bits, lanes = split_type(type_name)
    known, mask = intrinsics(type_name), mask_type(type_name)
    if known is None or (how != "first" and bits < 32):
        return []
    if how == "first":
        bit_mask = _first_bits(lanes)
        lane_mask = f"polygym_first_{mask}(count)"
    else:
        bit_mask = f"polygym_bits_of_{mask}(mask)"
        lane_mask = "mask"
    stem, suffix = known.prefix, known.suffix
    if is_load:
        call = f"return ({type_name}){stem}_maskz_loadu_{suffix}(lanes, from);"
    else:
        call = f"{stem}_mask_storeu_{suffix}(to, lanes, ({known.vector})value);"
    kind = bit_mask_type(lanes)
    lines = [f"#if defined(__{known.guard}__)", f"  const {kind} lanes = {bit_mask};", f"  {call}"]
    if bits >= 32 and lanes * bits <= 256:
        narrow = _avx2_call(type_name, is_load=is_load)
        lines += ["#elif defined(__AVX2__)", f"  const {mask} lanes = {lane_mask};", f"  {narrow}"]
    return lines


def _first_bits(lanes: int) -> str:
    """Return an expression with a bit for each of the first lanes."""
    whole = f"0x{(1 << lanes) - 1:x}" + ("ull" if lanes > 32 else "u")
    unit = "1ull" if lanes > 32 else "1u"
    kind = bit_mask_type(lanes)
    return f"({kind})(count >= {lanes} ? {whole} : count < 1 ? 0 : ({unit} << count) - 1)"


def _avx2_call(type_name: str, *, is_load: bool) -> str:
    """Return the statement that loads or stores the lanes of a mask with AVX2."""
    base, bits, lanes = split_type(type_name)
    width = 128 if lanes * bits <= 128 else 256
    prefix = "_mm" if width == 128 else "_mm256"
    suffix, own, letter = {
        "double": ("pd", "double", "d"),
        "float": ("ps", "float", ""),
    }.get(base, (f"epi{bits}", "int" if bits == 32 else "long long", "i"))
    mask = f"(__m{width}i)lanes"
    if is_load:
        return f"return ({type_name}){prefix}_maskload_{suffix}((const {own} *)from, {mask});"
    return f"{prefix}_maskstore_{suffix}(({own} *)to, {mask}, (__m{width}{letter})value);"


def stream(name: str, type_name: str) -> str:
    """Return the store of a whole vector past the caches, where its address allows it."""
    base, bits, lanes = split_type(type_name)
    known = intrinsics(type_name)
    lines = []
    if known is not None:
        is_floating = base in ("double", "float")
        suffix = known.suffix if is_floating else f"si{bits * lanes}"
        guard = {"_mm": "SSE2", "_mm256": "AVX", "_mm512": "AVX512F"}[known.prefix]
        to = f"({base if is_floating else known.vector} *)to"
        lines = [
            f"#if defined(__{guard}__)",
            f"  if (((unsigned long)to & {bits * lanes // 8 - 1}) == 0) {{",
            f"    {known.prefix}_stream_{suffix}({to}, ({known.vector})value);",
            "    return;",
            "  }",
            "#endif",
        ]
    head = f"void {name}(void *to, {type_name} value)"
    return written_definition(head, [*lines, f"  *({type_name}_at *)to = value;"])
