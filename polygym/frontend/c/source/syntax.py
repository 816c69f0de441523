"""Syntax trees as values: walks, copies with replacements, and the nodes that passes put in.

pycparser's nodes are mutable and know no parents; what is rewritten here is always a copy, which
keeps the places of the original.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from pycparser import c_ast

Name = TypeVar("Name", bound=Hashable)

_TREES = (c_ast.Node, list)

# Comparisons, and those that say the same from the other side.
MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


# A qualifier of variables beside those of C: nothing in the file writes them.
UNWRITTEN = "unwritten"


def walk(node: Any, *kinds: type) -> Iterator[Any]:
    """Yield a node and everything below it, parents first; of ``kinds`` alone if there are some.

    A list or tuple of nodes stands for all of them.
    """
    if kinds:
        yield from (part for part in walk(node) if isinstance(part, kinds))
        return
    pending = (
        [part for part in reversed(node) if part] if isinstance(node, list | tuple) else [node]
    )
    while pending:
        current = pending.pop()
        yield current
        for name in _BELOW[type(current)]:  # names and numbers, half of all nodes, have none
            value = getattr(current, name)
            if type(value) is list:
                pending += reversed(value)
            elif value is not None:
                pending.append(value)


class _NamesByNodeType(dict[type, tuple[str, ...]]):
    """Names that are found once for each kind of node."""

    def __init__(self, find: Callable[[type], Iterable[str]]) -> None:
        super().__init__()
        self._find = find

    def __missing__(self, kind: type) -> tuple[str, ...]:
        """Find them."""
        result = self[kind] = tuple(self._find(kind))
        return result


def _attributes(kind: Any) -> Iterator[str]:
    """Yield the names of all attributes of a kind of node."""
    for name in kind.__slots__:
        if name != "__weakref__":
            yield name


def _below(kind: type) -> Iterator[str]:
    """Yield where a kind of node keeps what is below it, the last first.

    That is what its method ``children`` says of one that has its attributes' names in the place of
    its attributes, in lists: what is one node comes out as the list, what are several as a name.

    >>> [list(_below(kind)) for kind in (c_ast.ArrayRef, c_ast.Compound, c_ast.ID)]
    [['subscript', 'name'], ['block_items'], []]
    """
    probe: Any = object.__new__(kind)
    for name in _ATTRIBUTES[kind]:
        setattr(probe, name, [name])
    names: list[str] = [part if isinstance(part, str) else part[0] for _, part in probe.children()]
    return reversed(names)


_ATTRIBUTES = _NamesByNodeType(_attributes)
_BELOW = _NamesByNodeType(_below)


def contains(node: Any, *kinds: type) -> bool:
    """Whether a node of some kinds is in a tree, or in several."""
    return next(walk(node, *kinds), None) is not None


def contains_node(node: Any, wanted: Any) -> bool:
    """Whether a node is in the tree below another."""
    return any(part is wanted for part in walk(node))


def names_in(node: Any) -> set[str]:
    """Return the identifiers in a node, or in several, that may mean variables."""
    return {identifier.name for identifier in walk(node, c_ast.ID)}


def declared_names(node: Any) -> set[str]:
    """Return the names of variables that a node, or several, declare."""
    return {decl.name for decl in walk(node, c_ast.Decl) if decl.name}


def multiplies(node: Any) -> bool:
    """Whether an expression multiplies, or one in a statement."""
    return any(operation.op == "*" for operation in walk(node, c_ast.BinaryOp))


def structures_of(tree: Any) -> dict[str, Any]:
    """Return the structures with members that a file names."""
    structures = walk(tree, c_ast.Struct)
    return {node.name: node for node in structures if node.name and node.decls}


def typedefs_of(tree: Any) -> dict[str, Any]:
    """Return the types that a file names, as first declared; ``typedef T T;`` may follow."""
    types: dict[str, Any] = {}
    for node in tree.ext:
        if isinstance(node, c_ast.Typedef):
            types.setdefault(node.name, node.type)
    return types


def functions_of(tree: Any) -> dict[str, Any]:
    """Return the functions that a file defines."""
    return {node.decl.name: node for node in tree.ext if isinstance(node, c_ast.FuncDef)}


def arguments_of(function: Any) -> list[Any]:
    """Return the declarations of a function's arguments that have a name."""
    given = function.decl.type.args
    return [decl for decl in (given.params if given else ()) if isinstance(decl, c_ast.Decl)]


