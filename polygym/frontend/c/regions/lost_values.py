"""Variables that a region sets, whose last values code after it may see, and no array has.

A counter that is declared outside of a region has a value after its loop, and a Scop does not know
that value: ::

    for (i = 0; i < n; i++)      the region
      s += x[i];
    return s / i;                uses i, which is n

Code that is generated for the region leaves i as it was: so a caller that puts it there has to set
it, and an export is refused. A loop after the region that begins with ``i = …`` uses nothing of the
old value, unless i is at file scope, is ``static``, or has its address taken: then its value may be
seen by another name.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from pycparser import c_ast

from polygym.frontend.c.sema.symbols import DeclarationScope, ResolvedNames, Symbol, UseKind
from polygym.frontend.c.source import syntax
from polygym.frontend.c.source.parser import ScopRegion
from polygym.frontend.c.source.syntax import contains_node, counter_of, names_read_outside_loops


def lost_values(
    names: ResolvedNames, region: ScopRegion, stored: Collection[str]
) -> tuple[Symbol, ...]:
    """Return the variables whose values are lost, by name.

    ``names`` and ``region`` are as they were before the first pass; ``stored`` are the names of the
    variables whose last values are in arrays of the Scop.
    """
    targets = {id(target) for target in _own_targets(region)}
    changed = (
        symbol
        for symbol in names.uses
        if symbol.scope is not DeclarationScope.REGION
        and symbol.name not in stored
        and any(id(use.node) in targets for use in names.assignments(symbol))
    )
    lost = (symbol for symbol in changed if _may_be_seen(names, region, symbol))
    return tuple(sorted(lost, key=lambda symbol: symbol.name))


def declarations_used_after(names: ResolvedNames) -> tuple[Symbol, ...]:
    """Return the variables that are declared in the region and used after it."""
    own = (symbol for symbol in names.uses if symbol.scope is DeclarationScope.REGION)
    return tuple(symbol for symbol in own if names.is_used_after(symbol))


def _own_targets(region: ScopRegion) -> Iterator[Any]:
    """Yield the variables that a region sets themselves, not what they lead to, or hands out."""
    for node in syntax.walk(list(region.items)):
        if syntax.is_modification(node):
            target = syntax.target_of(node)
        elif isinstance(node, c_ast.UnaryOp) and node.op == "&":
            target = node.expr
        else:
            continue
        if isinstance(target, c_ast.ID):
            yield target


def _may_be_seen(names: ResolvedNames, region: ScopRegion, symbol: Symbol) -> bool:
    """Whether code after the region may see a variable's value, by its name or by its address."""
    return (
        symbol.scope is DeclarationScope.FILE
        or names.is_static(symbol)
        or any(
            use.kind is UseKind.ADDRESS and not names.begin < use.position < names.end
            for use in names.assignments(symbol)
        )
        or _is_read_after(region, symbol.name)
    )


def _is_read_after(region: ScopRegion, name: str) -> bool:
    """Whether code that runs after a region may read a variable before it is assigned again."""
    jumps = [node for node in syntax.walk(region.function.body, c_ast.Goto)]
    own = [jump for item in region.items for jump in syntax.walk(item, c_ast.Goto)]
    if len(jumps) > len(own):  # the order of the text is not the order in which it runs
        return True
    for items, loop in _what_follows(region):
        for item in items:
            is_assigned = _assigns(item, name)
            part = item.rvalue if is_assigned and isinstance(item, c_ast.Assignment) else item
            if name in names_read_outside_loops(part):
                return True
            if is_assigned:
                return False
        if loop is not None and _is_in_header(loop, name):
            return True
    return False


def _what_follows(region: ScopRegion) -> Iterator[tuple[Sequence[Any], Any]]:
    """Yield the statements that run after a region, block by block outward, and the loop around.

    Where a loop is around, the statements before the region run after it, too.
    """
    path = _path(region.function.body, region.begin)
    inner: Any = region.end
    for node in reversed(path):
        for name in ("block_items", "stmts"):
            items = getattr(node, name, None) or []
            places = [place for place, item in enumerate(items) if item is inner]
            if places:
                yield items[places[0] + 1 :], None
        if isinstance(node, c_ast.For | c_ast.While | c_ast.DoWhile):
            before = _items_before(node.stmt, region.begin)
            yield before, node
        inner = node


def _items_before(body: Any, begin: Any) -> list[Any]:
    """Return the statements of a loop's body before a place in it, in their order."""
    result: list[Any] = []
    for item in getattr(body, "block_items", None) or ():
        if item is begin:
            break
        result.append(item)  # the one that holds the place counts as a whole
        if contains_node(item, begin):
            break
    return result


def _path(node: Any, wanted: Any) -> list[Any]:
    """Return the nodes around one, the outermost first."""
    for _, child in node.children():
        if child is wanted:
            return [node]
        if contains_node(child, wanted):
            return [node, *_path(child, wanted)]
    return []


def _assigns(item: Any, name: str) -> bool:
    """Whether a statement assigns a variable in any case."""
    match item:
        case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=target)):
            return bool(target == name)
        case c_ast.For():
            return counter_of(item) == name and isinstance(item.init, c_ast.Assignment)
        case _:
            return False


def _is_in_header(loop: Any, name: str) -> bool:
    """Whether the header of a loop reads a variable that is not set there first."""
    parts = [getattr(loop, part, None) for part in ("cond", "next")]
    return any(name in names_read_outside_loops(part) for part in parts if part is not None)
