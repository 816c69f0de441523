"""Initialisers in plain form: arrays with their sizes, values in their order, strings as numbers.

The parser's tree has them as they are written; no later pass needs to know how many ways C has::

    int w[] = {1, 2};                int w[2] = {1, 2};
    int w[4] = {[2] = 5, 6};         int w[4] = {0, 0, 5, 6};
    double d[][2] = {{1, 2}, {3}};   double d[2][2] = {{1, 2}, {3}};
    char s[] = "ab";                 char s[3] = {97, 98, 0};

What is not as plain as this, as names of members or of several elements, stays as it is. In a
region a list is what it does each time: zeros in a loop, and what is listed beside them::

    int w[4] = {0, 7};               int w[4]; for (int at = 0; at < 4; at++) w[at] = 0; w[1] = 7;
"""

import re
from collections.abc import Callable, Iterator
from math import prod
from typing import Any

from pycparser import c_ast

from polygym.frontend.c.source import syntax
from polygym.frontend.c.source.literals import integer_value, parse_literal
from polygym.ir.expressions import FloatLiteral, IntegerLiteral

_MAX_ELEMENTS = 1 << 16
_CHARACTER = re.compile(r"\\(?:[0-7]{1,3}|x[0-9a-fA-F]+|.)|[^\\]", re.DOTALL)
_QUOTED = {"'": "\\'"}


def normalize_initializers(tree: Any) -> None:
    """Bring the initialisers of all arrays in a tree into plain form."""
    for declared in syntax.walk(tree, c_ast.Decl):
        is_array = isinstance(declared.type, c_ast.ArrayDecl)
        values = _values(declared.init, declared.type) if is_array else None
        if values is not None:
            declared.init = c_ast.InitList(values, declared.init.coord)
            if declared.type.dim is None and values:
                declared.type.dim = syntax.integer_node(len(values), declared)


def _values(init: Any, kind: Any) -> list[Any] | None:
    """Return the plain values of an array's list, row by row; None for what is not plain."""
    is_deep = isinstance(kind.type, c_ast.ArrayDecl)
    if isinstance(init, c_ast.Constant) and init.type == "string" and not is_deep:
        init = _listed(init, integer_value(kind.dim))
    if not isinstance(init, c_ast.InitList):
        return None
    values = _ordered(init, is_deep=is_deep)
    if values is None or not is_deep:
        return values
    rows = [_values(value, kind.type) for value in values]
    if any(row is None for row in rows):
        return None
    return [c_ast.InitList(row, init.coord) for row in rows]


def _listed(text: Any, size: int | None) -> Any:
    """Return the list of a string's characters and a zero; the string if it is not plain."""
    if not text.value.startswith('"'):
        return text
    pieces = _CHARACTER.findall(text.value[1:-1])
    literals = [parse_literal(f"'{_QUOTED.get(piece, piece)}'") for piece in pieces]
    values = [literal.value for literal in literals if isinstance(literal, IntegerLiteral)]
    if len(values) < len(literals):
        return text
    if size is None or size > len(values):
        values.append(0)
    return c_ast.InitList([syntax.integer_node(value, text) for value in values], text.coord)


def _ordered(init: Any, *, is_deep: bool) -> list[Any] | None:
    """Return the values of a list in their order, zeros between; None where that is not plain."""
    result: dict[int, Any] = {}
    place = 0
    for initializer in init.exprs:
        if isinstance(initializer, c_ast.NamedInitializer):
            designator = initializer.name[0] if len(initializer.name) == 1 else None
            is_place = isinstance(designator, c_ast.ArrayDesignator)
            named = integer_value(getattr(designator, "expr", None) if is_place else designator)
            if named is None or not 0 <= named < _MAX_ELEMENTS:
                return None
            place, value = named, initializer.expr
        else:
            value = initializer
        result[place] = value
        place += 1

    def nothing() -> Any:
        return c_ast.InitList([], init.coord) if is_deep else syntax.integer_node(0, init)

    return [result.get(at) or nothing() for at in range(max(result, default=-1) + 1)]


def initializing_statements(declared: Any, fresh: Callable[[str], str]) -> list[Any] | None:
    """Return statements that fill an array as its list says; None where that is not plain.

    ``fresh`` makes names of counters.
    """
    sizes, kind = syntax.array_type(declared.type)
    is_kept = set(declared.storage) & {"static", "extern"}
    if is_kept or None in sizes or not sizes or not isinstance(kind, c_ast.TypeDecl):
        return None
    lengths = [integer_value(size) for size in sizes]
    placed = list(_placed(declared.init, lengths, ()))
    if any(place is None for place, _ in placed):
        return None
    result: list[Any] = [syntax.declaration(declared.name, declared.type, None, declared)]
    if None in lengths or len(placed) < prod(length or 0 for length in lengths):
        result.append(_zeros(declared, sizes, fresh))
        placed = [(place, value) for place, value in placed if not _is_zero(value)]
    for place, value in placed:
        subscripts = [syntax.integer_node(subscript, declared) for subscript in place or ()]
        target = syntax.element_node(declared.name, subscripts, declared)
        result.append(c_ast.Assignment("=", target, value, value.coord))
    return result


def _placed(
    init: Any, lengths: list[int | None], above: tuple[int, ...]
) -> Iterator[tuple[tuple[int, ...] | None, Any]]:
    """Yield the values of a list and the elements that they are for; None for what is not plain."""
    inner = lengths[1:]
    rows = [isinstance(expr, c_ast.InitList) for expr in init.exprs]
    if inner and all(rows):
        for place, row in enumerate(init.exprs):
            yield from _placed(row, inner, (*above, place))
        return
    is_said = None not in inner or len(init.exprs) == 1
    for number, value in enumerate(init.exprs):
        if isinstance(value, c_ast.InitList | c_ast.NamedInitializer) or not is_said:
            yield None, value
            continue
        behind: tuple[int, ...] = ()
        rest = number
        for length in reversed(inner):
            rest, at = divmod(rest, length or 1)
            behind = (at, *behind)
        yield (*above, rest, *behind), value


def _zeros(declared: Any, sizes: list[Any], fresh: Callable[[str], str]) -> Any:
    """Return loops that set all elements of an array to zero."""
    counters = [fresh("at") for _ in sizes]
    names = [c_ast.ID(counter, declared.coord) for counter in counters]
    zero = syntax.integer_node(0, declared)
    target = syntax.element_node(declared.name, names, declared)
    result: Any = c_ast.Assignment("=", target, zero, declared.coord)
    for counter, size in reversed(list(zip(counters, sizes, strict=True))):
        span = (zero, "<", syntax.copy_tree(size))
        result = syntax.for_loop(counter, "int", span, "p++", result, declared)
    return result


def _is_zero(node: Any) -> bool:
    literal = parse_literal(node.value) if isinstance(node, c_ast.Constant) else None
    return isinstance(literal, IntegerLiteral | FloatLiteral) and literal.value == 0
