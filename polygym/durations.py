"""Durations with a unit, as options and environment variables have them."""

import re

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(\d+(?:\.\d*)?|\.\d+)([smh])")


def parse_duration(text: str) -> float:
    """Return the seconds of a duration.

    Raises:
        ValueError: it is no number with a unit.

    >>> parse_duration("90s"), parse_duration("1.5h")
    (90.0, 5400.0)
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"expected a duration such as 90s, 10m or 1.5h, found {text!r}")
    return float(match[1]) * _UNITS[match[2]]
