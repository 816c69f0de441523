"""Terms that are timed: the sizes on the command line, and what is said of a race."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from polygym.cli.output import heading, say, seconds
from polygym.errors import InputError

if TYPE_CHECKING:
    from polygym.terms.code.timed import Race

__all__ = ["print_race", "sizes_of"]


def sizes_of(texts: Sequence[str]) -> dict[str, int]:
    """Return sizes that are given as ``n=1000``.

    >>> sizes_of(["n=1000", "m=2"])
    {'n': 1000, 'm': 2}

    Raises:
        InputError: one is written otherwise.
    """
    found: dict[str, int] = {}
    for text in texts:
        name, sign, number = text.partition("=")
        if not sign or not name.strip() or not number.strip().lstrip("-").isdigit():
            raise InputError(f"--size: expected NAME=N, found {text!r}")
        found[name.strip()] = int(number)
    return found


def print_race(race: Race, compared_at: dict[str, int] | None) -> None:
    """Say what code came of two programs, and how long it runs."""
    first, last = race.runners
    heading("code")
    say(last.code.rstrip())
    sizes = ", ".join(f"{name} = {size}" for name, size in race.sizes)
    heading(f"measured{f', {sizes}' if sizes else ''}")
    for name, one in (("at first", first), ("at last", last)):
        if one.seconds is None:
            say(f"  {name:>9}  {one.trouble}", fg="red")
        else:
            say(f"  {name:>9}  {seconds(one.seconds)}, in the order {one.schedule}")
    ratio = race.ratio()
    if ratio is not None:
        rounds = len(first.samples)
        say(f"  {ratio:.2f} times as fast, the median of {rounds} rounds in turn")
    if compared_at is None:
        say("  not compared with the interpreter: no sizes at which it has a value soon enough")
    else:
        at = ", ".join(f"{name} = {size}" for name, size in compared_at.items())
        say(f"  both compute what the interpreter does{f' at {at}' if at else ''}")
