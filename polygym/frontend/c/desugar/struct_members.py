"""Members of structures as arrays of their own: before anything is read, they get names.

The members of an array of structures are as many arrays; a pointer to one is an array of them::

    struct particle { double x, v[3]; };
    struct particle p[n];          p[i].x = p[i].v[k];        p_x[i] = p_v[i][k];
    struct grid *g;                g->size[i] = 0;            g_size[0][i] = 0;

No program can tell the difference: only an address shows where a member lies in memory. A structure
that is used as a whole in the function (copied, or given to a function) is left as it is, to be
refused. Unions are, too.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from polygym.frontend.c.sema.declarations import array_rank
from polygym.frontend.c.source import syntax
from polygym.frontend.c.source.locations import SourceMap
from polygym.frontend.c.source.parser import ScopRegion


@dataclass(frozen=True, slots=True, eq=False)
class _Member:
    """A member of a variable: the variable's name, the members on the way, all subscripts."""

    base: Any
    path: tuple[str, ...]
    subscripts: tuple[Any, ...]


def with_member_arrays(tree: Any, region: ScopRegion, source: SourceMap) -> ScopRegion:
    """Return a region without members of structures; its function in the tree is changed, too."""
    if not syntax.contains(region.items, c_ast.StructRef):
        return region
    return _StructFlattener(tree, region, source).region()


@dataclass(frozen=True, slots=True)
class MemberOrigin:
    """The member of a structure that an array stands for: ``g->rows[i].v`` is ``g``, rows, v.

    ``own_rank`` is the number of the member's own dimensions, which lie one behind the other.
    """

    base: str
    path: tuple[str, ...]
    own_rank: int

    @property
    def way(self) -> str:
        """The way from the structure to the member in C: ``.rows.v``."""
        return "".join(f".{name}" for name in self.path)


def member_origins(
    tree: Any, region: ScopRegion, source: SourceMap
) -> tuple[ScopRegion, dict[str, MemberOrigin]]:
    """Return what :func:`with_member_arrays` does, and the members of the new arrays."""
    flattener = _StructFlattener(tree, region, source)
    return flattener.region(), flattener.origins()


def used_structures(tree: Any, region: ScopRegion, source: SourceMap) -> tuple[str, ...]:
    """Return the names of the structures of which a region uses members."""
    members = map(_member, syntax.walk(region.items, c_ast.StructRef))
    used = {member.base.name for member in members if member is not None}
    rewriter = _StructFlattener(tree, region, source)
    return tuple(name for name in rewriter.declarations(region.function) if name in used)


class _StructFlattener:
    """Gives the members of a function's structures names."""

    def __init__(self, tree: Any, region: ScopRegion, source: SourceMap) -> None:
        self._tree, self._region, self._source = tree, region, source
        self._typedefs = syntax.typedefs_of(tree)
        self._structures = {
            struct.name: struct
            for struct in syntax.walk(tree, c_ast.Struct)
            if struct.name and struct.decls
        }
        self._spelled = {token.text for token in source.tokens}
        self._names: dict[tuple[str, tuple[str, ...]], str] = {}
        self._new: dict[str, list[Any]] = {}
        self._own_ranks: dict[str, int] = {}

    def region(self) -> ScopRegion:
        """Return the region with names in the place of members."""
        function = self._region.function
        declared = self.declarations(function)
        known = {
            name: decl for name, decl in declared.items() if self._is_used_by_members_only(name)
        }
        function.body = self._replaced(function.body, known)
        arguments = function.decl.type.args
        for name, new in self._new.items():
            base = known[name]
            if arguments is not None and any(base is param for param in arguments.params):
                place = arguments.params.index(base)
                arguments.params[place : place + 1] = new
                continue
            at_file_scope = any(base is node for node in self._tree.ext)
            block = self._tree.ext if at_file_scope else syntax.block_with(function.body, base)
            place = block.index(base)
            block[place + 1 : place + 1] = new
        return self._region.reread()

    def origins(self) -> dict[str, MemberOrigin]:
        """Return the members that new names stand for."""
        return {
            name: MemberOrigin(base, path, self._own_ranks[name])
            for (base, path), name in self._names.items()
        }

    def declarations(self, function: Any) -> dict[str, Any]:
        """Return the declarations of structures that can be taken apart, by name."""
        result: dict[str, list[Any]] = {}
        local = list(syntax.walk(function, c_ast.Decl))
        names = [decl.name for decl in local]
        outside = [node for node in self._tree.ext if isinstance(node, c_ast.Decl)]
        for decl in (*local, *(decl for decl in outside if decl.name not in names)):
            if decl.name and decl.init is None and self._members(decl.type)[0] is not None:
                result.setdefault(decl.name, []).append(decl)
        return {
            name: declarations[0]
            for name, declarations in result.items()
            if len(declarations) == 1 and names.count(name) <= 1
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
            if isinstance(part, c_ast.Pragma) or any(part is decl for decl in known.values()):
                return part
            if not isinstance(part, c_ast.StructRef | c_ast.ArrayRef):
                return None
            member = _member(part)
            if member is None or not member.path or member.base.name not in known:
                return None
            name = self._name(member, known[member.base.name])
            if name is None:
                return None
            return syntax.element_node(
                name, [self._replaced(s, known) for s in member.subscripts], part
            )

        return syntax.copy_tree(node, replacement)

    def _name(self, member: _Member, declaration: Any) -> str | None:
        """Return the name of a member, declared; None where it is no member of a structure."""
        key = member.base.name, member.path
        if key in self._names:
            return self._names[key]
        structure, sizes = self._members(declaration.type)
        named: Any = None
        for place, field in enumerate(member.path):
            named = next((decl for decl in structure.decls if decl.name == field), None)
            if named is None:
                return None
            if place + 1 < len(member.path):
                structure, more = self._members(named.type)
                if structure is None or None in more:
                    return None
                sizes = sizes + more
        if isinstance(named.type, c_ast.PtrDecl):
            return None
        if named.bitsize is not None:
            raise self._source.error(
                member.base,
                f"{field} has bits of its own in its structure, which are not supported",
                "declare it without a number of bits",
            )
        name = "_".join((member.base.name, *member.path))
        while name in self._spelled:
            name += "_"
        self._spelled.add(name)
        self._names[key] = name
        self._own_ranks[name] = array_rank(named.type, self._typedefs)
        kind = syntax.type_named(named.type, name)
        for size in reversed(sizes):
            if size is None:
                kind = c_ast.PtrDecl([], kind, declaration.coord)
            else:
                kind = c_ast.ArrayDecl(kind, syntax.copy_tree(size), [], declaration.coord)
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
        part = pending.pop()
        is_element = isinstance(part, c_ast.StructRef | c_ast.ArrayRef)
        member = _member(part) if is_element else None
        if member is not None and member.path:
            pending.extend(member.subscripts)
            continue
        result.append(part)
        pending.extend(child for _, child in part.children())
    return result