def operands_of(call: Any) -> list[Any]:
    """Return the expressions that a call gives to a function."""
    return list(call.args.exprs) if call.args else []


def with_operands(call: Any, operands: list[Any]) -> Any:
    """Return a call with other operands."""
    arguments = c_ast.ExprList(operands, call.coord) if operands else None
    return c_ast.FuncCall(call.name, arguments, call.coord)


def read_outside_loops(
    node: Any,
    meaning: Callable[[Any], Name | None],
    counter_of: Callable[[Any], Name | None],
    counters: frozenset[Name] = frozenset(),
) -> Iterator[Name]:
    """Yield what identifiers mean that are read outside of all loops that count with it.

    ``meaning`` says it of an identifier, ``counter_of`` of the counter that a loop starts.
    """
    match node:
        case None:
            return
        case c_ast.ID():
            hashable = meaning(node)
            if hashable is not None and hashable not in counters:
                yield hashable
        case c_ast.For():
            counter = counter_of(node)
            inner = counters if counter is None else counters | {counter}
            starts = [getattr(node.init, "rvalue", None)]
            starts += [decl.init for decl in getattr(node.init, "decls", None) or ()]
            for start in starts:
                yield from read_outside_loops(start, meaning, counter_of, counters)
            for part in (node.cond, node.next, node.stmt):
                yield from read_outside_loops(part, meaning, counter_of, inner)
        case _:
            for _, child in node.children():
                yield from read_outside_loops(child, meaning, counter_of, counters)


def names_read_outside_loops(node: Any) -> set[str]:
    """Return the names that are read outside of all loops that count with them."""
    return set(read_outside_loops(node, lambda identifier: str(identifier.name), counter_of))


def conjuncts(condition: Any) -> Iterator[Any]:
    """Yield what a conjunction consists of."""
    if isinstance(condition, c_ast.BinaryOp) and condition.op == "&&":
        yield from conjuncts(condition.left)
        yield from conjuncts(condition.right)
    else:
        yield condition


def conjunction(parts: Sequence[Any]) -> Any:
    """Return some conditions joined."""
    whole = parts[0]
    for part in parts[1:]:
        whole = c_ast.BinaryOp("&&", whole, part, part.coord)
    return whole


def counter_of(loop: Any) -> str | None:
    """Return the name of the counter that a loop starts."""
    match loop.init:
        case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=name)):
            return str(name)
        case c_ast.DeclList(decls=[decl]):
            return str(decl.name)
        case _:
            return None


def start_of(loop: Any) -> Any:
    """Return the first value of a loop's counter."""
    if isinstance(loop.init, c_ast.DeclList):
        return loop.init.decls[0].init
    return getattr(loop.init, "rvalue", None)


def for_loop(
    name: str, type_name: str, span: tuple[Any, str, Any], step: str, body: Any, like: Any
) -> Any:
    """Return a loop with a counter of its own, at a node's place.

    ``span`` has the first value, the comparison and the last one; ``step`` is ``p++`` or ``p--``.
    """
    start, operator, end = span
    counter = c_ast.ID(name, like.coord)
    return c_ast.For(
        c_ast.DeclList([declaration(name, type_node(type_name, like), start, like)], like.coord),
        c_ast.BinaryOp(operator, counter, end, like.coord),
        c_ast.UnaryOp(step, copy_tree(counter), like.coord),
        body,
        like.coord,
    )


