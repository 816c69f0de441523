"""Members of structures as arrays of their own: before anything is read, they get names.

The members of an array of structures are as many arrays; a pointer to one is an array of them::

    struct particle { double x, v[3]; };
    struct particle p[n];          p[i].x = p[i].v[k];        p_x[i] = p_v[i][k];
    struct grid *g;                g->size[i] = 0;            g_size[0][i] = 0;

No program can tell the difference: only an address shows where a member lies in memory. When the
region is a Scop, :mod:`polygym.frontend.c.scop.structure_views` gives the arrays the layout of the
structures. Around the region a structure may be returned, or given to a function, which then takes
all its members. A list in front of the region gives the members their first values. A structure
that the region uses as a whole, beside the copies of
:mod:`~polygym.frontend.c.desugar.struct_copies`, is left as it is, to be refused. Unions are, too.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from polygym.frontend.c.desugar.struct_copies import with_member_copies
from polygym.frontend.c.desugar.struct_layout import MemberPlace, StructLayouts
from polygym.frontend.c.sema.declarations import array_rank, resolved_type
from polygym.frontend.c.source import syntax
from polygym.frontend.c.source.locations import SourceMap
from polygym.frontend.c.source.parser import ScopRegion


@dataclass(frozen=True, slots=True, eq=False)
class _Member:
    """A member of a variable: the variable's name, the members on the way, all subscripts."""

    base: Any
    path: tuple[str, ...]
    subscripts: tuple[Any, ...]


def uses_structures(tree: Any, region: ScopRegion) -> bool:
    """Whether a region uses members of structures, or copies structures as a whole."""
    if syntax.contains(region.items, c_ast.StructRef):
        return True
    return syntax.contains(tree, c_ast.Struct) and syntax.contains(region.items, c_ast.Assignment)


@dataclass(frozen=True, slots=True)
class MemberOrigin:
    """The member of a structure that an array stands for: ``g->rows[i].v`` is ``g``, rows, v.

    ``ranks`` are the numbers of dimensions of the variable and of each member on the way, 1, 1 and
    0 here. ``places`` says where the member lies in the structure that the variable is of, in that
    of the first member, and so on: in a grid, in a row; None where that is not known.
    """

    base: str
    path: tuple[str, ...]
    ranks: tuple[int, ...]
    places: tuple[MemberPlace | None, ...]

    @property
    def way(self) -> str:
        """The way from the structure to the member in C: ``.rows.v``."""
        return "".join(f".{name}" for name in self.path)


def with_member_arrays(
    tree: Any, region: ScopRegion, source: SourceMap
) -> tuple[ScopRegion, dict[str, MemberOrigin]]:
    """Return a region without members of structures, and the members that new names stand for.

    The region's function in the tree is changed, too.
    """
    if not uses_structures(tree, region):
        return region, {}
    flattener = _StructFlattener(tree, region, source)
    return flattener.region(), flattener.origins


def used_structures(tree: Any, region: ScopRegion, source: SourceMap) -> tuple[str, ...]:
    """Return the names of the structures of which a region uses members."""
    region.function.body = with_member_copies(tree, region.function)
    region = region.reread()
    members = map(_member, syntax.walk(region.items, c_ast.StructRef))
    used = {member.base.name for member in members if member is not None}
    rewriter = _StructFlattener(tree, region, source)
    return tuple(name for name in rewriter.declarations(region.function) if name in used)


