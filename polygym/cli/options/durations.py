"""``--time-limit``: a duration with a unit."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(\d+(?:\.\d*)?|\.\d+)([smh])")


class Duration(click.ParamType[float]):
    """A duration such as ``90s``, ``10m`` or ``1.5h``, in seconds."""

    name = "duration"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the seconds of a text."""
        if isinstance(value, float):
            return value
        match = _DURATION.fullmatch(str(value).strip())
        if match is None:
            self.fail(f"expected a duration such as 90s, 10m or 1.5h, found {value!r}", param, ctx)
        return float(match[1]) * _UNITS[match[2]]


DURATION = Duration()


def time_limit_option(help_text: str) -> Callable[[F], F]:
    """Return what adds ``--time-limit``."""
    return click.option("--time-limit", type=DURATION, metavar="DURATION", help=help_text)
