"""Bounds of loops that are read from memory, where that can be exact.

What the region does not change is read once, in front of it, and is a parameter like any other::

    for (j = 0; j < n[0]; j++) …       →       int n_0 = n[0];
                                               #pragma scop
                                               for (j = 0; j < n_0; j++) …

A bound that another iteration has otherwise, beside one that is affine, becomes a condition on
data: the affine one says how far the loop may run, and what is beyond the other does nothing::

    for (j = 0; j < m && j < n[i]; j++) …   →   for (j = 0; j < m; j++) if (j < n[i]) …

That is the same where the condition never holds again once it fails: it compares the counter alone
with what the body does not change, in the direction of the loop; and where nobody asks for the
counter's value behind the loop. Beside something unsigned a negative counter is large: with j = -2,
``j < k[i]`` fails and holds from 0 on. So both sides are signed, or the counter is never negative.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from pycparser import c_ast

from polygym.compiler.frontend.c.nodes import (
    base_and_subscripts,
    block_with,
    changed_in,
    conjuncts,
    copied,
    declaration,
    names_in,
    read_outside,
    walk,
)

_UPWARDS = {"<": ">", "<=": ">="}
_DOWNWARDS = {">": "<", ">=": "<="}
_SIGNED = frozenset({"int", "long", "short", "signed", "float", "double"})
_NO_INTEGERS = frozenset({"float", "double", "void"})


class DataBounds:
    """Rewrites the loops of one region in plain form."""

    def __init__(
        self,
        function: Any,
        begin: Any,
        declared: Mapping[str, Any],
        fresh: Callable[[str], str],
    ) -> None:
        """``declared`` are the variables outside the region, ``fresh`` makes names like others."""
        self._function, self._begin = function, begin
        self._declared, self._fresh = declared, fresh
        self._parameters: dict[str, str] = {}
        self._data: set[str] = set()
        self._exposed: set[str] = set()

    def apply(self, items: list[Any]) -> list[Any]:
        """Return the region's statements with other bounds."""
        loops = [one for item in items for one in walk(item) if isinstance(one, c_ast.For)]
        if not any(map(_reads_memory, loops)):
            return items
        inner = {one.name for item in items for one in walk(item) if isinstance(one, c_ast.Decl)}
        changed = {name for item in items for name in _changed(item)} | inner
        for loop in loops:
            self._read_before(loop, changed)
        self._data = _names_on_data(items)
        self._exposed = set(read_outside(self._function.body, _name, _counter))
        return [copied(item, self._loop) for item in items]

    def _read_before(self, loop: Any, changed: Collection[str]) -> None:
        """Let a loop's header have parameters for what the region does not change."""

        def replacement(node: Any) -> Any:
            """Return a parameter for what is read from memory."""
            base, subscripts = base_and_subscripts(node)
            if not subscripts or not isinstance(base, c_ast.ID) or base.name in inside:
                return None
            if any(one.name in changed for one in names_in(node)):
                return None
            if any(isinstance(one, c_ast.FuncCall) for one in walk(node)):
                return None
            kind = _element(self._declared.get(base.name), len(subscripts))
            where = repr((base.name, *map(_key, subscripts)))
            return None if kind is None else self._parameter(where, node, base.name, kind)

        inside = {one.name for one in getattr(loop.init, "decls", None) or ()}
        inside |= {counter} if (counter := _counter(loop)) else set()
        for part in ("init", "cond", "next"):
            setattr(loop, part, copied(getattr(loop, part), replacement))

    def _parameter(self, where: str, node: Any, name: str, kind: Any) -> Any:
        """Return the variable that has a value from memory; ``where`` says which element it is."""
        if where not in self._parameters:
            new = self._fresh(name)
            self._parameters[where] = new
            block = block_with(self._function.body, self._begin)
            place = next(i for i, item in enumerate(block) if item is self._begin)
            block.insert(place, declaration(new, kind, copied(node), node))
        return c_ast.ID(self._parameters[where], node.coord)

    def _loop(self, node: Any) -> Any:
        """Return a loop whose bounds on data are conditions of its body; None for other nodes."""
        if not isinstance(node, c_ast.For) or node.cond is None:
            return None
        parts = list(conjuncts(node.cond))
        counter = _counter(node)
        changes = set(_changed(node.stmt)) | {
            one.name for one in walk(node.stmt) if isinstance(one, c_ast.Decl)
        }
        asked = [one for one in parts if self._ends_loop(one, node, counter, changes)]
        rest = [one for one in parts if one not in asked]
        if not asked or not rest or counter in changes:
            return None
        if not isinstance(node.init, c_ast.DeclList) and counter in self._exposed:
            return None
        body = copied(node.stmt, self._loop)
        inside = c_ast.If(_conjunction(asked), body, None, node.stmt.coord)
        return c_ast.For(node.init, _conjunction(rest), node.next, inside, node.coord)

    def _ends_loop(
        self, condition: Any, loop: Any, counter: str | None, changes: Collection[str]
    ) -> bool:
        """Whether a condition on data fails for ever once it has failed."""
        mirrored = _direction(loop)
        if not isinstance(condition, c_ast.BinaryOp) or mirrored is None:
            return False

        def is_counter(part: Any) -> bool:
            return isinstance(part, c_ast.ID) and part.name == counter

        if is_counter(condition.left) and condition.op in mirrored:
            bound = condition.right
        elif is_counter(condition.right) and condition.op in mirrored.values():
            bound = condition.left
        else:
            return False
        names = {one.name for one in names_in(bound)}
        on_data = _reads_memory(bound) or bool(names & self._data)
        has_call = any(isinstance(one, c_ast.FuncCall) for one in walk(bound))
        if not on_data or has_call or counter in names or names & set(changes):
            return False
        return self._is_signed(bound) or self._is_never_negative(loop, counter)

    def _is_signed(self, bound: Any) -> bool:
        """Whether an expression surely has no unsigned type."""
        return all(
            self._types(one.name) and not any(map(_may_be_unsigned, self._types(one.name)))
            for one in names_in(bound)
        ) and not any(
            isinstance(one, c_ast.Cast | c_ast.StructRef)
            or (isinstance(one, c_ast.UnaryOp) and one.op == "sizeof")
            or (isinstance(one, c_ast.Constant) and not one.value.isdigit())
            for one in walk(bound)
        )

    def _is_never_negative(self, loop: Any, counter: str | None) -> bool:
        """Whether a counter starts from, or stays above, a number that is not negative."""
        if _direction(loop) is _UPWARDS:
            first = getattr(loop.init, "rvalue", None)
            if isinstance(loop.init, c_ast.DeclList):
                first = loop.init.decls[0].init
            return _is_natural(first)
        return any(
            isinstance(one, c_ast.BinaryOp)
            and one.op in _DOWNWARDS
            and isinstance(one.left, c_ast.ID)
            and one.left.name == counter
            and _is_natural(one.right)
            for one in conjuncts(loop.cond)
        )

    def _types(self, name: str) -> list[Any]:
        """Return the types of all variables of a name."""
        own = [
            one.type
            for one in walk(self._function)
            if isinstance(one, c_ast.Decl) and one.name == name
        ]
        outside = self._declared.get(name)
        return own if outside is None else [*own, outside.type]


