"""Statements that no region has: why, and what to write instead."""

from __future__ import annotations

from typing import Any

from pycparser import c_ast

_REFUSED = {
    c_ast.While: "while loops are",
    c_ast.DoWhile: "do loops are",
    c_ast.Break: "break is",
    c_ast.Continue: "continue is",
    c_ast.Goto: "goto is",
    c_ast.Return: "return inside the region is",
    c_ast.Switch: "switch is",
    c_ast.Case: "switch is",
    c_ast.Default: "switch is",
}
_INSTEAD = {
    c_ast.While: "write 'for (i = …; i < …; i++)' where the number of iterations is known",
    c_ast.DoWhile: "write 'for (i = …; i < …; i++)' where the number of iterations is known",
    c_ast.Break: "let the loop run on, and put the rest of its body under an if",
    c_ast.Continue: "put the rest of the loop's body under an if with the opposite condition",
    c_ast.Goto: "write an if around what is skipped",
    c_ast.Return: "put what follows under an if",
    c_ast.Switch: "write if … else if …",
}


def refusal(node: Any) -> tuple[str, str]:
    """Return the sentence that refuses a statement, and what to write instead."""
    if type(node) not in _REFUSED:
        return "this has no effect or is not understood", ""
    return (
        f"{_REFUSED[type(node)]} not understood: which iterations run would depend on what ran "
        "before; a region is made of for loops and if alone",
        _INSTEAD.get(type(node), ""),
    )
