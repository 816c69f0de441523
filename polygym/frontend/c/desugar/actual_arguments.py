"""Functions and their arguments where they are inlined: expressions and names.

:func:`returned_expression` makes one expression of a function that does nothing but return;
:func:`renaming` says what stands for the names of one that is put in as a block; an
:class:`ActualArgument` is what an array argument is given.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from polygym.frontend.c.source.syntax import (
    as_long,
    base_and_subscripts,
    cast_node,
    copy_tree,
    declaration,
    element_node,
    is_zero,
    names_in,
    statements_of,
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
                then, other = (cast_node(value, kind, value) for value in (then, other))
            return within_size_limit(
                c_ast.TernaryOp(first.cond, copy_tree(then), other, first.coord)
            )
        case c_ast.Decl(init=init) if init is not None and isinstance(first.type, c_ast.TypeDecl):
            if isinstance(init, c_ast.InitList) or set(first.storage) & {"static", "extern"}:
                return None
            expression = returned_expression(rest, kind)
            if expression is None or first.name in names_in(init):
                return None
            value = cast_node(init, first.type, first)
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
    return result[0], c_ast.BinaryOp(node.op, as_long(result[1]), node.right, node.coord)


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
                return declaration(own[node.name], new, init, node)
            case c_ast.FuncCall(name=c_ast.ID()):
                arguments = copy_tree(node.args, replacement)
                return c_ast.FuncCall(copy_tree(node.name), arguments, node.coord)
            case c_ast.StructRef():
                return c_ast.StructRef(
                    copy_tree(node.name, replacement), node.type, copy_tree(node.field), node.coord
                )
            case c_ast.Label():
                return copy_tree(node.stmt, replacement)
        return None

    return replacement


def caller_element(actual: ActualArgument, subscripts: list[Any], node: Any) -> Any:
    """Return the caller's element for one of the function's."""
    if actual.is_scalar and len(subscripts) == 1 and is_zero(subscripts[0]):
        return c_ast.ID(actual.name, node.coord)
    if actual.offset is not None:
        first = copy_tree(actual.offset)
        if not is_zero(subscripts[0]):
            first = c_ast.BinaryOp("+", first, subscripts[0], subscripts[0].coord)
        subscripts = [first, *subscripts[1:]]
    leading = map(copy_tree, actual.leading_subscripts)
    return element_node(actual.name, [*leading, *subscripts], node)


def caller_array(actual: ActualArgument, node: Any) -> Any:
    """Return the caller's array for the function's, as an argument of another call."""
    result = element_node(actual.name, list(map(copy_tree, actual.leading_subscripts)), node)
    if actual.is_scalar:
        return c_ast.UnaryOp("&", result, node.coord)
    if actual.offset is None:
        return result
    return c_ast.BinaryOp("+", result, copy_tree(actual.offset), node.coord)