def copy_tree(node: Any, replacement: Callable[[Any], Any] = lambda node: None) -> Any:
    """Return a copy of a tree; where ``replacement`` returns a node, that stands there instead.

    A replacement is taken as it is: the caller copies what it consists of.
    """
    if not isinstance(node, c_ast.Node):
        return [copy_tree(item, replacement) for item in node] if isinstance(node, list) else node
    result = replacement(node)
    if result is not None:
        return result
    new: Any = object.__new__(type(node))
    for name in _ATTRIBUTES[type(node)]:
        part = getattr(node, name, None)
        if isinstance(part, _TREES):
            part = copy_tree(part, replacement)
        setattr(new, name, part)
    return new


def integer_node(value: int, like: Any) -> Any:
    """Return an integer constant at another node's place."""
    constant = c_ast.Constant("int", str(abs(value)), like.coord)
    return constant if value >= 0 else c_ast.UnaryOp("-", constant, like.coord)


def declaration(name: str, kind: Any, init: Any, like: Any) -> Any:
    """Return the declaration of a variable of a type (a node without a name) at a node's place."""
    return c_ast.Decl(name, [], [], [], [], type_named(kind, name), init, None, like.coord)


def element_node(name: str, subscripts: Sequence[Any], like: Any) -> Any:
    """Return ``A[i][j]``, at a node's place."""
    result: Any = c_ast.ID(name, like.coord)
    for subscript in subscripts:
        result = c_ast.ArrayRef(result, subscript, like.coord)
    return result


def cast_node(value: Any, kind: Any, like: Any) -> Any:
    """Return a value cast to a type."""
    plain = c_ast.TypeDecl(None, [], None, kind.type, like.coord)
    return c_ast.Cast(c_ast.Typename(None, [], None, plain, like.coord), value, like.coord)


def as_long(node: Any, like: Any = None) -> Any:
    """Return an integer as ``long``, at a node's place or its own."""
    like = node if like is None else like
    return cast_node(node, type_node("long", like), like)


def keeps_initializer(declared: Any) -> bool:
    """Whether a variable at file scope has its initialiser's value for ever."""
    return not {"const", UNWRITTEN}.isdisjoint(declared.quals)


def is_static_constant(node: Any) -> bool:
    """Whether a node declares a static variable that nothing may change, with its value."""
    return (
        isinstance(node, c_ast.Decl)
        and "static" in node.storage
        and "const" in node.quals
        and node.init is not None
    )


def renamed_declaration(node: Any, name: str) -> Any:
    """Return the declaration of a variable under another name."""
    new = declaration(name, node.type, node.init, node)
    new.quals, new.storage = node.quals, node.storage
    return new


def type_named(kind: Any, name: str) -> Any:
    """Return a type's node for a variable of another name, without qualifiers."""
    if isinstance(kind, c_ast.TypeDecl):
        return c_ast.TypeDecl(name, [], None, kind.type, kind.coord)
    if isinstance(kind, c_ast.ArrayDecl):
        return c_ast.ArrayDecl(type_named(kind.type, name), kind.dim, [], kind.coord)
    return kind


def array_type(kind: Any) -> tuple[list[Any], Any]:
    """Return the sizes of an array's or pointer's dimensions, None for a pointer, and the rest."""
    sizes: list[Any] = []
    while isinstance(kind, c_ast.ArrayDecl | c_ast.PtrDecl):
        sizes.append(getattr(kind, "dim", None))
        kind = kind.type
    return sizes, kind


def type_node(type_name: str, like: Any) -> Any:
    """Return the node of a type of one word, ``int``."""
    return c_ast.TypeDecl(None, [], None, c_ast.IdentifierType([type_name], like.coord), like.coord)


def statements_of(node: Any) -> list[Any]:
    """Return the statements of a block, or a single one as a list."""
    if isinstance(node, c_ast.Compound):
        return list(node.block_items or ())
    return [] if node is None else [node]


