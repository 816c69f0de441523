"""Initialisers in plain form: arrays with their sizes, values in their order, strings as numbers.

The parser's tree has them as they are written; nobody behind it needs to know how many ways C has::

    int w[] = {1, 2};                int w[2] = {1, 2};
    int w[4] = {[2] = 5, 6};         int w[4] = {0, 0, 5, 6};
    double d[][2] = {{1, 2}, {3}};   double d[2][2] = {{1, 2}, {3}};
    char s[] = "ab";                 char s[3] = {97, 98, 0};

What is not as plain as this, as names of members or of several elements, stays as it is.
"""

from __future__ import annotations

import re
from typing import Any

from pycparser import c_ast

from polygym.compiler.frontend.c.literals import parse_literal
from polygym.compiler.frontend.c.nodes import integer_node, walk
from polygym.compiler.ir.expr import IntegerLiteral

_LONGEST = 1 << 16
_CHARACTER = re.compile(r"\\(?:[0-7]{1,3}|x[0-9a-fA-F]+|.)|[^\\]", re.DOTALL)
_QUOTED = {"'": "\\'"}


def make_plain(tree: Any) -> None:
    """Bring the initialisers of all arrays in a tree into plain form."""
    for declared in walk(tree):
        if isinstance(declared, c_ast.Decl) and isinstance(declared.type, c_ast.ArrayDecl):
            _make_plain(declared)


def _make_plain(declared: Any) -> None:
    """Bring the initialiser of one array into plain form, and say its size."""
    values = _values(declared.init, declared.type)
    if values is not None:
        declared.init = c_ast.InitList(values, declared.init.coord)
        if declared.type.dim is None and values:
            declared.type.dim = integer_node(len(values), declared)


def _values(init: Any, kind: Any) -> list[Any] | None:
    """Return the plain values of an array's list, row by row; None for what is not plain."""
    is_deep = isinstance(kind.type, c_ast.ArrayDecl)
    if isinstance(init, c_ast.Constant) and init.type == "string" and not is_deep:
        init = _listed(init, _constant(kind.dim))
    if not isinstance(init, c_ast.InitList):
        return None
    values = _ordered(init, is_deep=is_deep)
    if values is None or not is_deep:
        return values
    rows = [_values(one, kind.type) for one in values]
    if any(row is None for row in rows):
        return None
    return [c_ast.InitList(row, init.coord) for row in rows]


def _listed(text: Any, size: int | None) -> Any:
    """Return the list of a string's characters and a zero; the string if it is not plain."""
    if not text.value.startswith('"'):
        return text
    pieces = _CHARACTER.findall(text.value[1:-1])
    found = [parse_literal(f"'{_QUOTED.get(piece, piece)}'") for piece in pieces]
    values = [one.value for one in found if isinstance(one, IntegerLiteral)]
    if len(values) < len(found):
        return text
    if size is None or size > len(values):
        values.append(0)
    return c_ast.InitList([integer_node(one, text) for one in values], text.coord)


def _ordered(init: Any, *, is_deep: bool) -> list[Any] | None:
    """Return the values of a list in their order, zeros between; None where that is not plain."""
    found: dict[int, Any] = {}
    place = 0
    for one in init.exprs:
        if isinstance(one, c_ast.NamedInitializer):
            designator = one.name[0] if len(one.name) == 1 else None
            named = _constant(
                designator.expr if isinstance(designator, c_ast.ArrayDesignator) else designator
            )
            if named is None or not 0 <= named < _LONGEST:
                return None
            place, value = named, one.expr
        else:
            value = one
        found[place] = value
        place += 1

    def nothing() -> Any:
        return c_ast.InitList([], init.coord) if is_deep else integer_node(0, init)

    return [found.get(at) or nothing() for at in range(max(found, default=-1) + 1)]


def _constant(node: Any) -> int | None:
    """Return the value of a number, None for anything else."""
    literal = parse_literal(node.value) if isinstance(node, c_ast.Constant) else None
    return literal.value if isinstance(literal, IntegerLiteral) else None
