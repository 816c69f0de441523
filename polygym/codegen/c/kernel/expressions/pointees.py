"""Types that pointers of C point to, and the kinds of their numbers."""

from __future__ import annotations

from polygym.codegen.c.kernel.values import Kind

UNSIGNED_POINTEES = frozenset(
    {
        "uint8_t",
        "uint16_t",
        "uint32_t",
        "uint64_t",
        "_Bool",
        "polygym_bfloat16",
        "unsigned char",
        "unsigned short",
        "unsigned int",
        "unsigned long",
    }
)
"""Types without a sign."""

_POINTEES = {
    "double": ("f", 64),
    "float": ("f", 32),
    "_Float16": ("f", 16),
    "long": ("i", 64),
    "uint64_t": ("i", 64),
    "unsigned long": ("i", 64),
    "int": ("i", 32),
    "uint32_t": ("i", 32),
    "int16_t": ("i", 16),
    "short": ("i", 16),
    "uint16_t": ("i", 16),
    "polygym_bfloat16": ("i", 16),
    "int8_t": ("i", 8),
    "signed char": ("i", 8),
    "uint8_t": ("i", 8),
    "_Bool": ("i", 8),
}


def matches(pointee: str, kind: Kind) -> bool:
    """Whether what a pointer of a type points to is a number of a kind."""
    return _POINTEES.get(pointee) == (kind.base, kind.bits)
