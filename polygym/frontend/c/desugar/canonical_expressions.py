"""Expressions in other words: sizes as numbers, truth values combined by bits as conditions.

``sizeof(double)``, ``sizeof p->key`` and ``sizeof(a) / sizeof(a[0])`` are constants where all sizes
of the array are; what has no constant size stays, and is refused. ``(i < n) & (j < m)`` is ``i < n
&& j < m`` if nothing changes in it, ``__builtin_expect(c, 1)`` is ``c``, ``i[A]`` is ``A[i]``, and
``*&x`` and ``&*x`` are ``x``. Counts of bits get bodies
(:mod:`~polygym.frontend.c.desugar.bit_functions`).
"""

from collections.abc import Mapping
from math import prod
from typing import Any

from pycparser import c_ast

from polygym.frontend.c.desugar.bit_functions import with_bit_functions
from polygym.frontend.c.sema.affine_expressions import COMPARISONS
from polygym.frontend.c.sema.expression_types import ExpressionTypes
from polygym.frontend.c.source import syntax
from polygym.frontend.c.source.literals import integer_value
from polygym.frontend.c.source.locations import SourceMap
from polygym.frontend.c.source.parser import ScopRegion

_POINTER_BYTES = 8


def with_canonical_expressions(tree: Any, region: ScopRegion, source: SourceMap) -> ScopRegion:
    """Return a region with numbers for sizes; the functions in the tree are changed, too."""
    with_bit_functions(tree)
    types = ExpressionTypes.of(tree, (), source)
    outside = [decl for decl in tree.ext if isinstance(decl, c_ast.Decl) and decl.name]
    marks = (region.begin, region.end)
    for function in syntax.functions_of(tree).values():
        arguments = syntax.arguments_of(function)
        inside = [decl for decl in syntax.walk(function.body, c_ast.Decl) if decl.name]
        names = [argument.name for argument in (*arguments, *inside)]
        declared = {decl.name: decl for decl in (*outside, *arguments, *inside)}
        declared = {name: decl for name, decl in declared.items() if names.count(name) < 2}
        own = frozenset(argument.name for argument in arguments)
        function.body = _canonicalized(function.body, marks, declared, own, types)
    return region.reread()


def _canonicalized(
    body: Any,
    marks: tuple[Any, Any],
    declared: Mapping[str, Any],
    arguments: frozenset[str],
    types: ExpressionTypes,
) -> Any:
    """Return a tree with numbers in the place of sizes; the marks stay the nodes that they are.

    ``declared`` are the declarations by name; those of ``arguments`` that look like arrays are
    pointers, as C has it.
    """

    def replacement(part: Any) -> Any:
        """Return what stands for a node."""
        if any(part is mark for mark in marks):
            return part
        match part:
            case c_ast.UnaryOp(op="sizeof"):
                size = _size(part.expr, declared, arguments, types)
                return None if size is None else c_ast.Constant("int", f"{size}UL", part.coord)
            case c_ast.BinaryOp(op="&" | "|") if _is_truth_value(part):
                sides = [syntax.copy_tree(side, replacement) for side in (part.left, part.right)]
                return c_ast.BinaryOp(part.op * 2, *sides, part.coord)
            case c_ast.ArrayRef(name=c_ast.ID(name=index), subscript=c_ast.ID(name=array)):
                if _is_numeric(declared.get(index)) and isinstance(
                    getattr(declared.get(array), "type", None), c_ast.ArrayDecl | c_ast.PtrDecl
                ):
                    return c_ast.ArrayRef(part.subscript, part.name, part.coord)
            case c_ast.UnaryOp(op="*", expr=c_ast.UnaryOp(op="&", expr=inner)):
                return syntax.copy_tree(inner, replacement)
            case c_ast.UnaryOp(op="&", expr=c_ast.UnaryOp(op="*", expr=inner)):
                return syntax.copy_tree(inner, replacement)
            case c_ast.FuncCall(name=c_ast.ID(name="__builtin_expect")) if part.args:
                return syntax.copy_tree(part.args.exprs[0], replacement)
        return None

    return syntax.copy_tree(body, replacement)


def _is_numeric(declared: Any) -> bool:
    """Whether a declaration is one of a variable of a type that C knows by its words."""
    kind = getattr(declared, "type", None)
    return isinstance(kind, c_ast.TypeDecl) and isinstance(kind.type, c_ast.IdentifierType)


def _is_truth_value(node: Any) -> bool:
    """Whether an expression is a comparison, or made of some, without effects."""
    if not isinstance(node, c_ast.BinaryOp):
        return False
    if node.op in ("&", "|", "&&", "||"):
        return _is_truth_value(node.left) and _is_truth_value(node.right)
    return node.op in COMPARISONS and not syntax.acts(node)


def _size(
    node: Any, declared: Mapping[str, Any], arguments: frozenset[str], types: ExpressionTypes
) -> int | None:
    """Return the bytes of a type or of what an expression names, None if they are not known."""
    if isinstance(node, c_ast.Typename):
        return _size_of_type(node.type, node, types)
    base, subscripts = syntax.base_and_subscripts(node)
    if isinstance(base, c_ast.StructRef):
        kind = types.with_declarations(declared.values()).type_of(node)
        return None if kind is None else _size_of_type(kind, node, types)
    if not isinstance(base, c_ast.ID) or base.name not in declared:
        return None
    kind = declared[base.name].type
    if base.name in arguments and isinstance(kind, c_ast.ArrayDecl):
        kind = c_ast.PtrDecl([], kind.type, kind.coord)
    for _ in subscripts:
        if not isinstance(kind, c_ast.ArrayDecl | c_ast.PtrDecl):
            return None
        kind = kind.type
    return _size_of_type(kind, node, types)


def _size_of_type(kind: Any, node: Any, types: ExpressionTypes) -> int | None:
    extents = []
    while isinstance(kind, c_ast.ArrayDecl):
        extents.append(_value(kind.dim))
        kind = kind.type
    if isinstance(kind, c_ast.PtrDecl):
        element: int | None = _POINTER_BYTES
    else:
        scalar = types.number(kind)
        if scalar is None:
            return None
        element = scalar.size
    known = [extent for extent in extents if extent is not None]
    return element * prod(known) if element is not None and len(known) == len(extents) else None


def _value(node: Any) -> int | None:
    """Return the value of a sum or a product of constants, None for anything else."""
    match node:
        case c_ast.BinaryOp(op="+" | "-" | "*"):
            left, right = _value(node.left), _value(node.right)
            if left is None or right is None:
                return None
            return {"+": left + right, "-": left - right, "*": left * right}[node.op]
        case _:
            return integer_value(node)
