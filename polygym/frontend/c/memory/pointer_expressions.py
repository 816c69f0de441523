"""Values of pointer expressions, and what they set: cells, states, stores and calls.

Every variable and every member of a structure that is reached by a name, ``g->u``, is a *cell*. A
*state* has the value of each (:mod:`~polygym.frontend.c.memory.pointer_values`). Cells that are
reached by two names may be the same one: an assignment to a member u changes the u of every
structure that is not known to be another::

    h->u = x;       h->u is x, and g->u is a new value, which may be the old one
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from pycparser import c_ast
from pycparser.c_generator import CGenerator

from polygym.frontend.c.memory.pointer_values import (
    Base,
    Numbers,
    PointerTerm,
    Value,
    changed,
    either,
)
from polygym.frontend.c.sema.function_effects import UNKNOWN, Effects, FunctionEffects
from polygym.frontend.c.sema.pointer_types import PointerTypes
from polygym.frontend.c.sema.symbols import DeclarationScope, ResolvedNames, Symbol
from polygym.frontend.c.source import syntax


@dataclass(frozen=True, slots=True)
class Cell:
    """A member of the structure at a root: ``g->mesh.x`` is the path (mesh, x) at what g holds."""

    root: Hashable
    path: tuple[str, ...]


Key: TypeAlias = Symbol | Cell | tuple[str, str]
CellValues: TypeAlias = dict[Hashable, Value]


class ExpressionValues:
    """Evaluates the expressions of a function in a state, which they change."""

    def __init__(self, tree: Any, function: Any, names: ResolvedNames) -> None:
        """Start with no state known."""
        self._names = names
        self._effects = FunctionEffects(tree)
        self.types = PointerTypes(tree, self._type_of_name)
        taken = (
            names.symbol_of(node.expr)
            for node in syntax.walk(function.body, c_ast.UnaryOp)
            if node.op == "&" and isinstance(node.expr, c_ast.ID)
        )
        self._address_taken = {symbol for symbol in taken if symbol is not None}
        self._members_taken = frozenset(
            node.expr.field.name
            for node in syntax.walk(function.body, c_ast.UnaryOp)
            if node.op == "&" and isinstance(node.expr, c_ast.StructRef)
        )
        self.allocations: dict[Hashable, tuple[Any, tuple[PointerTerm, ...]]] = {}
        self._numbers: Numbers = {}
        self._now: CellValues | None = {}

    def key(self, node: Any) -> Key | None:
        """Return the cell that a node names where the region begins, None for any other node."""
        match node:
            case c_ast.ID():
                return self._names.symbol_of(node)
            case c_ast.StructRef(type="->"):
                address = self.value(node.name)
                is_start = address is not None and not address.terms
                return Cell(address.root, (node.field.name,)) if address and is_start else None
            case c_ast.StructRef():
                inner = node.name
                if isinstance(inner, c_ast.UnaryOp) and inner.op == "*":
                    return self.key(c_ast.StructRef(inner.expr, "->", node.field, node.coord))
                if isinstance(inner, c_ast.ID):
                    symbol = self._names.symbol_of(inner)
                    return None if symbol is None else Cell(("object", symbol), (node.field.name,))
                outer = self.key(inner) if isinstance(inner, c_ast.StructRef) else None
                if isinstance(outer, Cell):
                    return Cell(outer.root, (*outer.path, node.field.name))
        return None

    def value(self, node: Any) -> Value | None:
        """Return the value of a pointer or an integer; None for anything else.

        What the expression changes is changed in the state of the walk.
        """
        match node:
            case c_ast.ID() | c_ast.StructRef():
                return self._cell_value(node)
            case c_ast.Cast():
                return self._cast(node)
            case c_ast.BinaryOp(op="+" | "-"):
                return self._sum(node)
            case c_ast.BinaryOp(op="&&" | "||"):
                self.value(node.left)
                self._maybe(node.right)
                return None
            case c_ast.TernaryOp():
                return self._choice(node)
            case c_ast.UnaryOp(op="&"):
                return self._address(node.expr)
            case c_ast.UnaryOp(op="*") | c_ast.ArrayRef():
                return self._element(node)
            case c_ast.UnaryOp(op="sizeof"):
                return None
            case c_ast.UnaryOp(op="++" | "--" | "p++" | "p--"):
                return self._step(node)
            case c_ast.Assignment():
                return self._assignment(node)
            case c_ast.FuncCall():
                return self._call(node)
            case c_ast.ExprList():
                results = [self.value(expression) for expression in node.exprs]
                return results[-1] if results else None
            case None:
                return None
            case _:
                for _, child in node.children():
                    self.value(child)
                return None

    def _type_of_name(self, node: Any) -> Any:
        symbol = self._names.symbol_of(node)
        return getattr(symbol and symbol.declaration, "type", None)

    def _load(self, key: Any) -> Value:
        """Return the value of a cell, which is what it was before the function if it has none."""
        state = self._state()
        if key not in state:
            state[key] = self._first_value(key)
        return state[key]

    def _state(self) -> CellValues:
        if self._now is None:  # not reached: whatever is said of it holds
            self._now = {}
        return self._now

    def _first_value(self, key: Any) -> Value:
        match key:
            case Cell():
                times = tuple(self._load(("set", name)).root for name in (key.path[-1], "*"))
                return Value(("load", key, times))
            case Symbol():
                root = Value(("entry", key))
                if key.scope is not DeclarationScope.FILE or key.initializer is None:
                    return root
                if not self.types.is_pointer(self.types.resolved(key.declaration.type)):
                    return root
                text = CGenerator().visit(key.initializer)
                known = {self._names.symbol_of(i) for i in syntax.walk(key.initializer, c_ast.ID)}
                places = {Base(("place", s, text)) for s in known if s is not None}
                bases = {Base(root.root), *places}
                return replace(root, own_bases=frozenset(bases))
            case _:
                return Value(("entry", key))

    def _cell_value(self, node: Any) -> Value | None:
        kind = self.types.of(node)
        if isinstance(node, c_ast.ID):
            symbol = self._names.symbol_of(node)
            if symbol is None or isinstance(symbol.declaration, tuple):
                return None
            is_object = isinstance(kind, c_ast.ArrayDecl | c_ast.Struct)
            if is_object and symbol.scope is not DeclarationScope.ARGUMENT:
                return Value(("object", symbol))
            if isinstance(kind, c_ast.Struct):
                return Value(("object", symbol))
            return self._load(symbol)
        key = self.key(node)
        if key is None:
            self.value(node.name)
            return Value(("unknown", id(node))) if self.types.is_pointer(kind) else None
        if isinstance(kind, c_ast.ArrayDecl | c_ast.Struct):
            return Value(("member", key))  # it lies in the structure itself
        return self._load(key)

    def _cast(self, node: Any) -> Value | None:
        inner = self.value(node.expr)
        kind, own = self.types.resolved(node.to_type), self.types.of(node.expr)
        if inner is None or not self.types.is_pointer(kind) or not inner.terms:
            return inner
        if self.types.text(kind) == self.types.text(own):
            return inner
        return Value(("cast", self.types.text(kind), inner.key), (), inner.bases)

    def _sum(self, node: Any) -> Value | None:
        left, right = self.value(node.left), self.value(node.right)
        is_left = self.types.is_pointer(self.types.of(node.left))
        pointer, index = (left, node.right) if is_left else (right, node.left)
        if pointer is None or not self.types.is_pointer(self.types.of(node)):
            return None
        if self.types.is_pointer(self.types.of(index)):
            return None  # a difference
        return self._moved(pointer, index, node.op)

    def _moved(self, pointer: Value, index: Any, operator: str = "+") -> Value:
        """Return a pointer with an integer added."""
        if syntax.is_zero(index):
            return pointer
        reads = []
        is_plain = not syntax.acts(index) and not syntax.reads_elements(index)
        for part in syntax.walk(index):
            if isinstance(part, c_ast.StructRef) or (
                isinstance(part, c_ast.ID) and self._names.symbol_of(part) is not None
            ):
                key = self.key(part)
                is_plain &= key is not None
                if key is not None and not isinstance(getattr(key, "declaration", None), tuple):
                    reads.append((key, self._load(key).key))
        node = index if operator == "+" else c_ast.UnaryOp("-", index, index.coord)
        text = str(CGenerator().visit(node))
        if not is_plain:
            reads.append((("set", "?"), ("never", id(index))))
        return pointer.plus(PointerTerm(node, tuple(reads), text))

    def _maybe(self, node: Any) -> Value | None:
        """Return the value of what may not be evaluated."""
        before = dict(self._state())
        result = self.value(node)
        self._now = self._joined(before, self._now, id(node))
        return result

    def _choice(self, node: Any) -> Value | None:
        question = self._question(node.cond)
        self.value(node.cond)
        before = dict(self._state())
        then = self.value(node.iftrue)
        after, self._now = self._now, before
        other = self.value(node.iffalse)
        self._now = self._joined(after, self._now, id(node), question)
        if then is None or other is None:
            return then or other
        return either(self._numbers, id(node), then, other, question)

    def _question(self, condition: Any) -> Hashable:
        """Return what a condition asks: the same for the same text with the same values."""
        if condition is None or syntax.acts(condition) or syntax.reads_elements(condition):
            return None
        reads = [
            (key, self._load(key).key)
            for part in syntax.walk(condition, c_ast.ID, c_ast.StructRef)
            if isinstance(key := self.key(part), Symbol | Cell)
            and not isinstance(getattr(key, "declaration", None), tuple)
        ]
        return str(CGenerator().visit(condition)), tuple(reads)

    def _address(self, node: Any) -> Value | None:
        match node:
            case c_ast.ArrayRef():
                kind = self.types.of(node.name)
                if not self.types.is_pointer(self.types.pointee(kind)):
                    base = self.value(node.name)
                    return None if base is None else self._moved(base, node.subscript)
                return self._element(node)
            case c_ast.UnaryOp(op="*"):
                return self.value(node.expr)
            case c_ast.ID() if (symbol := self._names.symbol_of(node)) is not None:
                return Value(("object", symbol))
            case c_ast.StructRef() if (key := self.key(node)) is not None:
                return Value(("member", key))
            case _:
                self.value(node)
                return Value(("unknown", id(node)))

    def _element(self, node: Any) -> Value | None:
        """Return an element that is a pointer or a row: it comes from what it is an element of."""
        base = self.value(node.name if isinstance(node, c_ast.ArrayRef) else node.expr)
        if isinstance(node, c_ast.ArrayRef):
            self.value(node.subscript)
        if base is None or not self.types.is_pointer(self.types.of(node)):
            return None
        return Value(("element", id(node)), (), base.bases)

    def _step(self, node: Any) -> Value | None:
        before = self.value(node.expr)
        unit = syntax.integer_node(1, node)
        if before is None or not self.types.is_pointer(self.types.of(node.expr)):
            self._store(node.expr, None, node)
            return None
        after = self._moved(before, unit, node.op.strip("p")[0])
        self._store(node.expr, after, node)
        return before if node.op.startswith("p") else after

    def _assignment(self, node: Any) -> Value | None:
        result = self.value(node.rvalue)
        if node.op != "=":
            before = self.value(node.lvalue)
            is_pointer = self.types.is_pointer(self.types.of(node.lvalue))
            result = self._moved(before, node.rvalue, node.op[0]) if before and is_pointer else None
        self._store(node.lvalue, result, node)
        return result

    def _store(self, target: Any, value: Value | None, node: Any) -> None:
        """Set a cell; what may be the same one is another value from now on."""
        kind = self.types.of(target)
        key = self.key(target)
        if isinstance(kind, c_ast.Struct | c_ast.Union):
            self._forget(UNKNOWN, node, variables=False)
            return
        if key is None:
            if isinstance(target, c_ast.StructRef):
                self._forget(Effects(members=frozenset({target.field.name})), node)
            elif not isinstance(target, c_ast.ID):  # an element: any that has an address
                if self.types.is_pointer(kind):
                    self._forget(UNKNOWN, node, variables=False)
                self._forget(Effects(members=self._members_taken), node)
                for symbol in self._address_taken:
                    self._change(symbol, node)
            if not isinstance(target, c_ast.ID):
                self.value(target)
            return
        if isinstance(key, Cell):
            self._forget(Effects(members=frozenset({key.path[-1]})), node)
        self._state()[key] = value or Value(("set", id(node), id(target)))

    def _call(self, node: Any) -> Value | None:
        name = getattr(node.name, "name", "")
        operands = syntax.operands_of(node)
        values = [self.value(operand) for operand in operands]
        for operand in operands:
            operand = syntax.without_casts(operand)
            if isinstance(operand, c_ast.UnaryOp) and operand.op == "&":
                key = self.key(operand.expr)
                if key is not None:
                    self._change(key, node)
        if not self._effects.is_library(name):
            for symbol in self._address_taken:
                self._change(symbol, node)
        self._forget(self._effects.of(name), node)
        if name == "__builtin_assume_aligned":
            return values[0]
        return self._result(node, name, values)

    def _result(self, node: Any, name: str, values: list[Value | None]) -> Value:
        """Return what a call returns: memory of its own, or what its arguments lead to."""
        root: Hashable = ("call", id(node))
        if self._effects.returns_new_memory(name):
            sizes = [self._moved(Value(root), operand) for operand in syntax.operands_of(node)]
            self.allocations[root] = node, tuple(term for size in sizes for term in size.terms)
            return Value(root)
        pointers = tuple(value.key for value in values if value is not None)
        bases = {Base(root), Base(("result", name, pointers))} if pointers else {Base(root)}
        return Value(root, (), frozenset(bases))

    def _change(self, key: Hashable, node: Any) -> None:
        state = self._state()
        before = state.get(key) or (self._first_value(key) if isinstance(key, Symbol) else None)
        state[key] = changed((id(node), key), before)

    def _forget(self, effects: Effects, node: Any, *, variables: bool = True) -> None:
        """Let all cells that something may set have new values."""
        for key in list(self._state()):
            if isinstance(key, Cell):
                if effects.is_unknown or key.path[-1] in effects.members:
                    self._change(key, node)
            elif isinstance(key, Symbol) and variables and key.scope is DeclarationScope.FILE:
                if effects.is_unknown or key.name in effects.variables:
                    self._change(key, node)
        for name in ("*",) if effects.is_unknown else effects.members:
            self._change(("set", name), node)
        if variables:
            for name in effects.variables:
                symbol = self._names.file_scope.get(name)
                if symbol is not None and not isinstance(symbol.declaration, tuple):
                    self._change(symbol, node)

    def _value_at(self, state: CellValues, key: Any) -> Value:
        now, self._now = self._now, state
        result = self._load(key)
        self._now = now
        return result

    def _joined(
        self,
        first: CellValues | None,
        second: CellValues | None,
        key: Hashable,
        question: Any = None,
    ) -> CellValues | None:
        """Return the state after two branches; None is the state of one that does not end."""
        if first is None or second is None:
            return first if second is None else second
        result: CellValues = {}
        for cell in {**first, **second}:
            mine, theirs = self._value_at(first, cell), self._value_at(second, cell)
            result[cell] = either(self._numbers, key, mine, theirs, question)
        return result
