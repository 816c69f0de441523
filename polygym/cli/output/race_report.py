"""Terms that are timed: the sizes on the command line, and what is said of a race."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from polygym.cli.output.console import format_seconds, heading, write_text
from polygym.errors import InputError

if TYPE_CHECKING:
    from polygym.terms.code.timing import TimingComparison

__all__ = ["print_race", "sizes_of"]


def sizes_of(texts: Sequence[str]) -> dict[str, int]:
    """Return sizes that are given as ``n=1000``.

    >>> sizes_of(["n=1000", "m=2"])
    {'n': 1000, 'm': 2}

    Raises:
        InputError: one is written otherwise.
    """
    result: dict[str, int] = {}
    for text in texts:
        name, sign, number = text.partition("=")
        if not sign or not name.strip() or not number.strip().lstrip("-").isdigit():
            raise InputError(f"--size: expected NAME=N, found {text!r}")
        result[name.strip()] = int(number)
    return result


def print_race(race: TimingComparison, compared_at: dict[str, int] | None) -> None:
    """Say what code came of two programs, and how long it runs."""
    first, last = race.timings
    heading("code")
    write_text(last.code.rstrip())
    sizes = ", ".join(f"{name} = {size}" for name, size in race.sizes)
    heading(f"measured{f', {sizes}' if sizes else ''}")
    for name, timing in (("at first", first), ("at last", last)):
        if timing.seconds is None:
            write_text(f"  {name:>9}  {timing.failure}", fg="red")
        else:
            write_text(
                f"  {name:>9}  {format_seconds(timing.seconds)}, in the order {timing.schedule}"
            )
    ratio = race.speedup()
    if ratio is not None:
        rounds = len(first.samples)
        write_text(f"  {ratio:.2f} times as fast, the median of {rounds} rounds in turn")
    if compared_at is None:
        write_text(
            "  not compared with the interpreter: no sizes at which it has a value soon enough"
        )
    else:
        at = ", ".join(f"{name} = {size}" for name, size in compared_at.items())
        write_text(f"  both compute what the interpreter does{f' at {at}' if at else ''}")
