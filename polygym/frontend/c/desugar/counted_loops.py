"""Loops that count in another way, as ``for`` loops of the usual form.

A ``while`` loop whose condition or last statements count is a ``for`` loop::

    while (i--) S                        for (i = i; i--;) S
    while (--i >= 0) S                   for (i = i - 1; i >= 0; i--) S
    while (n > 0) { S; *p++ = 0; n--; }  for (; n > 0; n--) { S; *p++ = 0; }

A ``do`` loop that counts runs its body once before; where the value in front of it says that it
would anyhow, it is that loop alone::

    do { S; i++; } while (i < n);        { S; i++; } for (; i < n; i++) S
    i = 0; do { S; i++; } while (i < 8)  i = 0; for (; i < 8; i++) S

Its counter is changed nowhere else in it, and no ``continue`` skips the last statements. A counter
that starts from the value it has, and that nothing reads behind the loop, need not be changed: an
argument stays the parameter that it is ::

    for (; len > 0; --len, ++buf) S      for (int k = len; k > 0; --k, ++buf) S

This holds for loops that run once: statements of the region itself, outside of other loops.

A signed integer or a pointer that steps by 1 until it is another one reaches that: C gives no
meaning to a program that steps beyond its type or its array. So ``p != end; p++`` is ``p < end``.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any

from pycparser import c_ast

from polygym.errors import SourceError
from polygym.frontend.c.desugar import side_effects
from polygym.frontend.c.desugar.ordered_conditions import ordered_conditions
from polygym.frontend.c.sema.declarations import Declarations
from polygym.frontend.c.source import syntax
from polygym.frontend.c.source.literals import integer_value
from polygym.frontend.c.source.locations import SourceMap
from polygym.frontend.c.source.parser import ScopRegion, with_statements

_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "!=": operator.ne,
}
_COMPARISONS = frozenset(_COMPARE)
_STEPS = frozenset({"++", "--", "p++", "p--"})
_LOOPS = (c_ast.For, c_ast.While, c_ast.DoWhile)


def with_counted_loops(tree: Any, region: ScopRegion, source: SourceMap) -> ScopRegion:
    """Return a region with ``for`` loops in the place of loops that count in another way."""
    if not syntax.contains(list(region.items), *_LOOPS):
        return region
    if syntax.contains(list(region.items), c_ast.While, c_ast.DoWhile):
        region = with_statements(region, _DoLoops(tree, region, source).counted(region.items))
    ordered = ordered_conditions(tree, region)
    if any(ordered(loop) is not None for loop in syntax.walk(region.items, c_ast.For)):
        items = [syntax.copy_tree(item, ordered) for item in region.items]
        region = with_statements(region, items)
    spelled = {token.text for token in source.tokens}
    for item in region.items:
        loop = _labelled_loop(item)
        counter = _running_counter(loop) if loop is not None else None
        if counter is None or not _is_private(counter, region, loop):
            continue
        declared = _declaration(counter, region)
        if declared is None:
            continue
        name = _fresh(counter, spelled)
        _start_from(loop, counter, name, declared)
    return region.reread()


class _DoLoops:
    """Loops that count in a block, with what the declarations say of their counters."""

    def __init__(self, tree: Any, region: ScopRegion, source: SourceMap) -> None:
        """Keep the region, whose function declares counters."""
        self._region = region
        self._file_scope = {node.name for node in tree.ext if isinstance(node, c_ast.Decl)}
        self._types = Declarations(syntax.typedefs_of(tree), source)

    def counted(self, items: Sequence[Any]) -> list[Any]:
        """Return the statements of a block with ``for`` loops for other loops that count."""
        return [syntax.copy_tree(item, self._loop) for item in self._without_do_loops(items)]

    def _loop(self, node: Any) -> Any:
        """Return a ``for`` loop for a ``while`` loop that counts, None for any other node."""
        match node:
            case c_ast.Pragma():
                return node
            case c_ast.While():
                body = syntax.copy_tree(node.stmt, self._loop)
                return (
                    _counted_down(node, body)
                    or _counted_before(node, body)
                    or _counted_at_end(node, body)
                )
            case c_ast.Compound() if syntax.contains(node, c_ast.DoWhile):
                return c_ast.Compound(self.counted(node.block_items or ()), node.coord)
            case _:
                return None

    def _without_do_loops(self, items: Sequence[Any]) -> list[Any]:
        """Return the statements of a block with other loops for ``do`` loops that count."""
        result: list[Any] = []
        for item in items:
            loop = None
            if isinstance(item, c_ast.DoWhile) and not syntax.contains(item.stmt, c_ast.Break):
                loop = _counted_at_end(item, item.stmt)
            if loop is None:
                result.append(item)
                continue
            if not (result and self._holds_behind(result[-1], item.cond)):
                result.append(syntax.copy_tree(item.stmt))
            result.append(loop)
        return result

    def _holds_behind(self, statement: Any, condition: Any) -> bool:
        """Whether ``i = 0`` makes a comparison of i with a number true; i holds that number."""
        match statement:
            case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=name), rvalue=value):
                pass
            case c_ast.Decl(name=name, init=value) if not statement.storage:
                pass
            case _:
                return False
        if not isinstance(condition.left, c_ast.ID) or condition.left.name != name:
            return False
        first, last = integer_value(value), integer_value(condition.right)
        if first is None or last is None or first > self._highest_value(name) or last < 0:
            return False
        return first >= 0 and _COMPARE[condition.op](first, last)

    def _highest_value(self, name: str) -> int:
        """Return a number that a counter surely holds, as it holds all from 0 to that one."""
        declared = _declaration(name, self._region)
        if declared is None or name in self._file_scope:
            return 1
        try:
            kind = self._types.scalar(declared.type, declared, name)
        except SourceError:
            return 1
        return kind.highest if kind.is_integer else 1


def _counted_before(node: Any, body: Any) -> Any:
    """Return the loop for ``while (--i >= 0) S``, None for any other."""
    if not isinstance(node.cond, c_ast.BinaryOp) or node.cond.op not in _COMPARISONS:
        return None
    match node.cond.left:
        case c_ast.UnaryOp(op="--" | "++" as op, expr=c_ast.ID() as counter):
            pass
        case _:
            return None
    changed = syntax.modified_names(body)
    if counter.name in changed or changed & syntax.names_in(node.cond.right):
        return None
    if syntax.acts(node.cond.right) or counter.name in syntax.names_in(node.cond.right):
        return None
    unit = syntax.integer_node(1, counter)
    first = c_ast.BinaryOp(op[0], syntax.copy_tree(counter), unit, counter.coord)
    start = c_ast.Assignment("=", syntax.copy_tree(counter), first, counter.coord)
    end = syntax.copy_tree(node.cond.right)
    condition = c_ast.BinaryOp(node.cond.op, syntax.copy_tree(counter), end, node.cond.coord)
    step = c_ast.UnaryOp(f"p{op}", syntax.copy_tree(counter), counter.coord)
    return c_ast.For(start, condition, step, body, node.coord)


def _counted_down(node: Any, body: Any) -> Any:
    """Return the loop for ``while (i--) S``, None for any other."""
    counter = _decremented(node.cond)
    if counter is None or counter.name in syntax.modified_names(body):
        return None
    start = c_ast.Assignment(
        "=", syntax.copy_tree(counter), syntax.copy_tree(counter), counter.coord
    )
    return c_ast.For(start, syntax.copy_tree(node.cond), None, body, node.coord)


def _counted_at_end(node: Any, body: Any) -> Any:
    """Return the loop for ``while (i < n) { S; i++; }``, None for any other."""
    if not isinstance(body, c_ast.Compound) or not body.block_items:
        return None
    *before, last = body.block_items
    step = _step_of(last)
    if step is None or not isinstance(node.cond, c_ast.BinaryOp) or not before:
        return None
    if node.cond.op not in _COMPARISONS or syntax.acts(node.cond):
        return None
    counts = any(
        isinstance(side, c_ast.ID) and side.name == step
        for side in (node.cond.left, node.cond.right)
    )
    changed = syntax.modified_names(before)
    if not counts or step in changed or changed & syntax.names_in(node.cond):
        return None
    if syntax.contains(before, c_ast.Continue, c_ast.Goto, c_ast.Label):
        return None
    inner = c_ast.Compound(before, body.coord)
    return c_ast.For(None, syntax.copy_tree(node.cond), last, inner, node.coord)


def _step_of(node: Any) -> str | None:
    """Return the variable that a statement changes by a step: ``i++``, ``i += 2``."""
    match node:
        case c_ast.UnaryOp(op=op, expr=c_ast.ID(name=name)) if op in _STEPS:
            return str(name)
        case c_ast.Assignment(op="+=" | "-=", lvalue=c_ast.ID(name=name), rvalue=value):
            return str(name) if isinstance(value, c_ast.Constant) else None
        case _:
            return None


def _decremented(condition: Any) -> Any:
    """Return the counter of ``i--`` and ``i-- > 0``, None for other conditions."""
    if isinstance(condition, c_ast.BinaryOp) and condition.op in (">", "!="):
        if not syntax.is_zero(condition.right):
            return None
        condition = condition.left
    match condition:
        case c_ast.UnaryOp(op="p--", expr=c_ast.ID() as counter):
            return counter
        case _:
            return None


def _labelled_loop(item: Any) -> Any:
    """Return the loop that an item of the region is, None for others."""
    while isinstance(item, c_ast.Label):
        item = item.stmt
    return item if isinstance(item, c_ast.For) else None


def _running_counter(loop: Any) -> str | None:
    """Return the counter of a loop that starts from the value it has."""
    steps = side_effects.header_parts(loop.next)
    match loop.init:
        case None:
            names = {name for name in map(_step_of, steps) if name}
            compared = {
                side.name
                for side in (getattr(loop.cond, "left", None), getattr(loop.cond, "right", None))
                if isinstance(side, c_ast.ID)
            }
            decremented = _decremented(loop.cond)
            if decremented is not None:
                compared, names = {decremented.name}, {decremented.name}
            both = names & compared
            return both.pop() if len(both) == 1 else None
        case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=name), rvalue=c_ast.ID(name=other)):
            return str(name) if name == other else None
        case c_ast.Assignment(
            op="=",
            lvalue=c_ast.ID(name=name),
            rvalue=c_ast.BinaryOp(op="+" | "-", left=c_ast.ID(name=other), right=c_ast.Constant()),
        ):
            return str(name) if name == other else None
        case _:
            return None


def _is_private(counter: str, region: ScopRegion, loop: Any) -> bool:
    """Whether a counter is changed by its loop alone, which runs once, and not read behind it."""
    body = region.function.body
    outer = [part for part in syntax.walk(body, *_LOOPS) if part is not loop]
    if any(syntax.contains_node(part, loop) for part in outer):
        return False
    if counter in syntax.modified_names(loop.stmt) or _has_address_taken(counter, body):
        return False
    inside = {id(part) for part in syntax.walk(loop)}
    passed = False
    for part in syntax.walk(body):
        passed |= part is loop
        if (
            passed
            and isinstance(part, c_ast.ID)
            and part.name == counter
            and id(part) not in inside
        ):
            return False
    return not syntax.contains(body, c_ast.Goto)


def _has_address_taken(name: str, body: Any) -> bool:
    """Whether a tree takes the address of a variable."""
    return any(
        part.op == "&" and isinstance(part.expr, c_ast.ID) and part.expr.name == name
        for part in syntax.walk(body, c_ast.UnaryOp)
    )


def _declaration(name: str, region: ScopRegion) -> Any:
    """Return the declaration of an argument or local variable that is an integer, else None."""
    inside = syntax.walk(region.function.body, c_ast.Decl)
    declared = [
        decl for decl in (*syntax.arguments_of(region.function), *inside) if decl.name == name
    ]
    if len(declared) != 1 or "static" in (declared[0].storage or ()):
        return None
    return declared[0] if isinstance(declared[0].type, c_ast.TypeDecl) else None


def _fresh(name: str, spelled: set[str]) -> str:
    """Return a name that the text does not have."""
    new = f"{name}_left"
    while new in spelled:
        new += "_"
    spelled.add(new)
    return new


def _start_from(loop: Any, counter: str, name: str, declared: Any) -> None:
    """Let a loop count with a variable of its own, from the value of its counter.

    Of ``while (i--) S`` it is one more than i, so that nothing wraps around::

        for (k = i; k > 0; k--) S    with k - 1 in the place of i
    """
    fields = {id(reference.field) for reference in syntax.walk(loop, c_ast.StructRef)}
    is_countdown = _decremented(loop.cond) is not None

    def own(node: Any) -> Any:
        return c_ast.ID(name, node.coord)

    def renamed(node: Any) -> Any:
        if isinstance(node, c_ast.ID) and node.name == counter and id(node) not in fields:
            if not is_countdown:
                return own(node)
            return c_ast.BinaryOp("-", own(node), syntax.integer_node(1, node), node.coord)
        return node if isinstance(node, c_ast.Pragma) else None

    first = c_ast.ID(counter, loop.coord) if loop.init is None else loop.init.rvalue
    start = syntax.declaration(name, declared.type, first, loop)
    loop.stmt = syntax.copy_tree(loop.stmt, renamed)
    loop.init = c_ast.DeclList([start], loop.coord)
    if is_countdown:
        loop.cond = c_ast.BinaryOp(">", own(loop), syntax.integer_node(0, loop), loop.coord)
        loop.next = c_ast.UnaryOp("p--", own(loop), loop.coord)
    else:
        loop.cond = syntax.copy_tree(loop.cond, renamed)
        loop.next = syntax.copy_tree(loop.next, renamed)
