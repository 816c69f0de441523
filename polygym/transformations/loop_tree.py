"""Loop trees: the loops of a schedule, with names that last.

A schedule is a list of rows for each statement. Its *loop tree* shows the same order as nested
loops. A node is a statement or a loop, and the nodes of a body run one after the other. A loop has
a row for each statement in it: the value of its counter for an instance. Example, y = Ax::

    S: (0, i)       T: (1, i, j)           L1 (S: i)
                                      →      S
                                           L2 (T: i)
                                             L3 (T: j)
                                               T

:func:`loop_tree_of` reads a schedule and :meth:`LoopTree.schedule` writes one. A row of different
constants, or of values such as n and n + 1, orders the nodes of a body, every other row is a loop.
Schedules that differ only in rows that order nothing have equal trees, up to names:
:meth:`LoopTree.shape` leaves the names out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeAlias

from polygym.poly.schedule import Schedule, ScheduleRow, StatementSchedule

LOOP_PREFIX = "L"
_LOOP_NAME = re.compile(f"{LOOP_PREFIX}([0-9]{{1,9}})")


@dataclass(frozen=True, slots=True)
class StatementNode:
    """A statement in the body of a loop, or outside of all loops."""

    name: str

    @property
    def statements(self) -> tuple[str, ...]:
        """The statement itself."""
        return (self.name,)


@dataclass(frozen=True)
class Loop:
    """A loop: its name, the statements in it with a row each, and its body.

    Trees share the loops in which they are equal, with what is known of each.
    """

    name: str
    statements: tuple[str, ...]
    rows: tuple[ScheduleRow, ...]
    body: tuple[Node, ...]

    def row(self, statement: str) -> ScheduleRow:
        """Return the value of the counter for an instance of a statement."""
        return self.rows[self.statements.index(statement)]

    @cached_property
    def is_constant(self) -> bool:
        """Whether the counter has one value for each statement; these differ by numbers."""
        return are_constant(self.rows)

    @cached_property
    def is_normal(self) -> bool:
        """Whether neither it nor a loop in it has one iteration for each statement."""
        return not self.is_constant and _is_normal(self.body)

    @cached_property
    def largest(self) -> int:
        """The largest number in its rows and in those of loops in it, without a sign."""
        own = max(map(_largest_number, self.rows))
        inside = (node.largest for node in self.body if isinstance(node, Loop))
        return max(own, *inside, 0)


Node: TypeAlias = StatementNode | Loop
Body: TypeAlias = tuple[Node, ...]


@dataclass(frozen=True)
class LoopTree:
    """The loops and statements of a program in the order in which they run.

    ``iterators`` names those of each statement; ``next_number`` is the number of the next
    new loop, so that a name is never used again for another loop.
    """

    parameters: tuple[str, ...]
    iterators: tuple[tuple[str, tuple[str, ...]], ...]
    body: Body
    next_number: int

    @cached_property
    def rows(self) -> dict[str, tuple[ScheduleRow, ...]]:
        """The rows of each statement, as many as it needs."""
        return self.rows_of((), self.body)

    def rows_of(self, around: Sequence[Loop], nodes: Body) -> dict[str, tuple[ScheduleRow, ...]]:
        """Return the rows that order the statements of neighbours among themselves."""
        depths, width = self._depths, len(self.parameters)
        rows: dict[str, list[ScheduleRow]] = {
            name: [loop.row(name) for loop in around] for node in nodes for name in node.statements
        }

        def collect(body: Body) -> None:
            for place, node in enumerate(body):
                if len(body) > 1:
                    for name in node.statements:
                        rows[name].append(constant_row(depths[name], width, place))
                if isinstance(node, Loop):
                    for name, row in zip(node.statements, node.rows, strict=True):
                        rows[name].append(row)
                    collect(node.body)

        collect(nodes)
        return {name: tuple(own) for name, own in rows.items()}

    @cached_property
    def _depths(self) -> dict[str, int]:
        return {name: len(names) for name, names in self.iterators}

    @cached_property
    def schedule(self) -> Schedule:
        """The schedule that runs the instances in this order."""
        rows = self.rows
        length = max(1, *map(len, rows.values()))
        parts = []
        for name, names in self.iterators:
            own = rows[name]
            zero = constant_row(len(names), len(self.parameters), 0)
            parts.append(StatementSchedule(name, names, (*own, *(zero,) * (length - len(own)))))
        return Schedule(self.parameters, tuple(parts))

    @cached_property
    def loops(self) -> tuple[Loop, ...]:
        """All loops, each before those in it."""
        return tuple(node for node, _ in walk(self.body) if isinstance(node, Loop))

    @cached_property
    def paths(self) -> dict[str, tuple[Loop, ...]]:
        """The loops around each node, outermost first, by the node's name."""
        return {node.name: around for node, around in walk(self.body)}

    @cached_property
    def nodes(self) -> dict[str, Node]:
        """All loops and statements by name."""
        return {node.name: node for node, _ in walk(self.body)}

    @cached_property
    def nests(self) -> tuple[Loop, ...]:
        """The outermost loops in the order in which they run."""
        return tuple(node for node in self.body if isinstance(node, Loop))

    def nest_of(self, name: str) -> Loop:
        """Return the outermost loop around a loop, or the loop itself."""
        around = self.paths[name]
        if around:
            return around[0]
        node = self.nodes[name]
        assert isinstance(node, Loop)
        return node

    def body_around(self, name: str) -> Body:
        """Return the body in which a node stands."""
        around = self.paths[name]
        return around[-1].body if around else self.body

    def chain(self, name: str) -> tuple[Loop, ...]:
        """Return a loop and the loops in it down to the first body of several nodes."""
        node = self.nodes[name]
        assert isinstance(node, Loop)
        result = [node]
        while len(node.body) == 1 and isinstance(node.body[0], Loop):
            node = node.body[0]
            result.append(node)
        return tuple(result)

    def with_body(self, body: Body, new_loops: int = 0) -> LoopTree:
        """Return a tree with another body; loops of one iteration are left out."""
        normal, number = normal_body(body), self.next_number + new_loops
        if normal is not body:
            normal, number = with_unique_names(normal, number)
        tree = LoopTree(self.parameters, self.iterators, normal, number)
        tree.__dict__["_depths"] = self._depths
        return tree

    def replaced(self, *names: str, by: Body) -> Body:
        """Return the body with neighbouring nodes, or a single one, replaced by other nodes."""

        def inside(body: Body) -> Body:
            result: list[Node] = []
            for node in body:
                if node.name == names[0]:
                    result += by
                elif node.name in names:
                    continue
                elif isinstance(node, Loop) and node.name in around:
                    result.append(with_loop_body(node, inside(node.body)))
                else:
                    result.append(node)
            return tuple(result)

        around = {loop.name for loop in self.paths[names[0]]}
        return inside(self.body)

    @cached_property
    def shape(self) -> tuple[object, ...]:
        """The tree without the names of its loops: equal for equal orders of execution."""
        return shape_of(self.body)

    def text(self) -> str:
        """Return the tree as indented lines."""
        names = dict(self.iterators)
        lines: list[str] = []
        for node, around in walk(self.body):
            indent = "  " * len(around)
            if isinstance(node, StatementNode):
                lines.append(f"{indent}{node.name}")
                continue
            rows = ", ".join(
                f"{name}: {row.text(names[name], self.parameters)}"
                for name, row in zip(node.statements, node.rows, strict=True)
            )
            lines.append(f"{indent}{node.name} ({rows})")
        return "\n".join(lines)


