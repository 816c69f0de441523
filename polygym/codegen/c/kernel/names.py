"""C names of types and of helpers.

A vector of eight doubles is a ``double_x8``; where it stands in memory, at the address of any
element, a ``double_x8_at``. Helpers are named for what they do and for the type::

    polygym_fma_double_x8      polygym_load_first_float_x16
"""

from __future__ import annotations

import re

from polygym.codegen.c.kernel.values import Kind

_BASES = {
    ("f", 64): "double",
    ("f", 32): "float",
    ("f", 16): "_Float16",
    ("i", 64): "long",
    ("i", 32): "int",
    ("i", 16): "short",
    ("i", 8): "char",
    ("i", 1): "int",
}
_SIZES = {"double": 8, "float": 4, "half": 2, "long": 8, "int": 4, "short": 2, "char": 1}
RESERVED = frozenset(
    "auto break case char const continue default do double else enum extern float for goto if int "
    "inline long register restrict return short signed sizeof static struct switch typedef union "
    "unsigned void volatile while free malloc abs exp log sqrt pow main time div "
    "y0 y1 yn j0 j1 jn gamma index".split()
)
"""Names that no variable gets: C's own, and functions that are called."""

VECTOR_NAME = re.compile(r"\b(u?)(double|float|half|long|int|short|char)_x(\d+)(_at)?\b")
"""The names of vector types."""


def scalar_name(kind: Kind, *, is_unsigned: bool = False) -> str:
    """Return the C type of one number: ``double``, ``unsigned long``, ``signed char``."""
    name = _BASES["i" if kind.base == "m" else kind.base, kind.bits]
    if is_unsigned and kind.base != "f":
        return f"unsigned {name}"
    return "signed char" if name == "char" else name


def type_name(kind: Kind, *, is_unsigned: bool = False) -> str:
    """Return the C type of a value."""
    if kind.base == "p":
        return "void *"
    if kind.lanes is None:
        return scalar_name(kind, is_unsigned=is_unsigned)
    name = _BASES["i" if kind.base == "m" else kind.base, kind.bits].replace("_Float16", "half")
    return f"{'u' if is_unsigned and kind.base != 'f' else ''}{name}_x{kind.lanes}"


def word_of(kind: Kind) -> str:
    """Return a part of a helper's name: ``double``, ``int_x8``."""
    return type_name(kind).replace("signed ", "").replace("_Float16", "half")


def vector_typedefs(text: str) -> list[str]:
    """Return the definitions of the vector types in a text."""
    names = {match.group(0).removesuffix("_at") for match in VECTOR_NAME.finditer(text)}
    for match in VECTOR_NAME.finditer(text):
        if match.group(2) == "double":
            names.add(f"long_x{match.group(3)}")
        if match.group(2) == "float":
            names.add(f"int_x{match.group(3)}")
    result = []
    for name in sorted(names, key=_order):
        whole = VECTOR_NAME.fullmatch(name)
        assert whole is not None
        unsigned, base, lanes, _ = whole.groups()
        scalar = {"half": "_Float16", "char": "signed char"}.get(base, base)
        if unsigned:
            scalar = f"unsigned {base}"
        size = _SIZES[base] * int(lanes)
        vector = f"vector_size({size})"
        result.append(f"typedef {scalar} {name} __attribute__(({vector}));")
        at = f"{vector}, aligned({_SIZES[base]}), may_alias"
        result.append(f"typedef {scalar} {name}_at __attribute__(({at}));")
    return result


def _order(name: str) -> tuple[str, int]:
    base, lanes = name.rsplit("_x", 1)
    return base, int(lanes)
