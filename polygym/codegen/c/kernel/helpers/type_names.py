"""Types in the names of helpers: ``double``, ``int_x8``, and what x86 calls what works on them."""

from __future__ import annotations

from dataclasses import dataclass

SCALARS = {
    "double": ("double", 64),
    "float": ("float", 32),
    "half": ("_Float16", 16),
    "long": ("long", 64),
    "int": ("int", 32),
    "short": ("short", 16),
    "char": ("signed char", 8),
    "ulong": ("unsigned long", 64),
    "uint": ("unsigned", 32),
    "ushort": ("unsigned short", 16),
    "uchar": ("unsigned char", 8),
}
"""The C type and the bits of each scalar."""

_MASKS = {64: "long", 32: "int", 16: "short", 8: "char"}
TYPE_PATTERN = r"((?:u?(?:double|float|half|long|int|short|char))(?:_x\d+)?)"
"""The regular expression of a type."""


@dataclass(frozen=True, slots=True)
class Intrinsics:
    """Parts of the names of x86's intrinsics for a vector type.

    For ``double_x4`` they are the prefix ``_mm256``, the suffix ``pd``, the type ``__m256d`` and,
    for partial loads and stores, the guard ``AVX512VL``.
    """

    prefix: str
    suffix: str
    vector: str
    guard: str


def split_type(type_name: str) -> tuple[str, int, int]:
    """Return the scalar's name, its bits and the lanes (1 for a scalar) of a type."""
    base, _, lanes = type_name.partition("_x")
    return base, SCALARS[base][1], int(lanes or 1)


def is_vector(type_name: str) -> bool:
    """Whether a type has lanes."""
    return "_x" in type_name


def c_type(type_name: str) -> str:
    """Return a type as C has it: ``half`` → ``_Float16``, ``half_x8`` as it is."""
    return type_name if is_vector(type_name) else SCALARS[type_name][0]


def mask_type(type_name: str) -> str:
    """Return the type of masks for a vector type: ``double_x4`` → ``long_x4``."""
    _, bits, lanes = split_type(type_name)
    return f"{_MASKS[bits]}_x{lanes}"


def bit_mask_type(lanes: int) -> str:
    """Return AVX-512's type of masks with a bit for each lane."""
    return f"__mmask{max(lanes, 8)}"


def lane_numbers(first: int, end: int) -> str:
    """Return the numbers of lanes from one on, before another one: ``0, 1, 2, 3``."""
    return ", ".join(map(str, range(first, end)))


def intrinsics(type_name: str) -> Intrinsics | None:
    """Return the names of x86's intrinsics for a type, None without any."""
    base, bits, lanes = split_type(type_name)
    width = bits * lanes
    if not is_vector(type_name) or width not in (128, 256, 512):
        return None
    prefix = "_mm" if width == 128 else f"_mm{width}"
    guard = "AVX512F" if width == 512 else "AVX512VL"
    if base == "double":
        return Intrinsics(prefix, "pd", f"__m{width}d", guard)
    if base == "float":
        return Intrinsics(prefix, "ps", f"__m{width}", guard)
    if bits < 32:
        guard = "AVX512BW" if width == 512 else "AVX512BW__) && defined(__AVX512VL"
    return Intrinsics(prefix, f"epi{bits}", f"__m{width}i", guard)