def are_constant(rows: Sequence[ScheduleRow]) -> bool:
    """Whether rows have one value each, and the values differ by numbers: they are an order."""
    first = rows[0].parameters
    return not any(any(row.iterators) or row.parameters != first for row in rows)


@lru_cache(maxsize=4096)
def constant_row(iterators: int, parameters: int, value: int) -> ScheduleRow:
    """Return a row with one value for all instances."""
    return ScheduleRow((0,) * iterators, (0,) * parameters, value)


def walk(body: Body, around: tuple[Loop, ...] = ()) -> Iterator[tuple[Node, tuple[Loop, ...]]]:
    """Yield every node with the loops around it, each before those in it."""
    for node in body:
        yield node, around
        if isinstance(node, Loop):
            yield from walk(node.body, (*around, node))


def with_loop_body(loop: Loop, body: Body) -> Loop:
    """Return a loop with another body, which may have fewer statements."""
    if body is loop.body:
        return loop
    statements = tuple(name for node in body for name in node.statements)
    if statements == loop.statements:
        return Loop(loop.name, statements, loop.rows, body)
    rows = tuple(loop.row(name) for name in statements)
    return Loop(loop.name, statements, rows, body)


def normal_body(body: Body) -> Body:
    """Return a body in which no loop has one iteration for each statement.

    Such a loop orders its statements by the values of its counter, as a body does. A loop in it has
    a copy for each value: ``L1 (S: 0, T: 1) { L2 { S; T } }``  →  ``L2 { S }; L2 { T }``.
    """
    if _is_normal(body):
        return body
    result: list[Node] = []
    for node in body:
        if isinstance(node, StatementNode):
            result.append(node)
            continue
        if not node.is_constant:
            result.append(with_loop_body(node, normal_body(node.body)))
            continue
        values = sorted({row.constant for row in node.rows})
        for value in values:
            own = {name for name in node.statements if node.row(name).constant == value}
            result += normal_body(restricted(node.body, own))
    return tuple(result)


