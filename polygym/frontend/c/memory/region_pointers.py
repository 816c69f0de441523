"""Pointers that a region uses: names and members, their values, and what the region does to them.

A pointer becomes an array of its own here, ``is_own``, unless another pass makes an array of it: an
argument that nothing sets, an array, memory that is allocated where it is declared, and a pointer
that walks through one of these (:mod:`~polygym.frontend.c.memory.pointer_induction`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast
from pycparser.c_generator import CGenerator

from polygym.frontend.c.memory.pointer_expressions import Cell
from polygym.frontend.c.memory.pointer_flow import PointerFlow
from polygym.frontend.c.memory.pointer_induction import followed_pointers
from polygym.frontend.c.memory.pointer_values import PointerTerm, Value
from polygym.frontend.c.sema.symbols import DeclarationScope, Symbol, resolve_names
from polygym.frontend.c.source import syntax
from polygym.frontend.c.source.locations import SourceMap
from polygym.frontend.c.source.parser import ScopRegion


@dataclass(slots=True, eq=False)
class RegionPointer:
    """A pointer that the region uses: its nodes in the region, its value, its name in the end."""

    key: Any
    text: str
    kind: Any
    value: Value
    nodes: list[Any]
    is_own: bool = False
    is_written: bool = False
    is_moved: bool = False
    is_set: bool = False
    is_restrict: bool = False
    base: RegionPointer | None = None
    like: Any = None
    terms: tuple[PointerTerm, ...] = ()
    name: str = ""

    @property
    def array(self) -> RegionPointer:
        """The pointer whose array it points into."""
        return self if self.base is None else self.base.array


class RegionPointers:
    """The pointers of a region, by what names them: a symbol, or a member at an address."""

    def __init__(self, tree: Any, region: ScopRegion, source: SourceMap) -> None:
        """Find them, with their values where the region begins."""
        self._tree, self._region, self._source = tree, region, source
        self.names = resolve_names(tree, region)
        self.flow = PointerFlow(tree, region, self.names)
        self.types = self.flow.types
        self.by_key: dict[Any, RegionPointer] = {}
        self._expand_types()
        self._collect()
        self._choose()

    def __iter__(self) -> Iterator[RegionPointer]:
        """Yield the pointers."""
        return iter(list(self.by_key.values()))

    def is_set_outside(self, symbol: Symbol) -> bool:
        """Whether code outside of the region sets a pointer."""
        inside = {id(node) for item in self._region.items for node in syntax.walk(item)}
        return any(id(node) not in inside for node in self._changes_of(symbol))

    def mention_of_target(self, pointer: RegionPointer) -> Any:
        """Return where the region names a variable that a pointer may point to, None if nowhere.

        ``int *where = &count;`` gives one variable two names. One of both must be set: through the
        pointer, by its name, or, of a pointer, by an element.
        """
        roots = {pointer.value.root, *(base.root for base in pointer.value.bases)}
        changed = syntax.modified_names(self._region.items)
        for node in syntax.walk(self._region.items, c_ast.ID, c_ast.StructRef):
            key = self.flow.key(node)
            if ("object", key) not in roots and ("member", key) not in roots:
                continue
            if isinstance(self.types.of(node), c_ast.ArrayDecl | c_ast.Struct | c_ast.Union):
                continue  # an array: the pointer becomes a place in it
            own = self.by_key.get(key)
            is_set = getattr(node, "name", "") in changed if isinstance(node, c_ast.ID) else True
            if pointer.is_written or is_set or (own is not None and own.is_written):
                return node
        return None

    def _expand_types(self) -> None:
        """Spell out the pointers that types of the function's variables hide."""
        arguments = syntax.arguments_of(self._region.function)
        for decl in syntax.walk(self._region.function, c_ast.Decl):
            kind = self.types.resolved(decl.type)
            if isinstance(kind, c_ast.PtrDecl) and not isinstance(kind.type, c_ast.FuncDecl):
                decl.type = self.types.expanded(decl.type, decl.name)
            if self._is_pointer_array(kind) and decl in arguments:
                decl.type = self._as_pointer(kind, decl.name)

    def _is_pointer_array(self, kind: Any) -> bool:
        """Whether a type is that of an array of pointers."""
        pointee = self.types.pointee(kind)
        return isinstance(kind, c_ast.ArrayDecl) and isinstance(pointee, c_ast.PtrDecl)

    def _as_pointer(self, kind: Any, name: str) -> Any:
        """Return the type of a pointer to the elements of an array."""
        return c_ast.PtrDecl([], self.types.expanded(kind.type, name), kind.coord)

    def _collect(self) -> None:
        """Find the pointers that the region uses."""
        for node in self._uses(list(self._region.items)):
            key, value = self.flow.key(node), self.flow.value(node)
            if value is None:
                continue
            if key not in self.by_key:
                text = CGenerator().visit(node)
                kind = self.types.of(node)
                if self._is_pointer_array(kind):
                    kind = self._as_pointer(kind, text)
                self.by_key[key] = RegionPointer(key, text, kind, value, [], like=node)
            self.by_key[key].nodes.append(node)
        self._mark_changes()

    def _uses(self, node: Any) -> Iterator[Any]:
        """Yield the outermost names and members in a tree that are pointers from outside of it."""
        match node:
            case list():
                for part in node:
                    yield from self._uses(part)
                return
            case c_ast.UnaryOp(op="sizeof"):
                return
            case c_ast.StructRef() if self._is_path(node):
                if isinstance(self.flow.key(node), Cell) and self._is_outside(node):
                    yield node
                    return
            case c_ast.StructRef():
                yield from self._uses(node.name)
                return
            case c_ast.ID() if self.types.is_pointer(self.types.of(node)):
                if self._is_outside(node):
                    yield node
                return
        for _, child in node.children():
            yield from self._uses(child)

    def _is_path(self, node: Any) -> bool:
        """Whether a member is a pointer or an array of pointers."""
        kind = self.types.of(node)
        return isinstance(kind, c_ast.PtrDecl) or self._is_pointer_array(kind)

    def _is_outside(self, node: Any) -> bool:
        """Whether the name at the root of a node is declared outside of the region."""
        while isinstance(node, c_ast.StructRef | c_ast.UnaryOp):
            node = node.name if isinstance(node, c_ast.StructRef) else node.expr
        symbol = self.names.symbol_of(node) if isinstance(node, c_ast.ID) else None
        return symbol is not None and symbol.scope is not DeclarationScope.REGION

    def _mark_changes(self) -> None:
        """Mark the pointers whose elements the region writes, and those that it sets itself."""
        items = list(self._region.items)
        by_node = {id(node): p for p in self.by_key.values() for node in p.nodes}
        own_arrays = {
            decl.name
            for decl in syntax.walk(items, c_ast.Decl)
            if isinstance(self.types.resolved(decl.type), c_ast.ArrayDecl)
        }
        for change in filter(syntax.is_modification, syntax.walk(items)):
            target = syntax.target_of(change)
            if id(target) in by_node:
                is_step = isinstance(change, c_ast.UnaryOp) or change.op != "="
                by_node[id(target)].is_moved = True
                by_node[id(target)].is_set |= not is_step
                continue
            way = list(_way(target))
            bases = [by_node[id(node)] for node in way if id(node) in by_node]
            for pointer in bases:
                pointer.is_written = True
            last = way[-1]
            is_plain = isinstance(last, c_ast.ID) and (len(way) == 1 or last.name in own_arrays)
            if not bases and not is_plain:
                for pointer in self:  # through a pointer of the region's own
                    pointer.is_written = True
        for call in syntax.walk(items, c_ast.FuncCall):
            for node in syntax.walk(syntax.operands_of(call)):
                if id(node) in by_node:
                    by_node[id(node)].is_written = True

    def _choose(self) -> None:
        """Mark the pointers that become arguments: those that no other pass makes arrays of."""
        self._hoist_allocations()
        followed = followed_pointers(self._tree, self._region, self._source)
        for pointer in self.by_key.values():
            if not isinstance(pointer.key, Symbol):
                pointer.is_own = True
                continue
            symbol = pointer.key
            kind = self.types.resolved(symbol.declaration.type)
            pointer.is_restrict = "restrict" in (getattr(kind, "quals", None) or ())
            if symbol.scope is DeclarationScope.ARGUMENT:
                pointer.is_own = self.is_set_outside(symbol)
            elif isinstance(pointer.kind, c_ast.PtrDecl):
                pointer.is_own = not self._is_allocation(symbol)
            array = followed.get(symbol.name)
            is_followed = array is not None and self._is_array(array, pointer.kind)
            pointer.is_own &= not is_followed and not pointer.is_set

    def _changes_of(self, symbol: Symbol) -> Iterator[Any]:
        """Yield the expressions that set a variable, or take its address."""
        for node in syntax.walk(self._region.function.body):
            is_address = isinstance(node, c_ast.UnaryOp) and node.op == "&"
            target = node.expr if is_address else None
            if syntax.is_modification(node):
                target = syntax.target_of(node)
            if isinstance(target, c_ast.ID) and self.names.symbol_of(target) is symbol:
                yield node

    def _is_array(self, name: str, pointed: Any) -> bool:
        """Whether a name is that of an array, an argument, or memory of the function's own.

        Its elements are of the type that a pointer points to.
        """
        symbol = self.names.visible.get(name)
        if symbol is None or isinstance(symbol.declaration, tuple):
            return False
        kind = self.types.resolved(symbol.declaration.type)
        if self._element_text(kind) != self._element_text(pointed):
            return False
        return (
            symbol.scope is DeclarationScope.ARGUMENT
            or isinstance(kind, c_ast.ArrayDecl)
            or self._is_allocation(symbol)
        )

    def _element_text(self, kind: Any) -> str:
        while self.types.is_pointer(kind):
            kind = self.types.pointee(kind)
        return self.types.text(kind)

    def _is_allocation(self, symbol: Symbol) -> bool:
        """Whether a pointer is declared with memory of its own, and never set again."""
        init = symbol.initializer
        init = syntax.without_casts(init)
        name = getattr(getattr(init, "name", None), "name", None)
        return (
            symbol.scope is DeclarationScope.FUNCTION
            and isinstance(init, c_ast.FuncCall)
            and name in ("malloc", "calloc")
            and not symbol.declaration.storage
            and next(self._changes_of(symbol), None) is None
        )

    def _hoist_allocations(self) -> None:
        """Let pointers that get memory of their own once be declared with it."""
        for pointer in self.by_key.values():
            symbol = pointer.key
            if not isinstance(symbol, Symbol) or pointer.value.root not in self.flow.allocations:
                continue
            call, _ = self.flow.allocations[pointer.value.root]
            changes = list(self._changes_of(symbol))
            init = symbol.initializer
            is_free = init is None or syntax.is_zero(init) or isinstance(init, c_ast.Cast)
            if len(changes) != 1 or not is_free or pointer.value.terms:
                continue
            change = changes[0]
            stored = getattr(change, "rvalue", None)
            stored = syntax.without_casts(stored)
            block = _block_of(self._region.function.body, change)
            name = getattr(call.name, "name", "")
            if stored is call and block is not None and name in ("malloc", "calloc"):
                if symbol.scope is DeclarationScope.FUNCTION:
                    symbol.declaration.init = change.rvalue
                    block[block.index(change)] = c_ast.EmptyStatement(change.coord)


def _way(target: Any) -> Iterator[Any]:
    """Yield the place that is assigned to, and all that leads to it, subscripts apart."""
    yield target
    match target:
        case c_ast.ArrayRef() | c_ast.StructRef():
            yield from _way(target.name)
        case c_ast.UnaryOp() | c_ast.Cast():
            yield from _way(target.expr)
        case c_ast.BinaryOp():
            yield from _way(target.right)
            yield from _way(target.left)


def _block_of(body: Any, wanted: Any) -> list[Any] | None:
    """Return the statements among which a statement stands, None where it is none of a block."""
    for block in syntax.walk(body, c_ast.Compound, c_ast.Case, c_ast.Default):
        items = getattr(block, "block_items", None) or getattr(block, "stmts", None)
        if items is not None and any(item is wanted for item in items):
            result: list[Any] = items
            return result
    return None
