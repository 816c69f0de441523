"""Calls of the file's functions that take structures, put in place before members get names.

Before → after::

    int at(const grid *g, int x) { return g->w + x; }      u[g->w + (int)j] = 0;
    … u[at(g, j)] = 0;

    void push(ring *r, int v) { r->total += v; }           { int v_1 = a[i]; s.total += v_1; }
    … push(&s, a[i]);

What a member means is known then where members become arrays
(:mod:`~polygym.frontend.c.desugar.struct_members`). A call that cannot be put in place stays, to be
refused there. All other calls are put in place later (:mod:`~polygym.frontend.c.desugar.inlining`).
"""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from pycparser import c_ast

from polygym.errors import SourceError
from polygym.frontend.c.desugar.inlining import CallInliner
from polygym.frontend.c.sema.declarations import resolved_type
from polygym.frontend.c.source import syntax
from polygym.frontend.c.source.locations import SourceMap
from polygym.frontend.c.source.parser import ScopRegion, with_statements


def with_struct_calls(tree: Any, region: ScopRegion, source: SourceMap) -> ScopRegion:
    """Return a region without calls that take structures, where they can be put in place."""
    called = {
        getattr(call.name, "name", None) for call in syntax.walk(region.items, c_ast.FuncCall)
    }
    functions = syntax.functions_of(tree)
    if not called & set(functions) or not syntax.contains(tree, c_ast.Struct):
        return region
    takers = _functions_that_take_structures(tree)
    if not called & takers:
        return region
    spelled = {token.text for token in source.tokens}
    rewriter = _StructCalls(CallInliner(tree, source, spelled), takers)
    scope = syntax.declarations_before(region.function, region.begin)
    return with_statements(region, rewriter.statements(region.items, scope))


def _functions_that_take_structures(tree: Any) -> set[str]:
    """Return the names of functions with an argument that is a structure, or a pointer to one.

    One that moves an array or a pointer that it is given, ``w++``, or takes its address, is left
    out: the caller's own does not move.
    """
    typedefs = syntax.typedefs_of(tree)

    def keeps_pointers(function: Any) -> bool:
        moved = set(map(syntax.modified_name, syntax.walk(function.body))) | {
            part.expr.name
            for part in syntax.walk(function.body, c_ast.UnaryOp)
            if part.op == "&" and isinstance(part.expr, c_ast.ID)
        }
        return not any(
            argument.name in moved
            and not isinstance(resolved_type(argument.type, typedefs), c_ast.IdentifierType)
            for argument in syntax.arguments_of(function)
        )

    def is_structure(kind: Any) -> bool:
        kind = resolved_type(kind, typedefs)
        while isinstance(kind, c_ast.PtrDecl | c_ast.ArrayDecl):
            kind = resolved_type(kind.type, typedefs)
        return isinstance(kind, c_ast.Struct)

    return {
        name
        for name, function in syntax.functions_of(tree).items()
        if any(is_structure(argument.type) for argument in syntax.arguments_of(function))
        and keeps_pointers(function)
    }


