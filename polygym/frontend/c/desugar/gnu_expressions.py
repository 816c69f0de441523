"""``__typeof__``, ``__auto_type`` and blocks inside expressions, as macros of GNU C have them.

::

    #define MAX(a, b) ({ __typeof__(a) x = (a); __typeof__(b) y = (b); x > y ? x : y; })
    m = MAX(m, v[i]);    →    m = (double)(m) > (double)(v[i]) ? (double)(m) : (double)(v[i]);

A block that only declares variables with values, and ends in an expression, is that expression with
the values in the place of the variables, each converted to the variable's type. Nothing in it may
have an effect. Types come from the declarations around; one that is open stays a type of which
nothing is known, so that a region that uses it is refused.

The preprocessor writes ``__typeof__(e) x`` as ``_Alignas(e) polygym_typeof x``, which the parser
reads, and ``__auto_type x = e`` as ``polygym_auto x = e``.
"""

from typing import Any

from pycparser import c_ast

from polygym.frontend.c.sema.expression_types import ExpressionTypes
from polygym.frontend.c.source import syntax
from polygym.frontend.c.source.locations import SourceMap
from polygym.frontend.c.tokens.annotations import AUTO_TYPE, TYPEOF

_BLOCK_PARENTS = (
    c_ast.Assignment,
    c_ast.ArrayRef,
    c_ast.BinaryOp,
    c_ast.Cast,
    c_ast.Decl,
    c_ast.ExprList,
    c_ast.Return,
    c_ast.TernaryOp,
    c_ast.UnaryOp,
    c_ast.Alignas,
)


def resolve_gnu_expressions(tree: Any, source: SourceMap) -> None:
    """Rewrite the functions of a tree that is the caller's own."""
    words = {token.text for token in source.tokens}
    has_blocks = any(
        first.text == "(" and second.text == "{"
        for first, second in zip(source.tokens, source.tokens[1:], strict=False)
    )
    if not has_blocks and words.isdisjoint({AUTO_TYPE, TYPEOF}):
        return
    outside = [
        node
        for node in tree.ext
        if isinstance(node, c_ast.Decl) and node.name and not isinstance(node.type, c_ast.FuncDecl)
    ]
    file_types = ExpressionTypes.of(tree, outside, source)
    for function in syntax.functions_of(tree).values():
        _FunctionResolver(function, outside, file_types).resolve()


