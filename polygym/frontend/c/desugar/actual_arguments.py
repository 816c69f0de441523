"""What functions and their arguments turn into where they are put in: expressions and names.

:func:`returned_expression` makes one expression of a function that does nothing but return;
:func:`renaming` says what stands for the names of one that is put in as a block; an
:class:`ActualArgument` is what an array argument is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from polygym.frontend.c.source.syntax_tree import (
    base_and_subscripts,
    copy_tree,
    statements_of,
    type_node,
    walk,
)

_MAX_EXPRESSION_NODES = 2000


@dataclass(frozen=True, slots=True)
class ActualArgument:
    """What an array or pointer argument stands for: a name, and subscripts before its own.

    ``offset`` is added to the first of its own subscripts; ``is_scalar`` says that it is the
    address of a scalar.
    """

    name: str
    leading_subscripts: tuple[Any, ...]
    offset: Any = None
    is_scalar: bool = False


def returned_expression(items: Sequence[Any], kind: Any) -> Any:
    """Return the expression that a function of a type returns if it does nothing else, or None.

    ``if (c) return a; return b;`` is ``c ? (T)a : (T)b``, T its type: each value is converted to it
    alone, and not first to a type for both. Constants of the function are put in, each converted to
    its type: of ``double t = x; return t * t;`` it is ``(double)x * (double)x``.
    """
    if not items:
        return None
    first, rest = items[0], items[1:]
    match first:
        case c_ast.Return():
            return first.expr
        case c_ast.Compound() if not rest:
            return returned_expression(statements_of(first), kind)
        case c_ast.If():
            then = returned_expression([*statements_of(first.iftrue), *rest], kind)
            other = returned_expression([*statements_of(first.iffalse), *rest], kind)
            if then is None or other is None:
                return None
            if isinstance(kind, c_ast.TypeDecl):
                then, other = (cast_expression(one, kind, one) for one in (then, other))
            return within_size_limit(
                c_ast.TernaryOp(first.cond, copy_tree(then), other, first.coord)
            )
        case c_ast.Decl(init=init) if init is not None and isinstance(first.type, c_ast.TypeDecl):
            if isinstance(init, c_ast.InitList) or set(first.storage) & {"static", "extern"}:
                return None
            expression = returned_expression(rest, kind)
            if expression is None or any(
                isinstance(one, c_ast.ID) and one.name == first.name for one in walk(init)
            ):
                return None
            value = cast_expression(init, first.type, first)
            return within_size_limit(copy_tree(expression, substitution({first.name: value})))
        case _:
            return None


def within_size_limit(expression: Any) -> Any:
    """Return an expression of a moderate size, None for one that has grown too large."""
    return expression if sum(1 for _ in walk(expression)) <= _MAX_EXPRESSION_NODES else None


def substitution(values: Mapping[str, Any]) -> Any:
    """Return a replacement of names by values, except for members and functions of that name."""

    def replacement(node: Any) -> Any:
        """Return what stands for a node."""
        match node:
            case c_ast.ID() if node.name in values:
                return copy_tree(values[node.name])
            case c_ast.FuncCall(name=c_ast.ID()):
                return c_ast.FuncCall(node.name, copy_tree(node.args, replacement), node.coord)
            case c_ast.StructRef():
                inner = copy_tree(node.name, replacement)
                return c_ast.StructRef(inner, node.type, node.field, node.coord)
        return None

    return replacement


def cast_expression(value: Any, kind: Any, like: Any) -> Any:
    """Return a value cast to a type."""
    plain = c_ast.TypeDecl(None, [], None, kind.type, like.coord)
    return c_ast.Cast(c_ast.Typename(None, [], None, plain, like.coord), value, like.coord)


def call_node(name: str, operands: list[Any], location_node: Any) -> Any:
    """Return a call of a function's name, at the place of a node."""
    return c_ast.FuncCall(
        c_ast.ID(name, location_node.coord),
        c_ast.ExprList(operands, location_node.coord),
        location_node.coord,
    )


def array_and_offset(node: Any) -> tuple[Any, Any] | None:
    """Return what may name an array and what is added to it, None for another sum.

    Of ``x + i + 1`` they are ``x`` and ``(long)i + 1``.
    """
    if not isinstance(node, c_ast.BinaryOp) or node.op not in ("+", "-"):
        return None
    if node.op == "+" and isinstance(node.left, c_ast.ID | c_ast.ArrayRef):
        return node.left, node.right
    result = array_and_offset(node.left)
    if result is None:
        return None
    wide = cast_expression(result[1], type_node("long", node), node)
    return result[0], c_ast.BinaryOp(node.op, wide, node.right, node.coord)


