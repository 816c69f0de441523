"""Static variables that nothing writes: they are constants, and are marked as such.

A ``static`` variable at file scope can only be changed by this file. Where no function assigns it
or takes its address, it has its initialiser's value for ever, and compilers put that in its place::

    static int divisor = 2;                     static int divisor = 2;
    void f(void) { … x[i] / divisor … }    →    void f(void) { … x[i] / 2 … }

The rest of the front end takes such a variable as it takes a ``const`` one, for bounds, sizes and
divisions alike. One whose value it cannot compute stays an argument.

A variable stays as it is if

* it is no number, has no initialiser, or is ``volatile``;
* a function assigns it, steps it, or takes its address, by ``&`` or under another name;
* assembly or an attribute mentions it, or something has the attribute ``used``: assembly that is
  not in the text may change it then;
* a function or a declaration that is not read mentions it;
* it is given to a call that may be a macro of a header that is not read, which could assign it.

A local variable or an argument of the same name is another variable.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from pycparser import c_ast

from polygym.frontend.c.source import syntax
from polygym.frontend.c.source.locations import SourceMap
from polygym.frontend.c.source.unreadable import UnreadableDeclaration

_NUMBER_TYPES = frozenset("_Bool char short int long float double signed unsigned".split())
_UNSTABLE = frozenset({"volatile", "_Atomic"})
_USED = "used"


def mark_unwritten_statics(tree: Any, source: SourceMap) -> None:
    """Mark the static variables of a file that nothing in it writes."""
    if _USED in source.hidden_words:
        return
    candidates = _candidates(tree)
    for function in syntax.functions_of(tree).values():
        if candidates and not syntax.names_in(function.body).isdisjoint(candidates):
            for name in _exposed(function, frozenset()):
                candidates.pop(name, None)
    if source.has_unknown_headers:
        for name in _given_to_macros(tree):
            candidates.pop(name, None)
    for node in tree.ext:
        if isinstance(node, UnreadableDeclaration):
            candidates = {n: decls for n, decls in candidates.items() if n not in node.mentioned}
    for name in source.hidden_words & set(candidates):
        del candidates[name]
    for declared in candidates.values():
        for node in declared:
            node.quals = [*node.quals, syntax.UNWRITTEN]


def _candidates(tree: Any) -> dict[str, list[Any]]:
    """Return the declarations of all static numbers of a file that are not const, by name."""
    typedefs = syntax.typedefs_of(tree)
    result: dict[str, list[Any]] = {}
    for node in tree.ext:
        if isinstance(node, c_ast.Decl) and node.name and isinstance(node.type, c_ast.TypeDecl):
            result.setdefault(node.name, []).append(node)
    return {
        name: declared
        for name, declared in result.items()
        if "static" in declared[0].storage
        and any(node.init is not None for node in declared)
        and all("const" not in node.quals and _is_number(node, typedefs) for node in declared)
    }


def _is_number(node: Any, typedefs: Mapping[str, Any]) -> bool:
    """Whether a type is one of numbers that only the program changes."""
    kind = node.type
    if not _UNSTABLE.isdisjoint(node.quals):
        return False
    while isinstance(kind, c_ast.TypeDecl):
        if not _UNSTABLE.isdisjoint(kind.quals):
            return False
        inner = kind.type
        names: list[str] = getattr(inner, "names", [])
        if isinstance(inner, c_ast.IdentifierType) and set(names) <= _NUMBER_TYPES:
            return True
        kind = typedefs.get(names[0]) if len(names) == 1 else None
    return False


def _exposed(node: Any, hidden: Collection[str]) -> Iterator[str]:
    """Yield the names of file scope that a part of a function assigns or takes the address of.

    ``hidden`` are the names that mean something else there.
    """
    match node:
        case None:
            return
        case c_ast.FuncDef():
            arguments = {argument.name for argument in syntax.arguments_of(node)}
            yield from _exposed(node.body, arguments)
        case c_ast.Compound():
            hidden = set(hidden)
            for item in node.block_items or ():
                yield from _exposed(item, hidden)
                hidden |= _hidden_by(item)
        case c_ast.For(init=c_ast.DeclList(decls=decls)):
            yield from _exposed(node.init, hidden)
            inside = {*hidden, *(name for decl in decls for name in _hidden_by(decl))}
            for part in (node.cond, node.next, node.stmt):
                yield from _exposed(part, inside)
        case _:
            target = _changed_object(node)
            if isinstance(target, c_ast.ID) and target.name not in hidden:
                yield target.name
            for _, child in node.children():
                yield from _exposed(child, hidden)


def _hidden_by(item: Any) -> set[str]:
    """Return the name that a declaration in a block takes away from file scope, if it does."""
    is_own = isinstance(item, c_ast.Decl) and "extern" not in item.storage
    return {item.name} if is_own and item.name else set()


def _changed_object(node: Any) -> Any:
    """Return the variable that a node changes or takes the address of; None for other nodes."""
    if syntax.is_modification(node):
        target = syntax.target_of(node)
    elif isinstance(node, c_ast.UnaryOp) and node.op == "&":
        target = node.expr
    else:
        return None
    while isinstance(target, c_ast.ArrayRef | c_ast.StructRef):
        target = target.name
    return target


def _given_to_macros(tree: Any) -> Iterator[str]:
    """Yield the names that are arguments of calls of what the file does not declare."""
    declared = {
        getattr(node, "decl", node).name
        for node in tree.ext
        if isinstance(node, c_ast.FuncDef | c_ast.Decl)
    }
    for call in syntax.walk(tree, c_ast.FuncCall):
        if getattr(call.name, "name", None) not in declared:
            yield from (
                operand.name
                for operand in syntax.operands_of(call)
                if isinstance(operand, c_ast.ID)
            )
