"""Copies of whole structures as copies of their members, before members get names of their own.

An assignment of a structure copies all members; so does a declaration with a value::

    struct vec { double x, y; } *p, *f;          struct vec t;
    struct vec t = p[i];                         t.x = p[i].x;  t.y = p[i].y;
    f[i] = t;                                    f[i].x = t.x;  f[i].y = t.y;
    struct vec z = {1};                          z.x = 1;  z.y = 0;

A member of a local variable that nothing reads is not copied. A copy is left as it is, to be
refused, where a subscript uses the variable that is assigned (``p = q[p.next]`` changes ``p.next``
on its way), where the structure has pointers or bit-fields, and where it has more than
``_MAX_MEMBERS`` members, elements of arrays among them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from polygym.frontend.c.sema.declarations import resolved_type
from polygym.frontend.c.source import syntax

_MAX_MEMBERS = 32

_Way = tuple[str | int, ...]
"""The way from a structure to a member: names, and subscripts of arrays on the way."""


def with_member_copies(tree: Any, function: Any) -> Any:
    """Return the body of a function without copies of whole structures."""
    rewriter = _CopyExpander(tree, function)
    body = rewriter.expanded(function.body)
    return _without_unread(body, rewriter.copies, _local_names(function))


@dataclass(frozen=True, slots=True, eq=False)
class _MemberCopy:
    """A copy of one member of a variable: the assignment, the variable's name, the way."""

    assignment: Any
    variable: str
    way: _Way


class _CopyExpander:
    """Replaces copies of structures; ``copies`` are the assignments that stand for them."""

    def __init__(self, tree: Any, function: Any) -> None:
        self._typedefs = syntax.typedefs_of(tree)
        self._structures = syntax.structures_of(tree)
        self._types = _unique_types(tree, function)
        self.copies: list[_MemberCopy] = []

    def expanded(self, node: Any) -> Any:
        """Return a tree with the members' copies in the place of the structures'."""
        return syntax.copy_tree(node, self._replacement)

    def _replacement(self, node: Any) -> Any:
        match node:
            case c_ast.Pragma():
                return node
            case c_ast.Compound() if node.block_items:
                items = [new for item in node.block_items for new in self._item(item)]
                return c_ast.Compound(items, node.coord)
            case c_ast.Assignment(op="="):
                copies = self._copies(node.lvalue, node.rvalue)
                return None if copies is None else c_ast.Compound(copies, node.coord)
            case _:
                return None

    def _item(self, item: Any) -> list[Any]:
        """Return the statements for one of a block."""
        if not isinstance(item, c_ast.Decl) or item.init is None or item.storage:
            return [self.expanded(item)]
        copies = self._copies(c_ast.ID(item.name, item.coord), item.init)
        if copies is None:
            return [self.expanded(item)]
        plain = syntax.copy_tree(item)
        plain.init = None
        return [plain, *copies]

    def _copies(self, target: Any, value: Any) -> list[Any] | None:
        """Return the assignments of the members, None where it is no copy of a structure."""
        structure = self._structure(self._type(target))
        if structure is None:
            return None
        ways = self._ways(structure)
        base, subscripts = _place(target)
        if ways is None or base is None or base in syntax.names_in(subscripts):
            return None
        if isinstance(value, c_ast.CompoundLiteral):
            value = value.init
        if isinstance(value, c_ast.InitList):
            values = self._initial_values(structure, value, ways)
            given = list((values or {}).values())
            if syntax.acts(given) or base in syntax.names_in(given):
                return None  # all are evaluated before the first member changes
        else:
            source, taken = _place(value)
            is_same = self._structure(self._type(value)) is structure
            if source is None or not is_same or base in syntax.names_in(taken):
                return None
            values = {way: _member_node(value, way) for way in ways}
        if values is None:
            return None
        is_variable = isinstance(target, c_ast.ID)
        result = []
        for way in ways:
            assigned = c_ast.Assignment("=", _member_node(target, way), values[way], target.coord)
            result.append(assigned)
            if is_variable:
                self.copies.append(_MemberCopy(assigned, target.name, way))
        return result

    def _type(self, node: Any) -> Any:
        """Return the declared type of a place in memory, None where it is not known."""
        match node:
            case c_ast.ID():
                return self._types.get(node.name)
            case c_ast.ArrayRef():
                return self._element_type(self._type(node.name))
            case c_ast.UnaryOp(op="*"):
                return self._element_type(self._type(node.expr))
            case c_ast.StructRef():
                kind = self._type(node.name)
                structure = self._structure(self._element_type(kind) if node.type == "->" else kind)
                members = structure.decls if structure is not None else ()
                return next((m.type for m in members if m.name == node.field.name), None)
            case _:
                return None

    def _resolved(self, kind: Any) -> Any:
        return resolved_type(kind, self._typedefs)

    def _element_type(self, kind: Any) -> Any:
        kind = self._resolved(kind)
        return kind.type if isinstance(kind, c_ast.ArrayDecl | c_ast.PtrDecl) else None

    def _structure(self, kind: Any) -> Any:
        kind = self._resolved(kind)
        if not isinstance(kind, c_ast.Struct):
            return None
        return kind if kind.decls else self._structures.get(kind.name)

    def _ways(self, structure: Any) -> list[_Way] | None:
        """Return the ways to the members, None where they are too many or no numbers."""
        result: list[_Way] = []
        for member in structure.decls:
            ways = self._ways_within(member.type) if member.bitsize is None else None
            if member.name is None or ways is None:
                return None
            result += [(member.name, *way) for way in ways]
        return result if len(result) <= _MAX_MEMBERS else None

    def _ways_within(self, kind: Any) -> list[_Way] | None:
        """Return the ways from a member to its elements and members."""
        kind = self._resolved(kind)
        match kind:
            case c_ast.IdentifierType() | c_ast.Enum():
                return [()]
            case c_ast.Struct():
                inner = self._structure(kind)
                return None if inner is None else self._ways(inner)
            case c_ast.ArrayDecl(dim=c_ast.Constant(type="int", value=text)):
                ways = self._ways_within(kind.type)
                count = int(text, 0) if text.isdecimal() else _MAX_MEMBERS + 1
                if ways is None or count * len(ways) > _MAX_MEMBERS:
                    return None
                return [(place, *way) for place in range(count) for way in ways]
            case _:
                return None

    def _initial_values(
        self, structure: Any, values: Any, ways: list[_Way]
    ) -> Mapping[_Way, Any] | None:
        """Return the values that a list in braces gives the members, 0 to those that it leaves.

        None for lists in lists, and for members that are arrays or structures.
        """
        if len(ways) != len(structure.decls):
            return None
        result: dict[_Way, Any] = {way: c_ast.Constant("int", "0", values.coord) for way in ways}
        place = 0
        for value in values.exprs:
            if isinstance(value, c_ast.NamedInitializer):
                names = [getattr(name, "name", None) for name in value.name]
                place = next((k for k, way in enumerate(ways) if list(way) == names), len(ways))
                value = value.expr
            if place >= len(ways) or isinstance(value, c_ast.InitList):
                return None
            result[ways[place]] = syntax.copy_tree(value)
            place += 1
        return result


