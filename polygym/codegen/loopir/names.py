"""Names: of loops' counters, with the place from the outside, and of what passes add."""

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


class CodegenNames:
    """The names that a program has; new ones are taken as they are given."""

    def __init__(self, scop: Scop) -> None:
        """Take the names of a program."""
        self._taken = {array.name for array in scop.arrays} | {p.name for p in scop.parameters}
        self._taken |= {statement.name for statement in scop.statements} | set(scop.signature)

    def fresh(self, name: str) -> str:
        """Return a name that nothing has yet, and take it."""
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name


def counter_depth(name: str) -> int:
    """Return the place of a loop among those around it, from the outside: 0 for the outermost.

    >>> counter_depth("c_12")
    12
    """
    match = re.search(r"(\d+)_?$", name)
    assert match is not None, name
    return int(match[1])
