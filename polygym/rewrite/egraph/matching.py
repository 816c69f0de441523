"""Matching: where in an e-graph a pattern stands.

A pattern is compiled to Python source: loops within loops, one for each of its nodes, over rows
``(class, child, …)`` of the nodes with the right operator, a comparison for each literal and for
each variable that stands there again. A match is a tuple: the class of the pattern's root, then the
classes of its variables in the order in which they first appear (:func:`variables`). Since nodes
with equal children are one node, no match is found twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from polygym.rewrite.egraph.egraph import EGraph
from polygym.rewrite.term import Term, is_variable, postorder, variables
from polygym.rewrite.typed import Types

__all__ = ["Index", "Match", "Pattern"]

Match: TypeAlias = tuple[int, ...]

_Rows: TypeAlias = list[tuple[int, ...]]


class Pattern:
    """One pattern, compiled."""

    def __init__(self, source: Term, types: Types) -> None:
        """Compile a pattern."""
        self.source = source
        self.depth = _depth(source)
        self.operator = types.operator(source.head, len(source.children))
        self.inner: list[int] = []
        self.ground: list[Term] = []
        code = _Code(self, types)
        exec(compile(code.text(), f"<pattern {source.head}>", "exec"), code.names)
        self._search: Callable[[_Rows, list[Any], list[int], list[Match]], None]
        self._search = code.names["search"]

    def matches(self, index: Index, since: int = 0) -> list[Match]:
        """Return the matches, in order of root nodes; those of changed parts alone, if asked for.

        What changed after a tick, up to as far from the root as the pattern reaches, may have made
        a match that was not there; all of these are returned, and some that were.
        """
        constants: list[int] = []
        for ground in self.ground:
            found = index.graph.lookup(ground)
            if found is None:
                return []
            constants.append(found)
        answer: list[Match] = []
        inner = [index.by_class(operator) for operator in self.inner]
        self._search(index.rows(self.operator, self.depth, since), inner, constants, answer)
        return answer


class Index:
    """The nodes of an e-graph by operator, as they are now; must be made again after a change."""

    def __init__(self, graph: EGraph) -> None:
        """Sort the nodes that are not blacklisted."""
        self.graph = graph
        self._rows: dict[int, _Rows] = {}
        self._by_class: dict[int, dict[int, _Rows]] = {}
        self._reached: dict[int, list[set[int]]] = {}
        self._changed: dict[tuple[int, int, int], _Rows] = {}
        found, find = self._rows, graph.find
        for node, state in enumerate(graph.states):
            if not state:
                key = graph.keys[node]
                row = (find(node), *key[1:])
                rows = found.get(key[0])
                if rows is None:
                    found[key[0]] = [row]
                else:
                    rows.append(row)

    def rows(self, operator: int, depth: int, since: int) -> _Rows:
        """Return the nodes with an operator above which something changed, at most so far down."""
        rows = self._rows.get(operator, [])
        if not since or not rows:
            return rows
        key = (operator, depth, since)
        answer = self._changed.get(key)
        if answer is None:
            near = self._near(depth, since)
            answer = self._changed[key] = [row for row in rows if row[0] in near]
        return answer

    def by_class(self, operator: int) -> dict[int, _Rows]:
        """Return the nodes with an operator, by class."""
        found = self._by_class.get(operator)
        if found is None:
            found = self._by_class[operator] = {}
            for row in self._rows.get(operator, ()):
                found.setdefault(row[0], []).append(row)
        return found

    def _near(self, depth: int, since: int) -> set[int]:
        """Return the classes from which a class that changed is at most so many steps away."""
        graph = self.graph
        levels = self._reached.get(since)
        if levels is None:
            touched = graph.touched
            levels = [{name for name in graph.members if touched[name] > since}]
            self._reached[since] = levels
        while len(levels) <= depth:
            near = set(levels[-1])
            for name in levels[-1] - (levels[-2] if len(levels) > 1 else set()):
                near.update(map(graph.find, graph.uses_of(name)))
            levels.append(near)
        return levels[depth]


def _depth(source: Term) -> int:
    depths: dict[Term, int] = {}
    for one in postorder([source]):
        depths[one] = 1 + max((depths[child] for child in one.children), default=-1)
    return depths[source]


class _Code:
    """The source text of a pattern's search."""

    def __init__(self, pattern: Pattern, types: Types) -> None:
        self.names: dict[str, Any] = {}
        self._pattern, self._types = pattern, types
        self._lines: list[str] = []
        self._depth = 1
        self._bound: dict[str, str] = {}
        self._ground = {
            one: all(not is_variable(part) for part in postorder([one]))
            for one in postorder([pattern.source])
        }
        self._count = 0

    def text(self) -> str:
        """Return the function's text."""
        source = self._pattern.source
        self._say(f"for {self._row(source, 'root')} in rows:")
        self._depth += 1
        todo = [(child, f"a{place}") for place, child in enumerate(source.children)]
        self._count = len(todo)
        self._check(todo)
        names = variables([source])
        values = "".join(f"{self._bound[name]}, " for name in names)
        self._say(f"append((root, {values}))")
        head = ["def search(rows, inner, constants, found):", "    append = found.append"]
        head += [
            f"    inner{place} = inner[{place}].get" for place in range(len(self._pattern.inner))
        ]
        head += [
            f"    constant{place} = constants[{place}]"
            for place in range(len(self._pattern.ground))
        ]
        return "\n".join([*head, *self._lines]) + "\n"

    def _row(self, one: Term, root: str) -> str:
        names = [root] + [f"a{self._count + place}" for place in range(len(one.children))]
        return ", ".join(names) + ("," if len(names) == 1 else "")

    def _say(self, line: str) -> None:
        self._lines.append("    " * self._depth + line)

    def _check(self, todo: list[tuple[Term, str]]) -> None:
        """Compare what can be compared before going into the next node."""
        while todo:
            later: list[tuple[Term, str]] = []
            for one, name in todo:
                if is_variable(one):
                    known = self._bound.setdefault(str(one.head), name)
                    if known != name:
                        self._say(f"if {name} != {known}: continue")
                elif self._ground[one]:
                    if one not in self._pattern.ground:
                        self._pattern.ground.append(one)
                    place = self._pattern.ground.index(one)
                    self._say(f"if {name} != constant{place}: continue")
                else:
                    later.append((one, name))
            if not later:
                return
            one, name = later[0]
            operator = self._types.operator(one.head, len(one.children))
            if operator not in self._pattern.inner:
                self._pattern.inner.append(operator)
            place = self._pattern.inner.index(operator)
            self._say(f"for {self._row(one, '_')} in inner{place}({name}, ()):")
            self._depth += 1
            opened = [(child, f"a{self._count + at}") for at, child in enumerate(one.children)]
            self._count += len(opened)
            todo = [*opened, *later[1:]]
