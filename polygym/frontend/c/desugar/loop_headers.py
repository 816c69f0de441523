"""The parts of a loop's header, ``for (i = 0, j = n; …; i++, j--)``, and what each of them is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pycparser import c_ast

from polygym.frontend.c.desugar.side_effects import modified_name
from polygym.frontend.c.source.syntax_tree import names_in


def has_dependent_parts(part: Any, others: Sequence[Any]) -> bool:
    """Whether one of several parts of a loop's start reads what another one sets."""
    started = {initialized_name(one) for one in others}
    counter = initialized_name(part)
    return any(name.name in started for name in names_in(part)) or any(
        name.name == counter for other in others for name in names_in(other)
    )


def header_parts(node: Any) -> list[Any]:
    """Return the parts of a loop's header."""
    match node:
        case None:
            return []
        case c_ast.ExprList():
            return list(node.exprs)
        case c_ast.DeclList():
            return list(node.decls)
        case _:
            return [node]


def is_modification_of(node: Any, name: str) -> bool:
    """Whether an expression changes a variable of a name."""
    return modified_name(node) == name


def initialized_name(node: Any) -> str | None:
    """Return the name of the variable that a part of a loop's first part gives a value."""
    if isinstance(node, c_ast.Decl):
        name: str = node.name
        return name
    return modified_name(node) if isinstance(node, c_ast.Assignment) and node.op == "=" else None
