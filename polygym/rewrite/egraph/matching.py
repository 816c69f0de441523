"""Matching: where in an e-graph a pattern stands.

A pattern is compiled to Python source: loops within loops, one for each of its nodes, over rows
``(class, child, …)`` of the nodes with the right operator, a comparison for each literal and for
each variable that stands there again. A match is a tuple: the class of the pattern's root, then the
classes of its variables in the order in which they first appear (:func:`variable_names`). Since
nodes with equal children are one node, no match is found twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from polygym.errors import InputError
from polygym.rewrite.domain import TypeTable
from polygym.rewrite.egraph.egraph import EGraph
from polygym.rewrite.term import Term, is_variable, postorder, variable_names

EGraphMatch: TypeAlias = tuple[int, ...]

_Rows: TypeAlias = list[tuple[int, ...]]

_MAX_PATTERN_NODES = 20
"""How deep Python lets loops stand within each other."""


class EGraphPattern:
    """One pattern, compiled as soon as all of its operators are in some e-graph."""

    def __init__(self, source: Term, types: TypeTable) -> None:
        """Look for nothing yet."""
        self.source = source
        self._types = types
        inner = [term for term in postorder([source]) if term.children and variable_names([term])]
        heads = [source, *(node for node in inner if node is not source)]
        self._needed = [types.operator(head.head, len(head.children)) for head in heads]
        self.operators: list[int] = []
        """The operators of its nodes: the root's, then in the order of the loops."""
        self.ground: list[Term] = []
        """Its parts without variables, each of which is one class or in none."""
        self._search: Callable[[_Rows, list[Any], list[int], list[EGraphMatch]], None] | None = None

    def matches(self, index: OperatorIndex, since: int = 0) -> list[EGraphMatch]:
        """Return the matches, or those alone that have a node which changed after a tick.

        What is new about them may only be what is known of a variable's class. Each is found once:
        with the first of its nodes that changed, those before being nodes that did not.
        """
        if any(not index.has(operator) for operator in self._needed):
            return []
        search = self._search or self._compiled()
        graph = index.graph
        constants: list[int] = []
        for ground in self.ground:
            constant = graph.lookup(ground)
            if constant is None:
                return []
            constants.append(constant)
            if since and any(graph.touched[node] > since for node in graph.nodes_making(ground)):
                since = 0
        answer: list[EGraphMatch] = []
        root, *inner = self.operators
        if not since:
            getters = [index.by_class(operator).get for operator in inner]
            search(index.rows(root), getters, constants, answer)
            return answer
        for changed, operator in enumerate(self.operators):
            if not index.rows(operator, since):
                continue
            getters = [
                index.by_class(inner_operator, _row_filter(since, place, changed)).get
                for place, inner_operator in enumerate(inner, 1)
            ]
            rows = index.rows(root, _row_filter(since, 0, changed))
            search(rows, getters, constants, answer)
        return answer

    def _compiled(self) -> Callable[[_Rows, list[Any], list[int], list[EGraphMatch]], None]:
        source = self.source
        self.operators.append(self._needed[0])
        code = _PatternCode(self, self._types)
        text = code.text()
        if len(self.operators) > _MAX_PATTERN_NODES:
            raise InputError(
                f"pattern {source.head}: expected at most {_MAX_PATTERN_NODES} nodes with "
                "variables, "
                f"found {len(self.operators)}"
            )
        exec(compile(text, f"<pattern {source.head}>", "exec"), code.names)
        self._search = code.names["search"]
        return self._search


def _row_filter(since: int, place: int, changed: int) -> int:
    """Return which rows a node may have: all, those that changed, or (negative) those that not."""
    return 0 if place > changed else since if place == changed else -since


