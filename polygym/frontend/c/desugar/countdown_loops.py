"""Loops that count down in their condition: ``for (i = n; i-- > 0;)``, as unsigned ones need it.

The body sees the counter after it was decremented, and so does what is behind the loop. With the
decremented value from the start, in the counter's own type T, that is the usual form::

    for (i = n; i-- > e;) …        →        for (i = (T) n - 1; i + 1 > e; i--) …

For an unsigned T, i + 1 is 0 where i has wrapped around, as the value before it was. A type
narrower than int is left alone: its i + 1 would not wrap around.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pycparser import c_ast

from polygym.frontend.c.source.syntax_tree import copy_tree, declaration, integer_node, walk

_WIDE = frozenset({"int", "long", "unsigned", "signed", "size_t", "int64_t", "uint64_t"})
_COMPARISONS = frozenset({">", ">=", "!="})


def normalize_countdown(node: Any, scope: Mapping[str, Any], resolved: Callable[[Any], Any]) -> Any:
    """Return a loop in the usual form, or as it is.

    ``scope`` has the declarations seen there; ``resolved`` follows the names of types.
    """
    if node.next is not None:
        return node
    found = _decrementing_comparison(node.cond)
    if found is None:
        return node
    counter, operator, bound = found
    match node.init:
        case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=name)) if name == counter.name:
            declared, value = scope.get(name), node.init.rvalue
        case c_ast.DeclList(decls=[c_ast.Decl(name=name) as declared]) if name == counter.name:
            value = declared.init
        case _:
            return node
    kind = getattr(declared, "type", None)
    if value is None or not _is_wide(resolved(kind)):
        return node
    target = c_ast.Typename(None, [], None, _unnamed_type(kind), node.coord)
    one = integer_node(1, node)
    first = c_ast.BinaryOp("-", c_ast.Cast(target, value, node.coord), one, node.coord)
    if isinstance(node.init, c_ast.Assignment):
        init: Any = c_ast.Assignment("=", node.init.lvalue, first, node.init.coord)
    else:
        init = c_ast.DeclList([declaration(name, kind, first, declared)], node.init.coord)
    before = c_ast.BinaryOp("+", counter, copy_tree(one), counter.coord)
    condition = c_ast.BinaryOp(operator, before, bound, node.cond.coord)
    step = c_ast.UnaryOp("p--", copy_tree(counter), node.cond.coord)
    return c_ast.For(init, condition, step, node.stmt, node.coord)


def _decrementing_comparison(condition: Any) -> tuple[Any, str, Any] | None:
    """Return the counter of ``i-- > e``, the comparison and e."""
    match condition:
        case c_ast.UnaryOp(op="p--", expr=c_ast.ID()):
            return condition.expr, "!=", integer_node(0, condition)
        case c_ast.BinaryOp(left=c_ast.UnaryOp(op="p--", expr=c_ast.ID())) if (
            condition.op in _COMPARISONS
            and not any(
                isinstance(one, c_ast.UnaryOp | c_ast.FuncCall) for one in walk(condition.right)
            )
        ):
            return condition.left.expr, condition.op, condition.right
        case _:
            return None


def _is_wide(kind: Any) -> bool:
    """Whether a type is an integer at least as wide as int."""
    return (
        isinstance(kind, c_ast.TypeDecl)
        and isinstance(kind.type, c_ast.IdentifierType)
        and set(kind.type.names) <= _WIDE
    )


def _unnamed_type(kind: Any) -> Any:
    """Return a type without a variable's name."""
    return c_ast.TypeDecl(None, [], None, kind.type, kind.coord)