class _StructFlattener:
    """Gives the members of a function's structures names."""

    def __init__(self, tree: Any, region: ScopRegion, source: SourceMap) -> None:
        self._tree, self._region, self._source = tree, region, source
        self._typedefs = syntax.typedefs_of(tree)
        self._structures = syntax.structures_of(tree)
        self._spelled = {token.text for token in source.tokens}
        self._names: dict[tuple[str, tuple[str, ...]], str] = {}
        self._new: dict[str, list[Any]] = {}
        self._listed: dict[int, dict[str, Any]] = {}
        self._layouts = StructLayouts(tree, source)
        self.origins: dict[str, MemberOrigin] = {}

    def region(self) -> ScopRegion:
        """Return the region with names in the place of members."""
        function = self._region.function
        function.body = with_member_copies(self._tree, function)
        declared = self.declarations(function)
        known = {
            name: decl for name, decl in declared.items() if self._is_used_by_members_only(name)
        }
        function.body = self._replaced(function.body, known)
        function.body = self._with_members_passed(function.body)
        arguments = function.decl.type.args
        mentioned = {part.name for part in syntax.walk(function.body, c_ast.ID)}
        for name, base in known.items():
            new = self._new.get(name, [])
            is_local = syntax.contains_node(function.body, base)
            if not new and (not is_local or name in mentioned):
                continue
            if arguments is not None and any(base is param for param in arguments.params):
                place = arguments.params.index(base)
                arguments.params[place : place + 1] = new
                continue
            at_file_scope = any(base is node for node in self._tree.ext)
            block = self._tree.ext if at_file_scope else syntax.block_with(function.body, base)
            place = block.index(base)
            block[place : place + 1] = [base, *new] if at_file_scope else new
        return self._region.reread()

    def declarations(self, function: Any) -> dict[str, Any]:
        """Return the declarations of structures that can be taken apart, by name."""
        result: dict[str, list[Any]] = {}
        local = [decl for decl in syntax.walk(function, c_ast.Decl) if decl is not function.decl]
        names = [decl.name for decl in local]
        listed = self._listed = self._lists_before_region(function)
        outside = [node for node in self._tree.ext if isinstance(node, c_ast.Decl)]
        for decl in (*local, *(decl for decl in outside if decl.name not in names)):
            is_plain = decl.init is None or id(decl) in listed
            if decl.name and is_plain and self._members(decl.type)[0] is not None:
                result.setdefault(decl.name, []).append(decl)
        return {
            name: declarations[0]
            for name, declarations in result.items()
            if len(declarations) == 1 and names.count(name) <= 1
        }

    def _lists_before_region(self, function: Any) -> dict[int, dict[str, Any]]:
        """Return the first values of members, of variables that a list in front of it sets."""
        before = syntax.declarations_before(function, self._region.begin).values()
        result = {}
        for decl in before:
            structure, sizes = self._members(decl.type)
            if isinstance(decl.init, c_ast.InitList) and structure is not None and not sizes:
                values = initial_members(structure, decl.init)
                if values is not None:
                    result[id(decl)] = values
        return result

    def _members(self, kind: Any) -> tuple[Any, list[Any]]:
        """Return the structure at the bottom of a type (None for any other), and the sizes."""
        sizes: list[Any] = []
        while True:
            match kind := resolved_type(kind, self._typedefs):
                case c_ast.ArrayDecl():
                    sizes.append(kind.dim)
                    kind = kind.type
                case c_ast.PtrDecl():
                    sizes.append(None)
                    kind = kind.type
                case c_ast.Struct():
                    return (kind if kind.decls else self._structures.get(kind.name)), sizes
                case _:
                    return None, sizes

    def _is_used_by_members_only(self, name: str) -> bool:
        """Whether the region uses a variable for its members only, and calls elsewhere take it."""
        region = self._region.reread()
        inside = _nodes_outside_members(*region.items)
        if any(isinstance(node, c_ast.ID) and node.name == name for node in inside):
            return False
        mentions = [
            node
            for node in _nodes_outside_members(region.function.body)
            if isinstance(node, c_ast.ID) and node.name == name
        ]
        passed = {
            id(_passed_variable(operand))
            for call in syntax.walk(region.function.body, c_ast.FuncCall)
            for operand in syntax.operands_of(call)
        }
        passed |= {id(node.expr) for node in syntax.walk(region.function.body, c_ast.Return)}
        return all(id(node) in passed for node in mentions)

    def _with_members_passed(self, body: Any) -> Any:
        """Return a body in which calls take the members of a structure in its place."""
        names: dict[str, list[str]] = {}
        for (base, _), name in self._names.items():
            names.setdefault(base, []).append(name)

        def passed(operand: Any) -> list[Any]:
            variable = _passed_variable(operand)
            if variable is None or variable.name not in names:
                return [self._with_members_passed(operand)]
            members = [c_ast.ID(name, operand.coord) for name in names[variable.name]]
            if operand is variable:
                return members
            return [c_ast.UnaryOp("&", member, operand.coord) for member in members]

        def replacement(node: Any) -> Any:
            if isinstance(node, c_ast.Pragma | c_ast.Decl):
                init = getattr(node, "init", None)
                return node if init is None or isinstance(init, c_ast.InitList) else None
            if isinstance(node, c_ast.Return) and getattr(node.expr, "name", None) in names:
                members = c_ast.ExprList(passed(node.expr), node.coord)
                return c_ast.Return(members, node.coord)
            if not isinstance(node, c_ast.FuncCall):
                return None
            operands = [new for operand in syntax.operands_of(node) for new in passed(operand)]
            return syntax.with_operands(node, operands)

        return syntax.copy_tree(body, replacement) if names else body

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
        structures, ranks = [structure], [len(sizes)]
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
                structures.append(structure)
                ranks.append(len(more))
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
        self.origins[name] = MemberOrigin(
            *key,
            (*ranks, array_rank(named.type, self._typedefs)),
            tuple(
                self._layouts.place(kind, member.path[level:])
                for level, kind in enumerate(structures)
            ),
        )
        kind = syntax.type_named(named.type, name)
        for size in reversed(sizes):
            if size is None:
                kind = c_ast.PtrDecl([], kind, declaration.coord)
            else:
                kind = c_ast.ArrayDecl(kind, syntax.copy_tree(size), [], declaration.coord)
        storage = declaration.storage
        init = self._listed.get(id(declaration), {}).get(member.path[0])
        if init is not None and len(member.path) > 1:
            return None
        new = c_ast.Decl(name, [], [], storage, [], kind, init, None, declaration.coord)
        self._new.setdefault(member.base.name, []).append(new)
        return name