class OperatorIndex:
    """The nodes of an e-graph by operator, as they are now; must be made again after a change.

    ``since`` is a tick: rows of nodes that changed after it; its negative: of those that did not;
    0: of all.
    """

    def __init__(self, graph: EGraph) -> None:
        """Sort the nodes that are not blacklisted."""
        self.graph = graph
        self._rows: dict[tuple[int, int], _Rows] = {}
        self._by_class: dict[tuple[int, int], dict[int, _Rows]] = {}
        self._nodes: list[list[int]] = [[] for _ in graph.types.heads]
        nodes, keys = self._nodes, graph.keys
        for node, state in enumerate(graph.states):
            if not state:
                nodes[keys[node][0]].append(node)

    def has(self, operator: int) -> bool:
        """Whether there is a node with an operator."""
        return operator < len(self._nodes) and bool(self._nodes[operator])

    def rows(self, operator: int, since: int = 0) -> _Rows:
        """Return the nodes with an operator, in order."""
        result = self._rows.get((operator, since))
        if result is None:
            graph = self.graph
            keys, find, touched = graph.keys, graph.find, graph.touched
            nodes = self._nodes[operator] if operator < len(self._nodes) else []
            if since > 0:
                nodes = [node for node in nodes if touched[node] > since]
            elif since < 0:
                nodes = [node for node in nodes if touched[node] <= -since]
            result = [(find(node), *keys[node][1:]) for node in nodes]
            self._rows[operator, since] = result
        return result

    def by_class(self, operator: int, since: int = 0) -> dict[int, _Rows]:
        """Return the nodes with an operator, by class."""
        rows = self._by_class.get((operator, since))
        if rows is None:
            rows = self._by_class[operator, since] = {}
            for row in self.rows(operator, since):
                rows.setdefault(row[0], []).append(row)
        return rows


class _PatternCode:
    """The source text of a pattern's search."""

    def __init__(self, pattern: EGraphPattern, types: TypeTable) -> None:
        self.names: dict[str, Any] = {}
        self._pattern, self._types = pattern, types
        self._lines: list[str] = []
        self._depth = 1
        self._bound: dict[str, str] = {}
        self._ground = {
            term: all(not is_variable(part) for part in postorder([term]))
            for term in postorder([pattern.source])
        }
        self._count = 0

    def text(self) -> str:
        """Return the function's text."""
        source = self._pattern.source
        self._emit_line(f"for {self._row(source, 'root')} in rows:")
        self._depth += 1
        todo = [(child, f"a{place}") for place, child in enumerate(source.children)]
        self._count = len(todo)
        self._check(todo)
        names = variable_names([source])
        values = "".join(f"{self._bound[name]}, " for name in names)
        self._emit_line(f"append((root, {values}))")
        head = ["def search(rows, inner, constants, found):", "    append = found.append"]
        head += [f"    inner{place} = inner[{place}]" for place in range(self._depth - 2)]
        head += [
            f"    constant{place} = constants[{place}]"
            for place in range(len(self._pattern.ground))
        ]
        return "\n".join([*head, *self._lines]) + "\n"

    def _row(self, node: Term, root: str) -> str:
        names = [root] + [f"a{self._count + place}" for place in range(len(node.children))]
        return ", ".join(names) + ("," if len(names) == 1 else "")

    def _emit_line(self, line: str) -> None:
        self._lines.append("    " * self._depth + line)

    def _check(self, todo: list[tuple[Term, str]]) -> None:
        """Compare what can be compared before going into the next node."""
        while todo:
            later: list[tuple[Term, str]] = []
            for term, name in todo:
                if is_variable(term):
                    known = self._bound.setdefault(str(term.head), name)
                    if known != name:
                        self._emit_line(f"if {name} != {known}: continue")
                elif self._ground[term]:
                    if term not in self._pattern.ground:
                        self._pattern.ground.append(term)
                    place = self._pattern.ground.index(term)
                    self._emit_line(f"if {name} != constant{place}: continue")
                else:
                    later.append((term, name))
            if not later:
                return
            term, name = later[0]
            operator = self._types.operator(term.head, len(term.children))
            self._pattern.operators.append(operator)
            self._emit_line(f"for {self._row(term, '_')} in inner{self._depth - 2}({name}, ()):")
            self._depth += 1
            opened = [(child, f"a{self._count + at}") for at, child in enumerate(term.children)]
            self._count += len(opened)
            todo = [*opened, *later[1:]]
