"""Members of structures as arrays of their own: before anything is read, they get names.

The members of an array of structures are as many arrays; a pointer to one is an array of them::

    struct particle { double x, v[3]; };
    struct particle p[n];          p[i].x = p[i].v[k];        p_x[i] = p_v[i][k];
    struct grid *g;                g->size[i] = 0;            g_size[0][i] = 0;

Nobody can tell the difference: where a member lies in memory is seen through its address alone, and
a structure that is used as a whole in the function (copied, or handed to somebody) is left as it
is, to be refused. Unions are, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from polygym.frontend.c.source.locations import SourceMap
from polygym.frontend.c.source.parser import ScopRegion
from polygym.frontend.c.source.syntax_tree import copy_tree, walk


@dataclass(frozen=True, slots=True, eq=False)
class _Member:
    """A member of a variable: the variable's name, the members on the way, all subscripts."""

    base: Any
    path: tuple[str, ...]
    subscripts: tuple[Any, ...]


def with_member_arrays(tree: Any, region: ScopRegion, source: SourceMap) -> ScopRegion:
    """Return a region without members of structures; its function in the tree is changed, too."""
    if not any(isinstance(one, c_ast.StructRef) for item in region.items for one in walk(item)):
        return region
    return _StructFlattener(tree, region, source).region()


def used_structures(tree: Any, region: ScopRegion, source: SourceMap) -> tuple[str, ...]:
    """Return the names of the structures of which a region uses members."""
    used = {
        member.base.name
        for item in region.items
        for struct_ref in walk(item)
        if isinstance(struct_ref, c_ast.StructRef) and (member := _member(struct_ref)) is not None
    }
    rewriter = _StructFlattener(tree, region, source)
    return tuple(name for name in rewriter.declarations(region.function) if name in used)


class _StructFlattener:
    """Gives the members of a function's structures names."""

    def __init__(self, tree: Any, region: ScopRegion, source: SourceMap) -> None:
        self._tree, self._region, self._source = tree, region, source
        self._typedefs = {
            typedef.name: typedef.type for typedef in tree.ext if isinstance(typedef, c_ast.Typedef)
        }
        self._structures = {
            struct.name: struct
            for node in tree.ext
            for struct in walk(node)
            if isinstance(struct, c_ast.Struct) and struct.name and struct.decls
        }
        self._spelled = {token.text for token in source.tokens}
        self._names: dict[tuple[str, tuple[str, ...]], str] = {}
        self._new: dict[str, list[Any]] = {}

    def region(self) -> ScopRegion:
        """Return the region with names in the place of members."""
        function = self._region.function
        declared = self.declarations(function)
        known = {name: one for name, one in declared.items() if self._is_used_by_members_only(name)}
        function.body = self._replaced(function.body, known)
        arguments = function.decl.type.args
        for name, new in self._new.items():
            base = known[name]
            if arguments is not None and any(base is param for param in arguments.params):
                place = next(k for k, param in enumerate(arguments.params) if param is base)
                arguments.params[place : place + 1] = new
            elif any(base is one for one in self._tree.ext):
                place = self._tree.ext.index(base)
                self._tree.ext[place + 1 : place + 1] = new
            else:
                block = _block_with(function.body, base)
                place = next(k for k, one in enumerate(block) if one is base)
                block[place + 1 : place + 1] = new
        items = _block_with(function.body, self._region.begin)
        first = next(k for k, item in enumerate(items) if item is self._region.begin)
        last = next(k for k, item in enumerate(items) if item is self._region.end)
        inside = tuple(items[first + 1 : last])
        return ScopRegion(self._region.name, function, inside, self._region.begin, self._region.end)

    def declarations(self, function: Any) -> dict[str, Any]:
        """Return the declarations of structures that can be taken apart, by name."""
        result: dict[str, list[Any]] = {}
        local = [one for one in walk(function) if isinstance(one, c_ast.Decl)]
        mine = {one.name for one in local}
        globals_ = [
            one for one in self._tree.ext if isinstance(one, c_ast.Decl) and one.name not in mine
        ]
        for decl in (*local, *globals_):
            if decl.name and decl.init is None and self._members(decl.type)[0] is not None:
                result.setdefault(decl.name, []).append(decl)
        counts = {name: sum(1 for one in local if one.name == name) for name in result}
        return {
            name: declarations[0]
            for name, declarations in result.items()
            if len(declarations) == 1 and counts[name] <= 1
        }

    def _members(self, kind: Any) -> tuple[Any, list[Any]]:
        """Return the structure at the bottom of a type (None for any other), and the sizes."""
        sizes: list[Any] = []
        while True:
            match kind:
                case c_ast.ArrayDecl():
                    sizes.append(kind.dim)
                    kind = kind.type
                case c_ast.PtrDecl():
                    sizes.append(None)
                    kind = kind.type
                case c_ast.TypeDecl():
                    kind = kind.type
                case c_ast.IdentifierType(names=[name]) if name in self._typedefs:
                    kind = self._typedefs[name]
                case c_ast.Struct():
                    return (kind if kind.decls else self._structures.get(kind.name)), sizes
                case _:
                    return None, sizes

    def _is_used_by_members_only(self, name: str) -> bool:
        """Whether a variable is only used for its members in the function."""
        return not any(
            isinstance(member, c_ast.ID) and member.name == name
            for member in _nodes_outside_members(self._region.function.body)
        )

    def _replaced(self, node: Any, known: Mapping[str, Any]) -> Any:
        """Return a tree with names for members; pragmas and declarations stay themselves."""

        def replacement(part: Any) -> Any:
            """Return what stands for a node."""
            if isinstance(part, c_ast.Pragma) or any(part is one for one in known.values()):
                return part
            if not isinstance(part, c_ast.StructRef | c_ast.ArrayRef):
                return None
            member = _member(part)
            if member is None or not member.path or member.base.name not in known:
                return None
            name = self._name(member, known[member.base.name])
            if name is None:
                return None
            result: Any = c_ast.ID(name, part.coord)
            for subscript in member.subscripts:
                result = c_ast.ArrayRef(result, self._replaced(subscript, known), part.coord)
            return result

        return copy_tree(node, replacement)

    def _name(self, member: _Member, declaration: Any) -> str | None:
        """Return the name of a member, declared; None where it is no member of a structure."""
        key = member.base.name, member.path
        if key in self._names:
            return self._names[key]
        structure, sizes = self._members(declaration.type)
        kind: Any = None
        found: Any = None
        for place, field in enumerate(member.path):
            found = next((decl for decl in structure.decls if decl.name == field), None)
            if found is None:
                return None
            inner, more = self._members(found.type)
            if place + 1 < len(member.path):
                if inner is None or None in more:
                    return None
                structure, sizes = inner, sizes + more
            else:
                kind = found.type
        if isinstance(kind, c_ast.PtrDecl):
            return None
        if found is not None and found.bitsize is not None:
            raise self._source.error(
                member.base,
                f"{field} has bits of its own in its structure, which are not understood",
                "declare it without a number of bits",
            )
        name = "_".join((member.base.name, *member.path))
        while name in self._spelled:
            name += "_"
        self._spelled.add(name)
        self._names[key] = name
        kind = _named(kind, name)
        for size in reversed(sizes):
            if size is None:
                kind = c_ast.PtrDecl([], kind, declaration.coord)
            else:
                kind = c_ast.ArrayDecl(kind, copy_tree(size), [], declaration.coord)
        storage = declaration.storage
        new = c_ast.Decl(name, [], [], storage, [], kind, None, None, declaration.coord)
        self._new.setdefault(member.base.name, []).append(new)
        return name


