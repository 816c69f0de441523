"""``switch`` as ``if``: what runs is said by one value, which is compared with constants.

From where a label matches, statements run up to the next ``break``. Those between two breaks are a
group; in it a statement runs if one of the labels of the group before it matches::

    switch (k) {                                  if (k == 0) x = 1;
      case 0: x = 1; break;                       if (k == 1) x = 2;
      case 1: x = 2;                              if (k == 1 || k == 2) x += 3;
      case 2: x += 3; break;                      if (!(k == 0 || k == 1 || k == 2)) x = 4;
      default: x = 4; }

Where all groups are single cases, they become ``if … else if … else``. The comparisons are made
before anything runs if a statement changes what the value is computed from.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from polygym.errors import SourceError
from polygym.frontend.c.source import syntax
from polygym.frontend.c.source.locations import SourceMap


@dataclass(frozen=True, slots=True, eq=False)
class _Case:
    """Statements behind some labels; None among the labels stands for ``default``."""

    labels: tuple[Any, ...]
    statements: tuple[Any, ...]
    is_left: bool  # by a break or another jump


def switch_as_branches(
    node: Any,
    value: Any,
    after: Sequence[Any],
    source: SourceMap,
    fresh: Callable[[str], str],
) -> list[Any]:
    """Return the statements that stand for a switch.

    ``value`` is what is compared, an expression without effects, and ``after`` the effects that
    come right behind it; ``fresh`` makes names of new variables.
    """
    parts = _cases(node, source)
    cases = [label for part in parts for label in part.labels if label is not None]
    before: list[Any] = []
    tests = [
        c_ast.BinaryOp("==", syntax.copy_tree(value), syntax.copy_tree(case), case.coord)
        for case in cases
    ]
    statements = [statement for part in parts for statement in part.statements]
    # Calls may change what they are given.
    given = [call.args for call in syntax.walk(statements, c_ast.FuncCall) if call.args]
    if after or syntax.names_in(value) & syntax.names_in(
        [*syntax.modified_roots(statements), *given]
    ):
        names = [fresh("case") for _ in tests]
        before = [
            syntax.declaration(name, syntax.type_node("int", node), test, node)
            for name, test in zip(names, tests, strict=True)
        ]
        tests = [c_ast.ID(name, node.coord) for name in names]
    before += after
    by_case = dict(zip(map(id, cases), tests, strict=True))
    groups = _groups(parts)
    if all(len(group) == 1 for group in groups):
        return [*before, *_chain([group[0] for group in groups], by_case, node)]
    return [*before, *(item for group in groups for item in _group(group, by_case, node))]


def with_branches_for_jumps(items: Sequence[Any], source: SourceMap) -> list[Any]:
    """Return statements with branches for switches out of which something jumps.

    ``return``, ``goto`` and ``continue`` in a case are then jumps in branches. A switch that cannot
    be written so stays, to be refused.
    """

    def replacement(part: Any) -> Any:
        """Return what stands for a node."""
        if not isinstance(part, c_ast.Switch) or not _has_jump(part.stmt):
            return None
        if syntax.acts(part.cond):
            return None
        try:
            branches = switch_as_branches(part, part.cond, [], source, _no_name)
        except (SourceError, _NameNeeded):
            return None
        inner = with_branches_for_jumps(branches, source)
        return inner[0] if len(inner) == 1 else c_ast.Compound(inner, part.coord)

    if not syntax.contains(items, c_ast.Switch):
        return list(items)
    return [syntax.copy_tree(item, replacement) for item in items]


class _NameNeeded(Exception):
    """A comparison has to be made before something runs."""


def _no_name(_: str) -> str:
    raise _NameNeeded


def _has_jump(node: Any) -> bool:
    """Whether something in a switch jumps out of it, maybe."""
    return syntax.contains(node, c_ast.Return, c_ast.Goto, c_ast.Continue)


def _jumps(node: Any) -> bool:
    """Whether nothing behind a statement runs after it."""
    match node:
        case c_ast.Return() | c_ast.Goto() | c_ast.Continue():
            return True
        case c_ast.Compound():
            inner = syntax.statements_of(node)
            return bool(inner) and _jumps(inner[-1])
        case _:
            return False


def _cases(node: Any, source: SourceMap) -> list[_Case]:
    """Return the parts of a switch; labels without a statement of their own join the next."""
    cases: list[_Case] = []
    labels: list[Any] = []
    items = syntax.statements_of(node.stmt)
    for place, item in enumerate(items):
        if not isinstance(item, c_ast.Case | c_ast.Default):
            raise source.error(
                item, "a statement of a switch before its first case is not supported"
            )
        labels.append(None if isinstance(item, c_ast.Default) else _label(item.expr, source))
        statements = list(item.stmts or ())
        if not statements and place + 1 < len(items):
            continue
        is_left = bool(statements) and isinstance(statements[-1], c_ast.Break)
        kept = statements[:-1] if is_left else statements
        is_left |= bool(kept) and _jumps(kept[-1])
        if len(kept) == 1 and isinstance(kept[0], c_ast.Compound):
            inner = syntax.statements_of(kept[0])
            if inner and isinstance(inner[-1], c_ast.Break):  # case 1: { …; break; }
                kept, is_left = [c_ast.Compound(inner[:-1], kept[0].coord)], True
        for compound in kept:
            _check(compound, source)
        cases.append(_Case(tuple(labels), tuple(kept), is_left))
        labels = []
    return cases


def _label(node: Any, source: SourceMap) -> Any:
    """Return the constant of a case, unless it may be wider than what it is compared with."""
    for constant in syntax.walk(node, c_ast.Constant):
        if constant.value.lower().rstrip("u").endswith("l"):
            raise source.error(constant, "a case of a long constant is not supported")
    return node


def _check(node: Any, source: SourceMap) -> None:
    """Refuse what leaves a case in the middle, or is declared in it for others."""
    if isinstance(node, c_ast.Decl):
        raise source.error(
            node, "a declaration in a case is not supported", "write a block around the case"
        )
    pending = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, c_ast.Break):
            raise source.error(
                part, "break in the middle of a case is not supported", "write if … else …"
            )
        if not isinstance(part, c_ast.For | c_ast.While | c_ast.DoWhile | c_ast.Switch):
            pending.extend(child for _, child in part.children())


def _groups(parts: Sequence[_Case]) -> list[list[_Case]]:
    """Return the parts between breaks."""
    groups: list[list[_Case]] = [[]]
    for part in parts:
        groups[-1].append(part)
        if part.is_left:
            groups.append([])
    return [group for group in groups if group]


def _chain(parts: Sequence[_Case], tests: dict[int, Any], node: Any) -> list[Any]:
    """Return one if after the other, the default last."""
    last = next((part for part in parts if None in part.labels), None)
    chain = None if last is None else _block(last, node)
    for part in reversed(parts):
        if part is not last:
            chain = c_ast.If(_any(part.labels, tests, node), _block(part, node), chain, node.coord)
    return [] if chain is None else [chain]


def _group(parts: Sequence[_Case], tests: dict[int, Any], node: Any) -> list[Any]:
    """Return an if for every part of a group: one of the labels up to it matches."""
    result: list[Any] = []
    labels: list[Any] = []
    for part in parts:
        labels += part.labels
        if part.statements:
            condition = _any(labels, tests, node)
            result.append(c_ast.If(condition, _block(part, node), None, node.coord))
    return result


def _any(labels: Sequence[Any], tests: dict[int, Any], node: Any) -> Any:
    """Return whether one of the labels matches; the default does where no case does."""
    chosen = [label for label in labels if label is not None]
    if None in labels:
        others = [test for case, test in tests.items() if case not in set(map(id, chosen))]
        if not others:
            return c_ast.Constant("int", "1", node.coord)
        return c_ast.UnaryOp("!", _either(others, node), node.coord)
    return _either([tests[id(case_label)] for case_label in chosen], node)


def _either(conditions: Sequence[Any], node: Any) -> Any:
    result = syntax.copy_tree(conditions[0])
    for condition in conditions[1:]:
        result = c_ast.BinaryOp("||", result, syntax.copy_tree(condition), node.coord)
    return result


def _block(part: _Case, node: Any) -> Any:
    return c_ast.Compound(list(part.statements), node.coord)
