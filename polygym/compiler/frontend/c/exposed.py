"""Counters whose value is asked for where no loop counts with them.

``for (i = 0; i < n; i++) …  x[i] = 0;`` uses i behind its loop. Most programs do not, and need no
thought about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pycparser import c_ast

from polygym.compiler.frontend.c.symbols import Names, Symbol


def exposed_counters(items: Sequence[Any], names: Names) -> set[Symbol]:
    """Return the counters of a region's loops that are read outside of all loops they count."""
    found: set[Symbol] = set()
    for item in items:
        _read(item, frozenset(), names, found)
    return {symbol for symbol in found if names.iterates_in_region(symbol)}


def _read(node: Any, counting: frozenset[Symbol], names: Names, found: set[Symbol]) -> None:
    """Collect the names that are read where they do not count."""
    match node:
        case None:
            return
        case c_ast.ID():
            symbol = names.of(node)
            if symbol is not None and symbol not in counting:
                found.add(symbol)
        case c_ast.For():
            counter = _counter(node, names)
            inner = counting | ({counter} if counter is not None else set())
            if isinstance(node.init, c_ast.Assignment):
                _read(node.init.rvalue, counting, names, found)
            else:
                for declaration in getattr(node.init, "decls", ()):
                    _read(declaration.init, counting, names, found)
            for part in (node.cond, node.next, node.stmt):
                _read(part, inner, names, found)
        case _:
            for _, child in node.children():
                _read(child, counting, names, found)


def _counter(node: Any, names: Names) -> Symbol | None:
    """Return the counter of a loop."""
    match node.init:
        case c_ast.Assignment(lvalue=target):
            return names.of(target)
        case c_ast.DeclList(decls=[declaration]):
            return names.of(declaration)
        case _:
            return None
