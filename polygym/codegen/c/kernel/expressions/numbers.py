"""Numbers as C."""

from __future__ import annotations

import math
import struct
from typing import Any

from polygym.codegen.c.kernel.values import LONG, Kind


def number_text(kind: Kind, value: Any) -> str:
    """Return a number as C: ``0.1f``, ``-3``, ``4000000000L``."""
    if kind.base == "f":
        return _float_text(float(value), kind.bits)
    value = int(value)
    if kind == LONG and value == -(1 << 63):
        return "(-9223372036854775807L - 1)"
    if kind.bits == 32 and value == -(1 << 31):
        return "(-2147483647 - 1)"
    return f"{value}L" if kind.bits == 64 and abs(value) >= 1 << 15 else str(value)


def _float_text(value: float, bits: int) -> str:
    """Return a floating number, so short that it is read as the same number."""
    suffix = "f" if bits == 32 else ""
    if math.isnan(value):
        return f'__builtin_nan{suffix}("")'
    if math.isinf(value):
        return f"{'-' if value < 0 else ''}__builtin_inf{suffix}()"
    if bits == 64:
        return repr(value)
    value = struct.unpack("f", struct.pack("f", value))[0]
    short = f"{value:.9g}"
    if "." not in short and "e" not in short:
        short += ".0"
    return short + suffix