class _StructCalls:
    """Rewrites the statements of one region."""

    def __init__(self, calls: CallInliner, takers: set[str]) -> None:
        self._calls, self._takers = calls, takers

    def statements(self, items: Iterable[Any], scope: dict[str, Any]) -> list[Any]:
        """Return statements without such calls; ``scope`` gets what they declare."""
        result = []
        for item in items:
            result += self._statement(item, scope)
            if isinstance(item, c_ast.Decl) and item.name:
                scope[item.name] = item
        return result

    def _statement(self, node: Any, scope: dict[str, Any]) -> list[Any]:
        """Return the statements for one."""
        match node:
            case c_ast.FuncCall() if self._is_block(node):
                return self._block(node, None, scope) or [node]
            case c_ast.Assignment(rvalue=c_ast.FuncCall() as call) if self._is_block(call):
                if node.op != "=" and self._calls.has_side_effects(call):
                    return [node]
                value = self._value(call, scope)
                if value is None:
                    return [node]
                target = self._expression(node.lvalue, scope)
                return [*value[0], c_ast.Assignment(node.op, target, value[1], node.coord)]
            case c_ast.Decl(init=c_ast.FuncCall() as call) if self._is_block(call):
                value = self._value(call, scope)
                if value is None:
                    return [node]
                new = syntax.copy_tree(node)
                new.init = value[1]
                return [*value[0], new]
            case c_ast.Compound():
                inner = self.statements(node.block_items or (), dict(scope))
                return [c_ast.Compound(inner, node.coord)]
            case c_ast.For():
                scope = dict(scope)
                for decl in getattr(node.init, "decls", None) or ():
                    scope[decl.name] = decl
                parts = [
                    self._expression(part, scope) for part in (node.init, node.cond, node.next)
                ]
                return [c_ast.For(*parts, self._body(node.stmt, scope), node.coord)]
            case c_ast.If():
                asked = self._expression(node.cond, scope)
                then, other = (self._body(part, scope) for part in (node.iftrue, node.iffalse))
                return [c_ast.If(asked, then, other, node.coord)]
            case c_ast.Label():
                return [c_ast.Label(node.name, self._body(node.stmt, scope), node.coord)]
            case c_ast.Switch() | c_ast.While() | c_ast.DoWhile():
                asked = self._expression(node.cond, scope)
                return [type(node)(asked, self._body(node.stmt, scope), node.coord)]
            case c_ast.Case():
                own = self.statements(node.stmts or (), scope)
                return [c_ast.Case(node.expr, own, node.coord)]
            case c_ast.Default():
                return [c_ast.Default(self.statements(node.stmts or (), scope), node.coord)]
            case _:
                return [self._expression(node, scope)]

    def _body(self, node: Any, scope: dict[str, Any]) -> Any:
        """Return one statement for one."""
        if node is None:
            return None
        result = self._statement(node, dict(scope))
        return result[0] if len(result) == 1 else c_ast.Compound(result, node.coord)

    def _is_block(self, call: Any) -> bool:
        """Whether a call takes a structure, and stands for a block."""
        return getattr(call.name, "name", None) in self._takers and self._calls.is_call(call)

    def _block(self, call: Any, result: str | None, scope: dict[str, Any]) -> list[Any]:
        """Return the block of a call; nothing where it cannot be put in place."""
        with suppress(SourceError), self._calls.recursion_guard(call):
            block = self._calls.inlined_block(call, result, scope)
            items = self.statements(map(_plain_members, block.block_items), dict(scope))
            return [c_ast.Compound(items, call.coord)]
        return []

    def _value(self, call: Any, scope: dict[str, Any]) -> tuple[list[Any], Any] | None:
        """Return the statements that compute what a call returns, and the variable with it."""
        kind = self._calls.result_type(call)
        if kind is None:
            return None
        name = self._calls.fresh_name(call.name.name)
        block = self._block(call, name, scope)
        declared = syntax.declaration(name, kind, None, call)
        return ([declared, *block], c_ast.ID(name, call.coord)) if block else None

    def _expression(self, node: Any, scope: dict[str, Any]) -> Any:
        """Return an expression, or any other node, with expressions for calls that are one."""

        def replacement(part: Any) -> Any:
            if not isinstance(part, c_ast.FuncCall):
                return None
            if getattr(part.name, "name", None) not in self._takers:
                return None
            if any(map(syntax.acts, syntax.operands_of(part))):
                return None
            with suppress(SourceError):
                inlined = self._calls.inlined_expression(part, scope)
                if inlined is not part:
                    return self._expression(_plain_members(inlined), scope)
            return None

        return None if node is None else syntax.copy_tree(node, replacement)


def _plain_members(node: Any) -> Any:
    """Return a tree with ``s.x`` for ``(&s)->x``, and ``s`` for ``*&s``."""

    def replacement(part: Any) -> Any:
        if isinstance(part, c_ast.UnaryOp) and part.op == "*":
            place = syntax.without_casts(part.expr)
            is_address = isinstance(place, c_ast.UnaryOp) and place.op == "&"
            return _plain_members(place.expr) if is_address else None
        if not isinstance(part, c_ast.StructRef) or part.type != "->":
            return None
        inner = syntax.without_casts(part.name)
        if not isinstance(inner, c_ast.UnaryOp) or inner.op != "&":
            return None
        return c_ast.StructRef(_plain_members(inner.expr), ".", part.field, part.coord)

    return syntax.copy_tree(node, replacement)