def declared_sizes(kind: Any, resolved: Any) -> list[Any]:
    """Return the sizes of an array type, None for one that is not said."""
    sizes: list[Any] = []
    while isinstance(kind, c_ast.ArrayDecl | c_ast.PtrDecl):
        sizes.append(kind.dim if isinstance(kind, c_ast.ArrayDecl) else None)
        kind = resolved(kind.type)
    return sizes


def element_type_key(kind: Any) -> Any:
    """Return what tells a type's elements from others."""
    while isinstance(kind, c_ast.ArrayDecl | c_ast.PtrDecl | c_ast.TypeDecl):
        kind = kind.type
    return sorted(getattr(kind, "names", [str(type(kind))]))


def renaming(
    own: Mapping[str, str],
    arrays: Mapping[str, ActualArgument],
    values: Mapping[str, Any] | None = None,
) -> Any:
    """Return a replacement of a function's names by those of the block, or by values."""
    values = values or {}

    def replacement(node: Any) -> Any:
        """Return what stands for a node."""
        match node:
            case c_ast.ArrayRef() | c_ast.UnaryOp(op="*"):
                base, subscripts = base_and_subscripts(node)
                if isinstance(base, c_ast.ID) and base.name in arrays:
                    mine = [copy_tree(subscript, replacement) for subscript in subscripts]
                    return caller_element(arrays[base.name], mine, node)
            case c_ast.ID() if node.name in values:
                return copy_tree(values[node.name])
            case c_ast.Pragma():
                return c_ast.EmptyStatement(node.coord)
            case c_ast.ID() if node.name in own:
                return c_ast.ID(own[node.name], node.coord)
            case c_ast.ID() if node.name in arrays:
                return caller_array(arrays[node.name], node)
            case c_ast.Decl() if node.name in own:
                new = copy_tree(node.type, replacement)
                init = copy_tree(node.init, replacement)
                return c_ast.Decl(
                    own[node.name],
                    [],
                    [],
                    [],
                    [],
                    with_name(new, own[node.name]),
                    init,
                    None,
                    node.coord,
                )
            case c_ast.FuncCall() if isinstance(node.name, c_ast.ID):
                return c_ast.FuncCall(
                    c_ast.ID(node.name.name, node.name.coord),
                    copy_tree(node.args, replacement),
                    node.coord,
                )
            case c_ast.StructRef():
                return c_ast.StructRef(
                    copy_tree(node.name, replacement), node.type, copy_tree(node.field), node.coord
                )
            case c_ast.Label():
                return copy_tree(node.stmt, replacement)
        return None

    return replacement


def with_name(kind: Any, name: str) -> Any:
    """Return a declaration's type with another name at its end."""
    if isinstance(kind, c_ast.TypeDecl):
        return c_ast.TypeDecl(name, [], None, kind.type, kind.coord)
    if isinstance(kind, c_ast.ArrayDecl):
        return c_ast.ArrayDecl(with_name(kind.type, name), kind.dim, [], kind.coord)
    return kind


def caller_element(actual: ActualArgument, subscripts: list[Any], node: Any) -> Any:
    """Return the caller's element for one of the function's."""
    is_zero = isinstance(subscripts[0], c_ast.Constant) and subscripts[0].value == "0"
    if actual.is_scalar and len(subscripts) == 1 and is_zero:
        return c_ast.ID(actual.name, node.coord)
    if actual.offset is not None:
        first = copy_tree(actual.offset)
        if not is_zero:
            first = c_ast.BinaryOp("+", first, subscripts[0], subscripts[0].coord)
        subscripts = [first, *subscripts[1:]]
    result: Any = c_ast.ID(actual.name, node.coord)
    for subscript in (*map(copy_tree, actual.leading_subscripts), *subscripts):
        result = c_ast.ArrayRef(result, subscript, node.coord)
    return result


def caller_array(actual: ActualArgument, node: Any) -> Any:
    """Return the caller's array for the function's, as an argument of another call."""
    result: Any = c_ast.ID(actual.name, node.coord)
    for subscript in map(copy_tree, actual.leading_subscripts):
        result = c_ast.ArrayRef(result, subscript, node.coord)
    if actual.is_scalar:
        return c_ast.UnaryOp("&", result, node.coord)
    if actual.offset is None:
        return result
    return c_ast.BinaryOp("+", result, copy_tree(actual.offset), node.coord)