class _FunctionResolver:
    """Rewrites one function."""

    def __init__(self, function: Any, outside: list[Any], file_types: ExpressionTypes) -> None:
        self._function, self._outside = function, outside
        self._file_types = file_types
        self._is_cpp = file_types.source.cpp is not None

    def resolve(self) -> None:
        """Resolve declarations in their order, blocks from the innermost one."""
        self._visit(self._function.body)

    def _types(self) -> ExpressionTypes:
        """Return the types as they are known by now."""
        inside = [node for node in syntax.walk(self._function.body, c_ast.Decl) if node.name]
        declared = [*self._outside, *syntax.arguments_of(self._function), *inside]
        return self._file_types.with_declarations(declared)

    def _visit(self, node: Any) -> None:
        """Rewrite what is below a node."""
        for name in _slots(node):
            part = getattr(node, name, None)
            if isinstance(part, list):
                for place, item in enumerate(part):
                    part[place] = self._rewritten(node, item)
            elif isinstance(part, c_ast.Node):
                setattr(node, name, self._rewritten(node, part))
        if isinstance(node, c_ast.Decl):
            self._declare(node)

    def _rewritten(self, parent: Any, node: Any) -> Any:
        if not isinstance(node, c_ast.Node):
            return node
        self._visit(node)
        is_condition = isinstance(parent, c_ast.If) and node is parent.cond
        if isinstance(node, c_ast.Compound) and (
            isinstance(parent, _BLOCK_PARENTS) or is_condition
        ):
            return self._expression(node)
        return node

    def _declare(self, node: Any) -> None:
        """Give a declaration of an open type the type that its expression has."""
        bottom = node.type
        while isinstance(bottom, c_ast.PtrDecl | c_ast.ArrayDecl):
            bottom = bottom.type
        names = getattr(getattr(bottom, "type", None), "names", [])
        if names == [TYPEOF] and node.align:
            (operand,) = [part.alignment for part in node.align[:1]]
            kind = self._type_of(operand)
        elif names == [AUTO_TYPE] and node.init is not None:
            kind = self._decayed(self._type_of(node.init))
        else:
            return
        if kind is None or (isinstance(kind, c_ast.ArrayDecl) and bottom is not node.type):
            return
        node.align = []
        if bottom is node.type:
            node.type = _named(kind, node.name)
            return
        outer = node.type
        while outer.type is not bottom:
            outer = outer.type
        outer.type = _named(kind, node.name)

    def _type_of(self, node: Any) -> Any:
        if isinstance(node, c_ast.Typename):
            return node.type
        if self._is_cpp and self._has_narrow_choice(node):
            return None
        return self._types().type_of(node)

    def _has_narrow_choice(self, node: Any) -> bool:
        """Whether ``?:`` chooses among numbers that C converts to int, and C++ does not."""
        types = self._types()
        arms = [
            arm
            for choice in syntax.walk(node, c_ast.TernaryOp)
            for arm in (choice.iftrue, choice.iffalse)
        ]
        return any((kind := types.scalar(arm)) is None or kind.promoted is not kind for arm in arms)

    def _decayed(self, kind: Any) -> Any:
        if isinstance(kind, c_ast.ArrayDecl):
            return c_ast.PtrDecl([], kind.type, kind.coord)
        return kind

    def _expression(self, block: Any) -> Any:
        """Return the expression that a block is, or the block."""
        *declared, last = block.block_items or [None]
        values: dict[str, Any] = {}
        for node in declared:
            is_plain = isinstance(node, c_ast.Decl) and node.init is not None and not node.storage
            if not is_plain or syntax.names_in(node.init) & {node.name}:
                return block
            kind = node.type
            if not isinstance(kind, c_ast.TypeDecl) or self._file_types.number(kind) is None:
                return block
            plain = c_ast.TypeDecl(None, [], None, kind.type, node.coord)
            name = c_ast.Typename(None, [], None, plain, node.coord)
            values[node.name] = c_ast.Cast(name, _replaced(node.init, values), node.coord)
        if last is None or isinstance(last, c_ast.Decl) or not _is_pure([*values.values(), last]):
            return block
        return _replaced(last, values)


def _slots(node: Any) -> list[str]:
    return [name for name in type(node).__slots__ if name not in ("coord", "__weakref__")]


def _named(kind: Any, name: str) -> Any:
    """Return a copy of a type for a variable of a name."""
    if isinstance(kind, c_ast.PtrDecl):
        return c_ast.PtrDecl(list(kind.quals or []), _named(kind.type, name), kind.coord)
    return syntax.type_named(kind, name)


def _replaced(node: Any, values: dict[str, Any]) -> Any:
    """Return an expression with values in the place of variables."""

    def replacement(part: Any) -> Any:
        """Return what stands for a node."""
        if isinstance(part, c_ast.ID) and part.name in values:
            return syntax.copy_tree(values[part.name])
        if isinstance(part, c_ast.StructRef):
            return c_ast.StructRef(_replaced(part.name, values), part.type, part.field, part.coord)
        return None

    return syntax.copy_tree(node, replacement)


def _is_pure(nodes: list[Any]) -> bool:
    """Whether nothing has an effect: calls may have some."""
    return not any(
        syntax.is_modification(part) or isinstance(part, c_ast.FuncCall | c_ast.Compound)
        for node in nodes
        for part in syntax.walk(node)
    )
