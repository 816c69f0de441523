"""Headers of loops: their parts, ``for (i = 0, j = n; …; i++, j--)``, and counting down in one.

In ``for (i = n; i-- > 0;)``, as unsigned counters need it, the body sees the counter after it was
decremented, and so does what is behind the loop. With the decremented value from the start, in the
counter's own type T, that is the usual form::

    for (i = n; i-- > e;) …        →        for (i = (T) n - 1; i + 1 > e; i--) …

For an unsigned T, i + 1 is 0 where i has wrapped around, as the value before it was. A type
narrower than int is left alone: its i + 1 would not wrap around.
"""

from collections.abc import Callable, Mapping
from typing import Any

from pycparser import c_ast

from polygym.frontend.c.source.syntax_tree import (
    cast_node,
    contains,
    copy_tree,
    declaration,
    integer_node,
    modified_name,
    names_in,
)

_WIDE = frozenset({"int", "long", "unsigned", "signed", "size_t", "int64_t", "uint64_t"})


def has_dependent_parts(part: Any, others: list[Any]) -> bool:
    """Whether one of several parts of a loop's start reads what another one sets."""
    started = {initialized_name(other) for other in others}
    return bool(names_in(part) & started) or initialized_name(part) in names_in(others)


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


def initialized_name(node: Any) -> str | None:
    """Return the name of the variable that a part of a loop's first part gives a value."""
    if isinstance(node, c_ast.Decl):
        name: str = node.name
        return name
    return modified_name(node) if isinstance(node, c_ast.Assignment) and node.op == "=" else None


def normalize_countdown(node: Any, scope: Mapping[str, Any], resolved: Callable[[Any], Any]) -> Any:
    """Return a loop that counts down in its condition in the usual form, others as they are.

    ``scope`` has the declarations seen there; ``resolved`` follows the names of types.
    """
    comparison = _decrementing_comparison(node.cond) if node.next is None else None
    if comparison is None:
        return node
    counter, operator, bound = comparison
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
    one = integer_node(1, node)
    first = c_ast.BinaryOp("-", cast_node(value, kind, node), one, node.coord)
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
        case c_ast.BinaryOp(
            op=">" | ">=" | "!=", left=c_ast.UnaryOp(op="p--", expr=c_ast.ID())
        ) if not contains(condition.right, c_ast.UnaryOp, c_ast.FuncCall):
            return condition.left.expr, condition.op, condition.right
        case _:
            return None


def _is_wide(kind: Any) -> bool:
    """Whether a type is an integer at least as wide as int."""
    names = getattr(getattr(kind, "type", None), "names", None)
    return isinstance(kind, c_ast.TypeDecl) and names is not None and set(names) <= _WIDE
