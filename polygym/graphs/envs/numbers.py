"""Arguments that are numbers between two bounds, refused by their names."""

from __future__ import annotations

from math import inf, isfinite

from polygym.episodes import arguments
from polygym.errors import InputError

__all__ = ["real", "whole"]


def whole(name: str, value: object, least: int, most: int) -> int:
    """Return an integer argument.

    >>> whole("max_nodes", 100, 1, 1000)
    100

    Raises:
        InputError: it is none, or out of bounds.
    """
    found = arguments.whole(name, value)
    if not least <= found <= most:
        raise InputError(f"{name}: expected an integer from {least} to {most:,}, found {value!r}")
    return found


def real(name: str, value: object, most: float = inf) -> float:
    """Return a number from 0 on.

    Raises:
        InputError: it is none, negative, or too large.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not isfinite(value) or not 0 <= value <= most:  # type: ignore[operator, arg-type]
        raise InputError(f"{name}: expected a number from 0 on, found {value!r}")
    return float(value)  # type: ignore[arg-type]
