"""Loops that step by 1 until two values are equal, as loops with an order.

Before → after, where the counter is a signed integer or a pointer that the body leaves alone::

    for (; p != end; ++p) S        for (; p < end; ++p) S
    for (i = n; i != 0; i--) S     for (i = n; i > 0; i--) S

Where the two differ, the counter steps beyond its type, or its array, of which C says nothing. A
loop that counts down is changed only if its end is a number, as nothing else says that the start is
the larger one. Unsigned counters wrap around, and stay.
"""

from collections.abc import Callable
from typing import Any

from pycparser import c_ast

from polygym.frontend.c.source import syntax
from polygym.frontend.c.source.literals import integer_value
from polygym.frontend.c.source.parser import ScopRegion

_SIGNED = frozenset({"int", "long", "signed", "ptrdiff_t", "ssize_t", "int32_t", "int64_t"})


def ordered_conditions(tree: Any, region: ScopRegion) -> Callable[[Any], Any]:
    """Return a replacement of loops, for copies of trees; it returns None for what stays."""
    typedefs = syntax.typedefs_of(tree)
    declared: dict[str, list[Any]] = {}
    for part in (*tree.ext, region.function):
        nodes = syntax.walk(part, c_ast.Decl) if part is region.function else [part]
        for node in nodes:
            if isinstance(node, c_ast.Decl) and node.name:
                declared.setdefault(node.name, []).append(node.type)

    def is_ordered(name: str) -> bool:
        kinds = declared.get(name, [])
        return bool(kinds) and all(_is_ordered_type(kind, typedefs) for kind in kinds)

    def replacement(node: Any) -> Any:
        if isinstance(node, c_ast.Pragma):
            return node
        if not isinstance(node, c_ast.For):
            return None
        operator, counter = _order(node)
        if not operator or not is_ordered(counter):
            return None
        body = syntax.copy_tree(node.stmt, replacement)
        left, right = syntax.copy_tree(node.cond.left), syntax.copy_tree(node.cond.right)
        condition = c_ast.BinaryOp(operator, left, right, node.cond.coord)
        init, step = syntax.copy_tree(node.init), syntax.copy_tree(node.next)
        return c_ast.For(init, condition, step, body, node.coord)

    return replacement


def _order(loop: Any) -> tuple[str, str]:
    """Return the comparison for ``i != e`` and the counter; nothing for other loops."""
    match loop.cond, loop.next:
        case (
            c_ast.BinaryOp(op="!=", left=c_ast.ID(name=name), right=end),
            c_ast.UnaryOp(op=op, expr=c_ast.ID(name=stepped)),
        ) if name == stepped:
            stepped_inside = set(map(syntax.modified_name, syntax.walk(loop.stmt)))
            if name in stepped_inside | syntax.declared_names(loop.stmt):
                return "", ""
            if syntax.modified_names(loop.stmt) & syntax.names_in(end) or syntax.acts(end):
                return "", ""
            if name in syntax.names_in(end) or syntax.reads_elements(end):
                return "", ""
            if op in ("++", "p++"):
                return "<", str(name)
            if op in ("--", "p--") and integer_value(end) is not None:
                return ">", str(name)
        case _:
            pass
    return "", ""


def _is_ordered_type(kind: Any, typedefs: Any) -> bool:
    """Whether a type is that of a pointer or of signed integers that do not wrap."""
    while True:
        match kind:
            case c_ast.PtrDecl():
                return True
            case c_ast.TypeDecl():
                kind = kind.type
            case c_ast.IdentifierType(names=[name]) if name in typedefs and name not in _SIGNED:
                kind = typedefs[name]
            case c_ast.IdentifierType(names=names):
                return set(names) <= _SIGNED
            case _:
                return False