def _member(node: Any) -> _Member | None:
    """Read ``base[e].name[e]->name`` from the outside to the inside."""
    path: list[str] = []
    subscripts: list[Any] = []
    while True:
        match node:
            case c_ast.ArrayRef():
                subscripts.insert(0, node.subscript)
                node = node.name
            case c_ast.StructRef():
                path.insert(0, node.field.name)
                if node.type == "->":
                    subscripts.insert(0, c_ast.Constant("int", "0", node.coord))
                node = node.name
            case c_ast.UnaryOp(op="*") if path:
                subscripts.insert(0, c_ast.Constant("int", "0", node.coord))
                node = node.expr
            case c_ast.ID():
                return _Member(node, tuple(path), tuple(subscripts))
            case _:
                return None


def _nodes_outside_members(node: Any) -> list[Any]:
    """Return the nodes of a tree that are not the way to a member."""
    result: list[Any] = []
    pending = [node]
    while pending:
        one = pending.pop()
        if isinstance(one, c_ast.StructRef | c_ast.ArrayRef):
            member = _member(one)
            if member is not None and member.path:
                pending.extend(member.subscripts)
                continue
        result.append(one)
        pending.extend(child for _, child in one.children())
    return result


def _block_with(node: Any, wanted: Any) -> list[Any]:
    """Return the items of the block that holds one of them."""
    for one in walk(node):
        items = getattr(one, "block_items", None) or getattr(one, "stmts", None)
        if items is not None and any(item is wanted for item in items):
            result: list[Any] = items
            return result
    raise AssertionError("a declaration stands in no block")


def _named(kind: Any, name: str) -> Any:
    """Return a member's type for a variable of a name."""
    if isinstance(kind, c_ast.ArrayDecl):
        return c_ast.ArrayDecl(_named(kind.type, name), kind.dim, [], kind.coord)
    return c_ast.TypeDecl(name, [], None, kind.type, kind.coord)