def with_unique_names(body: Body, number: int) -> tuple[Body, int]:
    """Return a body in which the second loop of a name has a new one, and the next new number."""
    names = [node.name for node, _ in walk(body)]
    if len(set(names)) == len(names):
        return body, number
    known: set[str] = set()

    def renamed(body: Body) -> Body:
        nonlocal number
        result: list[Node] = []
        for node in body:
            if isinstance(node, Loop):
                if (name := node.name) in known:
                    name = f"{LOOP_PREFIX}{number}"
                    number += 1
                known.add(name)
                node = Loop(name, node.statements, node.rows, renamed(node.body))
            result.append(node)
        return tuple(result)

    return renamed(body), number


def restricted(body: Body, statements: set[str]) -> Body:
    """Return a body with some of its statements."""
    result: list[Node] = []
    for node in body:
        kept = [name for name in node.statements if name in statements]
        if not kept:
            continue
        if isinstance(node, Loop) and len(kept) < len(node.statements):
            node = with_loop_body(node, restricted(node.body, statements))
        result.append(node)
    return tuple(result)


def _is_normal(body: Body) -> bool:
    return all(isinstance(node, StatementNode) or node.is_normal for node in body)


@lru_cache(maxsize=8192)
def _largest_number(row: ScheduleRow) -> int:
    return max(map(abs, (*row.iterators, *row.parameters, row.constant)))


def shape_of(body: Body) -> tuple[object, ...]:
    """Return a body without the names of its loops."""
    return tuple(
        node.name
        if isinstance(node, StatementNode)
        else (node.statements, node.rows, shape_of(node.body))
        for node in body
    )


def _number_of(name: str) -> int:
    """Return the number of a name such as ``L3``, else 0."""
    match = _LOOP_NAME.fullmatch(name)
    return int(match[1]) if match else 0


def loop_tree_of(schedule: Schedule, first_number: int = 1) -> LoopTree:
    """Return the tree of a schedule; its loops are numbered in the order in which they stand.

    Statements that a schedule does not order stand in the order of the text. Where a statement has
    the name of a loop, such as ``L3``, the numbers begin behind it.

    >>> from polygym.poly.schedule import StatementSchedule as Part
    >>> i, zero = ScheduleRow((1,), (), 0), ScheduleRow((0,), (), 0)
    >>> tree = loop_tree_of(Schedule((), (Part("S", ("i",), (zero, i)),)))
    >>> print(tree.text())
    L1 (S: i)
      S
    """
    rows = {part.statement: part.rows for part in schedule.statements}
    number = max(first_number, *(_number_of(name) + 1 for name in rows))

    def build(statements: tuple[str, ...], dimension: int) -> Body:
        nonlocal number
        while dimension < schedule.dimensions:
            here = {name: rows[name][dimension] for name in statements}
            if not are_constant(tuple(here.values())):
                loop = f"{LOOP_PREFIX}{number}"
                number += 1
                body = build(statements, dimension + 1)
                order = tuple(name for node in body for name in node.statements)
                return (Loop(loop, order, tuple(here[name] for name in order), body),)
            dimension += 1
            values = sorted({row.constant for row in here.values()})
            if len(values) > 1:
                groups = (
                    tuple(name for name in statements if here[name].constant == value)
                    for value in values
                )
                return tuple(node for group in groups for node in build(group, dimension))
        return tuple(map(StatementNode, statements))

    names = tuple((part.statement, part.iterators) for part in schedule.statements)
    body = build(tuple(rows), 0)
    return LoopTree(schedule.parameters, names, body, number)
