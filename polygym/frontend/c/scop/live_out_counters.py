"""Counters whose value is asked for where no loop counts with them.

``for (i = 0; i < n; i++) …  x[i] = 0;`` uses i behind its loop. Most programs do not, and need no
thought about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

from pycparser import c_ast

from polygym.frontend.c.sema.symbols import ResolvedNames, Symbol
from polygym.frontend.c.source.syntax_tree import read_outside_loops


def counters_read_after_loops(items: Sequence[Any], names: ResolvedNames) -> set[Symbol]:
    """Return the counters of a region's loops that are read outside of all loops they count."""

    def counter_of(loop: Any) -> Symbol | None:
        return _counter(loop, names)

    symbols = (read_outside_loops(item, names.symbol_of, counter_of) for item in items)
    return {symbol for symbol in chain.from_iterable(symbols) if names.iterates_in_region(symbol)}


def _counter(node: Any, names: ResolvedNames) -> Symbol | None:
    """Return the counter of a loop."""
    match node.init:
        case c_ast.Assignment(lvalue=target):
            return names.symbol_of(target)
        case c_ast.DeclList(decls=[declaration]):
            return names.symbol_of(declaration)
        case _:
            return None
