"""Targets of pointer expressions: an array or a pointer, its subscripts, and an offset."""

from collections.abc import Callable
from typing import Any

from pycparser import c_ast

from polygym.frontend.c.source.syntax import array_type, as_long, element_node, integer_node


def pointer_and_offset(
    node: Any, is_pointer: Callable[[Any], bool]
) -> tuple[Any, list[Any]] | None:
    """Return the one pointer of a sum and what is added to it; None if there is none.

    Of ``b + n - 1 - i`` with a pointer b they are b and ``n``, ``-1``, ``-i``.
    """
    if is_pointer(node):
        return node, []
    if not isinstance(node, c_ast.BinaryOp) or node.op not in ("+", "-"):
        return None
    left = pointer_and_offset(node.left, is_pointer)
    if left is not None:
        term = node.right
        return left[0], [*left[1], term if node.op == "+" else negated(term)]
    right = pointer_and_offset(node.right, is_pointer) if node.op == "+" else None
    return None if right is None else (right[0], [node.left, *right[1]])


def negated(node: Any) -> Any:
    """Return an integer with the other sign."""
    inner = node if isinstance(node, c_ast.Constant) else as_long(node)
    return c_ast.UnaryOp("-", inner, node.coord)


def pointer_rank(kind: Any) -> int:
    """Return the number of dimensions of an array or a pointer, 0 for anything else."""
    sizes, element = array_type(kind)
    return 0 if isinstance(element, c_ast.FuncDecl) else len(sizes)


def is_pointer_type(kind: Any) -> bool:
    """Whether a type is that of a pointer to elements, or rows, or of an argument like one."""
    inner = getattr(kind, "type", None)
    is_first = isinstance(kind, c_ast.PtrDecl | c_ast.ArrayDecl)
    return is_first and not isinstance(inner, c_ast.FuncDecl | c_ast.PtrDecl)


def is_name(node: Any, name: str) -> bool:
    """Whether a node is a name."""
    return isinstance(node, c_ast.ID) and node.name == name


def array_and_subscripts(node: Any) -> tuple[str, list[Any]]:
    """Return the name of ``A[i][j]`` and its subscripts; no name for anything else."""
    base, subscripts = pointer_and_subscripts(node)
    return (base.name, subscripts) if isinstance(base, c_ast.ID) else ("", [])


def pointer_and_subscripts(node: Any) -> tuple[Any, list[Any]]:
    """Return what is subscripted, and its subscripts."""
    subscripts: list[Any] = []
    while isinstance(node, c_ast.ArrayRef):
        subscripts.insert(0, node.subscript)
        node = node.name
    return node, subscripts


def first_element_address(node: Any, declared: Any) -> Any:
    """Return ``&A[0][0]`` for ``(double *)A``, None for other nodes.

    ``declared`` is the declaration of A, whose elements have the type that the cast points to.
    """
    if not isinstance(node, c_ast.Cast) or not isinstance(node.to_type.type, c_ast.PtrDecl):
        return None
    rank, (_, element) = pointer_rank(declared.type), array_type(declared.type)
    pointed, own = (
        getattr(getattr(kind, "type", None), "names", None)
        for kind in (node.to_type.type.type, element)
    )
    if not rank or pointed is None or pointed != own:
        return None
    zeros = [integer_node(0, node)] * rank
    return c_ast.UnaryOp("&", element_node(node.expr.name, zeros, node), node.coord)