def _unique_types(tree: Any, function: Any) -> dict[str, Any]:
    """Return the types of the variables that a function may use, of those with one declaration."""
    declared = syntax.walk(function, c_ast.Decl)
    local = [decl for decl in declared if decl.name and decl is not function.decl]
    names = [decl.name for decl in local]
    outside = [node for node in tree.ext if isinstance(node, c_ast.Decl) and node.name]
    result = {decl.name: decl.type for decl in outside}
    result.update({decl.name: decl.type for decl in local})
    return {name: kind for name, kind in result.items() if names.count(name) <= 1}


def _local_names(function: Any) -> set[str]:
    """Return the names that the body of a function declares, not static."""
    declared = syntax.walk(function.body, c_ast.Decl)
    return {decl.name for decl in declared if decl.name and "static" not in (decl.storage or ())}


def _place(node: Any) -> tuple[str | None, list[Any]]:
    """Return the variable of a place in memory, None of anything else, and the subscripts."""
    subscripts: list[Any] = []
    while True:
        match node:
            case c_ast.ArrayRef():
                subscripts.append(node.subscript)
                node = node.name
            case c_ast.UnaryOp(op="*"):
                node = node.expr
            case c_ast.StructRef():
                node = node.name
            case c_ast.ID():
                return (None if syntax.acts(subscripts) else node.name), subscripts
            case _:
                return None, []


def _member_node(place: Any, way: _Way) -> Any:
    """Return the member of a place in memory at the end of a way."""
    result = syntax.copy_tree(place)
    for step in way:
        if isinstance(step, int):
            result = c_ast.ArrayRef(result, syntax.integer_node(step, place), place.coord)
        else:
            result = c_ast.StructRef(result, ".", c_ast.ID(step, place.coord), place.coord)
    return result


def _without_unread(body: Any, copies: list[_MemberCopy], local_names: set[str]) -> Any:
    """Return a body without copies to members of local variables that nothing reads."""
    targets = {id(copy.assignment.lvalue) for copy in copies}
    used = set(_used_members(body, targets))
    whole = {variable for variable, names in used if not names}
    dead = {
        id(copy.assignment)
        for copy in copies
        if copy.variable in local_names
        and copy.variable not in whole
        and not any(
            variable == copy.variable and _is_prefix(names, copy.way) for variable, names in used
        )
    }

    def replacement(node: Any) -> Any:
        if isinstance(node, c_ast.Pragma):
            return node
        return c_ast.EmptyStatement(node.coord) if id(node) in dead else None

    return syntax.copy_tree(body, replacement) if dead else body


def _is_prefix(names: tuple[str, ...], way: _Way) -> bool:
    own = tuple(step for step in way if isinstance(step, str))
    return own[: len(names)] == names or names[: len(own)] == own


def _used_members(node: Any, targets: set[int]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the variables that a tree uses, each with the names on the way to the member.

    Uses at ``targets`` are left out but for their subscripts.
    """
    pending: list[tuple[Any, tuple[str, ...]]] = [(node, ())]
    while pending:
        part, names = pending.pop()
        if id(part) in targets:
            continue
        match part:
            case c_ast.ID():
                yield part.name, names
            case c_ast.StructRef():
                pending.append((part.name, (part.field.name, *names)))
            case c_ast.ArrayRef():
                pending += [(part.name, names), (part.subscript, ())]
            case c_ast.UnaryOp(op="*"):
                pending.append((part.expr, names))
            case _:
                pending += [(child, ()) for _, child in part.children()]