def _is_natural(node: Any) -> bool:
    """Whether a node is a number."""
    return isinstance(node, c_ast.Constant) and node.value.isdigit()


def _may_be_unsigned(kind: Any) -> bool:
    """Whether elements of a type may be unsigned."""
    while isinstance(kind, c_ast.PtrDecl | c_ast.ArrayDecl):
        kind = kind.type
    words = getattr(getattr(kind, "type", None), "names", ["unknown"])
    return not set(words) <= _SIGNED


def _reads_memory(node: Any) -> bool:
    """Whether an expression, or a loop's header, reads an element."""
    if isinstance(node, c_ast.For):
        # What stands in it may have been read before.
        return any(map(_reads_memory, (node.init, node.next))) or _has_name(node.cond)
    return node is not None and any(
        isinstance(one, c_ast.ArrayRef) or (isinstance(one, c_ast.UnaryOp) and one.op == "*")
        for one in walk(node)
    )


def _has_name(node: Any) -> bool:
    return node is not None and any(isinstance(one, c_ast.ID) for one in walk(node))


def _changed(node: Any) -> Iterator[str]:
    """Yield the names that a statement changes."""
    for base in changed_in(node):
        if isinstance(base, c_ast.ID):
            yield base.name
        else:
            yield from (one.name for one in names_in(base))


def _names_on_data(items: list[Any]) -> set[str]:
    """Return the scalars that are assigned something that is read from memory."""
    found: set[str] = set()
    assigned = [
        (name, value)
        for item in items
        for one in walk(item)
        for name, value in _assigned(one)
        if value is not None
    ]
    before = -1
    while len(found) > before:
        before = len(found)
        found |= {
            name
            for name, value in assigned
            if _reads_memory(value) or any(one.name in found for one in names_in(value))
        }
    return found


def _assigned(node: Any) -> Iterator[tuple[str, Any]]:
    """Yield the scalar that a node assigns, and what."""
    if isinstance(node, c_ast.Assignment) and isinstance(node.lvalue, c_ast.ID):
        yield node.lvalue.name, node.rvalue
    elif isinstance(node, c_ast.Decl) and node.name:
        yield node.name, node.init


def _name(identifier: Any) -> str:
    return str(identifier.name)


def _counter(loop: Any) -> str | None:
    """Return the name of the counter that a loop starts."""
    match loop.init:
        case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=name)):
            return str(name)
        case c_ast.DeclList(decls=[one]):
            return str(one.name)
        case _:
            return None


def _direction(loop: Any) -> Mapping[str, str] | None:
    """Return the comparisons that end a loop in its direction, with those from the other side."""
    match loop.next:
        case c_ast.UnaryOp(op="++" | "p++"):
            return _UPWARDS
        case c_ast.UnaryOp(op="--" | "p--"):
            return _DOWNWARDS
        case c_ast.Assignment(op="+=", rvalue=c_ast.Constant()):
            return _UPWARDS
        case c_ast.Assignment(op="-=", rvalue=c_ast.Constant()):
            return _DOWNWARDS
        case _:
            return None


def _conjunction(parts: list[Any]) -> Any:
    """Return some conditions joined."""
    whole = parts[0]
    for part in parts[1:]:
        whole = c_ast.BinaryOp("&&", whole, part, part.coord)
    return whole


def _element(declared: Any, subscripts: int) -> Any:
    """Return the type of an element of a declared array or pointer of integers, None if unknown."""
    kind: Any = getattr(declared, "type", None)
    for _ in range(subscripts):
        if not isinstance(kind, c_ast.PtrDecl | c_ast.ArrayDecl):
            return None
        kind = kind.type
    is_scalar = isinstance(kind, c_ast.TypeDecl) and isinstance(kind.type, c_ast.IdentifierType)
    return kind if is_scalar and not _NO_INTEGERS & set(kind.type.names) else None


def _key(node: Any) -> Any:
    """Return what two equal expressions have in common."""
    own = tuple(getattr(node, name) for name in ("name", "op", "value") if hasattr(node, name))
    plain = tuple(one for one in own if isinstance(one, str))
    return type(node).__name__, plain, tuple(_key(child) for _, child in node.children())
