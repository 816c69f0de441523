"""Names of loops' counters: a prefix that clashes with nothing, and the place from the outside."""

from __future__ import annotations

import re

from polygym.ir.scop import Scop


def counter_names(scop: Scop, count: int) -> tuple[str, ...]:
    """Return names for the loops' counters that clash with nothing in the program."""
    taken = {parameter.name for parameter in scop.parameters}
    taken |= {array.name for array in scop.arrays} | {scop.name}
    taken |= {name for statement in scop.statements for name in statement.iterators}
    prefix = "c"
    # Passes over the loops may add a loop for a counter, named with an underscore after it.
    while any(
        name in taken
        for position in range(count)
        for name in (f"{prefix}{position}", f"{prefix}{position}_")
    ):
        prefix += "_"
    return tuple(f"{prefix}{position}" for position in range(count))


def counter_place(name: str) -> int:
    """Return the place of a loop among those around it, from the outside: 0 for the outermost.

    >>> counter_place("c_12")
    12
    """
    match = re.search(r"(\d+)_?$", name)
    assert match is not None, name
    return int(match[1])