def block_with(node: Any, wanted: Any) -> list[Any]:
    """Return the list of a block's items that holds one of them."""
    for block in walk(node):
        for name in ("block_items", "stmts"):
            items = getattr(block, name, None)
            if items is not None and any(item is wanted for item in items):
                result: list[Any] = items
                return result
    raise AssertionError("the region is in no block of its function")


def declarations_before(function: Any, begin: Any) -> dict[str, Any]:
    """Return the declarations of a function that stand before a place."""
    declared: dict[str, Any] = {}
    for node in walk(function):
        if node is begin:
            break
        if isinstance(node, c_ast.Decl) and node.name and node is not function.decl:
            declared[node.name] = node
    return declared


def without_casts(node: Any) -> Any:
    """Return an expression without the casts around it."""
    while isinstance(node, c_ast.Cast):
        node = node.expr
    return node


def reads_elements(node: Any) -> bool:
    """Whether an expression reads memory at an address, as ``*p`` and ``a[i]``."""
    return any(
        isinstance(part, c_ast.ArrayRef) or (isinstance(part, c_ast.UnaryOp) and part.op == "*")
        for part in walk(node)
    )


def base_and_subscripts(node: Any) -> tuple[Any, list[Any]]:
    """Return the root of ``name[e]…[e]`` or ``*name`` and its subscripts."""
    subscripts: list[Any] = []
    if isinstance(node, c_ast.UnaryOp) and node.op == "*":
        return node.expr, [c_ast.Constant("int", "0", node.coord)]
    while isinstance(node, c_ast.ArrayRef):
        subscripts.insert(0, node.subscript)
        node = node.name
    return node, subscripts


def is_zero(node: Any) -> bool:
    """Whether a node is the constant 0."""
    return isinstance(node, c_ast.Constant) and node.value == "0"


def is_modification(node: Any) -> bool:
    """Whether an expression's node itself changes a variable."""
    return isinstance(node, c_ast.Assignment) or (
        isinstance(node, c_ast.UnaryOp) and node.op in ("++", "--", "p++", "p--")
    )


def acts(node: Any) -> bool:
    """Whether an expression, or one in a statement, changes something or calls a function."""
    return any(isinstance(part, c_ast.FuncCall) or is_modification(part) for part in walk(node))


def target_of(node: Any) -> Any:
    """Return what a modification changes."""
    return node.lvalue if isinstance(node, c_ast.Assignment) else node.expr


def modified_name(node: Any) -> str | None:
    """Return the name of the variable that an expression changes, None for other nodes."""
    target = target_of(node) if is_modification(node) else None
    return target.name if isinstance(target, c_ast.ID) else None


def assigned_value(node: Any) -> Any:
    """Return the expression whose value a declaration or a modification stores, None if none."""
    match node:
        case c_ast.Decl(init=init):
            return None if isinstance(init, c_ast.InitList) else init
        case c_ast.Assignment(op="="):
            return node.rvalue
        case c_ast.Assignment():
            return c_ast.BinaryOp(node.op[:-1], node.lvalue, node.rvalue, node.coord)
        case c_ast.UnaryOp(op="++" | "p++" | "--" | "p--"):
            unit = integer_node(1, node)
            return c_ast.BinaryOp(node.op.strip("p")[0], node.expr, unit, node.coord)
        case _:
            return None


def modified_roots(node: Any) -> Iterator[Any]:
    """Yield the root of everything that a statement, or several, assign to."""
    for modification in filter(is_modification, walk(node)):
        base = target_of(modification)
        while isinstance(base, (c_ast.ArrayRef, c_ast.UnaryOp, c_ast.StructRef)):
            base = base.expr if isinstance(base, c_ast.UnaryOp) else base.name
        yield base


def modified_names(node: Any) -> set[str]:
    """Return the names that a statement, or several, change or declare."""
    roots = {root.name for root in modified_roots(node) if isinstance(root, c_ast.ID)}
    return roots | declared_names(node)
