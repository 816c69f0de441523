"""Counters whose value is asked for where no loop counts with them.

``for (i = 0; i < n; i++) …  x[i] = 0;`` uses i behind its loop. Most programs do not, and need no
thought about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

from pycparser import c_ast

from polygym.compiler.frontend.c.nodes import read_outside
from polygym.compiler.frontend.c.symbols import Names, Symbol


def exposed_counters(items: Sequence[Any], names: Names) -> set[Symbol]:
    """Return the counters of a region's loops that are read outside of all loops they count."""

    def counter_of(loop: Any) -> Symbol | None:
        return _counter(loop, names)

    found = (read_outside(item, names.of, counter_of) for item in items)
    return {symbol for symbol in chain.from_iterable(found) if names.iterates_in_region(symbol)}


def _counter(node: Any, names: Names) -> Symbol | None:
    """Return the counter of a loop."""
    match node.init:
        case c_ast.Assignment(lvalue=target):
            return names.of(target)
        case c_ast.DeclList(decls=[declaration]):
            return names.of(declaration)
        case _:
            return None