def initial_members(structure: Any, init: Any) -> dict[str, Any] | None:
    """Return what a list gives the members of a structure, None where it is not plain.

    Of ``{{0}, .n = 3}`` they are ``{0}`` for the first one and 3 for n; the others are 0.
    """
    names = [decl.name for decl in structure.decls]
    values: dict[str, Any] = {}
    place = 0
    for expression in init.exprs:
        value = expression
        if isinstance(expression, c_ast.NamedInitializer):
            named = expression.name[0]
            if len(expression.name) != 1 or getattr(named, "name", None) not in names:
                return None
            place, value = names.index(named.name), expression.expr
        if place >= len(names):
            return None
        values[names[place]] = value
        place += 1
    for decl in structure.decls:
        zero = syntax.integer_node(0, init)
        is_array = isinstance(decl.type, c_ast.ArrayDecl)
        given = values.setdefault(
            decl.name, c_ast.InitList([zero], init.coord) if is_array else zero
        )
        if is_array != isinstance(given, c_ast.InitList):
            return None
    return values


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


def _passed_variable(operand: Any) -> Any:
    """Return the variable that an operand of a call is, or is the address of; None for others."""
    if isinstance(operand, c_ast.UnaryOp) and operand.op == "&":
        operand = operand.expr
    return operand if isinstance(operand, c_ast.ID) else None


def _nodes_outside_members(*nodes: Any) -> list[Any]:
    """Return the nodes of trees that are not the way to a member."""
    result: list[Any] = []
    pending = list(nodes)
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
