"""Jumps forward as ``if``: what is jumped over goes into the branches that do not jump.

A ``goto`` to a label further down in its block, or in one around it, a ``continue``, and a
``return`` in a branch of a function that is put in, say which statements are left out::

    if (b[i] < 0) goto L20;            if (b[i] < 0) { c[i] = 2; }
    a[i] = 1;                     →    else { a[i] = 1; }
    goto L10;                          d[i] = 3;
    L20: c[i] = 2;
    L10: d[i] = 3;

From a statement that may jump on, all ways lead to a *join*: the last label that is jumped to from
there or from what is in between. Each way is written in full up to the join, which stands once. So
a piece that several ways share is written several times, up to a limit. A jump backwards, out of a
loop or into a block stays as it is, to be refused; so does one over a declaration that is used
behind it.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count
from typing import Any

from pycparser import c_ast

from polygym.frontend.c.source import syntax

_MAX_STATEMENTS = 500

_END = object()  # where a return leads to


class _UnsupportedJump(Exception):
    """Some jump is not supported."""


def without_jumps(items: Sequence[Any], on_return: Callable[[Any], list[Any]] | None) -> list[Any]:
    """Return statements of a block without jumps; the same ones where some are not supported.

    Where they are those of a function, ``on_return`` returns what stands for a ``return``.
    """
    leaves = [c_ast.Goto, c_ast.Continue, *([] if on_return is None else [c_ast.Return])]
    if not syntax.contains(items, *leaves):
        return list(items)
    number = count()
    try:
        inside = [_without_inner_jumps(_without_continue(item, number)) for item in items]
        return _JumpEliminator(inside, on_return).statements()
    except _UnsupportedJump:
        return list(items)


def _without_continue(node: Any, number: Iterator[int]) -> Any:
    """Return a statement whose ``for`` loops jump to the end of their bodies instead."""

    def replacement(child: Any) -> Any:
        if not isinstance(child, c_ast.For):
            return None
        name = f"continue {next(number)}"  # that no label of C's has

        def jump(part: Any) -> Any:
            match part:
                case c_ast.Continue():
                    return c_ast.Goto(name, part.coord)
                case c_ast.For():
                    return _without_continue(part, number)
                case c_ast.While() | c_ast.DoWhile() | c_ast.Switch():
                    return syntax.copy_tree(part)  # where it is refused
                case _:
                    return None

        body = syntax.copy_tree(child.stmt, jump)
        if any(goto.name == name for goto in syntax.walk(body, c_ast.Goto)):
            end = c_ast.Label(name, c_ast.EmptyStatement(child.coord), child.coord)
            body = c_ast.Compound([*syntax.statements_of(body), end], child.coord)
        return c_ast.For(child.init, child.cond, child.next, body, child.coord)

    return syntax.copy_tree(node, replacement) if syntax.contains(node, c_ast.Continue) else node


def _without_inner_jumps(node: Any) -> Any:
    """Return a statement whose inner blocks jump to no label of their own."""

    def replacement(child: Any) -> Any:
        if not isinstance(child, c_ast.Compound) or not syntax.contains(child, c_ast.Goto):
            return None
        inner = [_without_inner_jumps(part) for part in syntax.statements_of(child)]
        return c_ast.Compound(_JumpEliminator(inner, None, is_inner=True).statements(), child.coord)

    return syntax.copy_tree(node, replacement)


class _JumpEliminator:
    """The statements of one block, on their way to statements without jumps."""

    def __init__(
        self,
        items: Sequence[Any],
        returning: Callable[[Any], list[Any]] | None,
        *,
        is_inner: bool = False,
    ) -> None:
        """In an inner block, jumps to labels that it does not have stay."""
        self._items = list(items)
        self._returning = returning
        self._is_inner = is_inner
        self._labels: dict[Any, int] = {_END: len(items)}
        for place, item in enumerate(items):
            label = item
            while isinstance(label, c_ast.Label):
                self._labels[label.name] = place
                label = label.stmt
        self._targets = {goto.name for goto in syntax.walk(items, c_ast.Goto)}
        self._count = count()
        self._seen: set[int] = set()

    def statements(self) -> list[Any]:
        """Return all statements."""
        return self._from(0, len(self._items))

    def _from(self, place: int, stop: int) -> list[Any]:
        """Return what is done from one statement up to another one."""
        result: list[Any] = []
        while place < stop:
            item = self._plain(place)
            if not self._exits(item):
                result.append(self._written(item))
                place += 1
                continue
            join = self._join(place)
            self._check_declarations(place, join)
            result += self._branched(item, partial(self._from, place + 1, join), join)
            place = join
        return result

    def _plain(self, place: int) -> Any:
        """Return a statement without labels to which something jumps."""
        item = self._items[place]
        while isinstance(item, c_ast.Label) and item.name in self._targets:
            item = item.stmt
        return item

    def _written(self, item: Any) -> Any:
        """Return a statement to be written; the second time a copy, which has no name."""
        if next(self._count) > _MAX_STATEMENTS:
            raise _UnsupportedJump
        if id(item) in self._seen:
            return syntax.copy_tree(
                item, lambda part: syntax.copy_tree(part.stmt) if _is_label(part) else None
            )
        self._seen.add(id(item))
        return item

    def _exits(self, item: Any) -> set[Any]:
        """Return where a statement may jump to in this block."""
        result: set[Any] = set()
        for jump in syntax.walk(item, c_ast.Goto, c_ast.Return):
            if isinstance(jump, c_ast.Return):
                result |= {_END} if self._returning is not None else set()
            elif jump.name in self._labels or not self._is_inner:
                result.add(jump.name)
        return result

    def _join(self, place: int) -> int:
        """Return where all ways from a statement meet again."""
        join, seen = place + 1, place
        while seen < join:
            for target in self._exits(self._items[seen]):
                if self._labels.get(target, -1) <= seen:
                    raise _UnsupportedJump
                join = max(join, self._labels[target])
            seen += 1
        return join

    def _check_declarations(self, first: int, join: int) -> None:
        """Leave jumps over declarations alone that are used further down, or hide others."""
        for place in range(first, join):
            item = self._items[place]
            if isinstance(item, c_ast.Decl):
                seen = self._items[join:]
            elif self._exits(item):
                seen = [*self._items[:place], *self._items[place + 1 :]]
            else:
                continue
            if syntax.declared_names(item) & syntax.names_in(seen):
                raise _UnsupportedJump

    def _branched(self, item: Any, rest: Callable[[], list[Any]], join: int) -> list[Any]:
        """Return a statement that may jump, with what follows on each way up to the join."""
        match item:
            case c_ast.Goto():
                return self._from(self._labels[item.name], join)
            case c_ast.Return() if self._returning is not None:
                return self._returning(item)
            case c_ast.Compound():
                return self._sequence(syntax.statements_of(item), rest, join)
            case c_ast.If():
                ways = [
                    self._sequence(syntax.statements_of(way), rest, join)
                    for way in (item.iftrue, item.iffalse)
                ]
                blocks = [c_ast.Compound(way, item.coord) for way in ways]
                return [c_ast.If(item.cond, *blocks, item.coord)]
            case _:
                raise _UnsupportedJump

    def _sequence(self, items: list[Any], rest: Callable[[], list[Any]], join: int) -> list[Any]:
        """Return statements with what follows them."""
        for place, item in enumerate(items):
            if self._exits(item):
                behind = items[place + 1 :]
                after = self._branched(item, partial(self._sequence, behind, rest, join), join)
                return [*map(self._written, items[:place]), *after]
        return [*map(self._written, items), *rest()]


def ends_in_return(items: Sequence[Any]) -> bool:
    """Whether a function's statements return on every way, as far as their ends say."""
    last = items[-1] if items else None
    while isinstance(last, c_ast.Label):
        last = last.stmt
    match last:
        case c_ast.Return():
            return True
        case c_ast.Compound():
            return ends_in_return(syntax.statements_of(last))
        case c_ast.If():
            ways = map(syntax.statements_of, (last.iftrue, last.iffalse))
            return all(map(ends_in_return, ways))
        case _:
            return False


def assignment_of_return(result: str | None, node: Any) -> list[Any]:
    """Return what stands for a ``return``: its value goes to a variable, if anybody wants it."""
    value = node.expr
    if value is None:
        return []
    if result is not None:
        return [c_ast.Assignment("=", c_ast.ID(result, node.coord), value, node.coord)]
    if syntax.is_modification(value) or isinstance(value, c_ast.FuncCall):
        return [value]
    return [node] if syntax.acts(value) else []


def _is_label(node: Any) -> bool:
    return isinstance(node, c_ast.Label)
