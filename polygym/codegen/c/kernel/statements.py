"""Statements of C, and where their variables are declared.

A variable is declared in the innermost braces that hold all its uses: with its value where it first
gets it there, else by itself before the first statement that has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(eq=False, slots=True)
class Variable:
    """A variable: its name, and its type as it stands before the name."""

    name: str
    type: str


@dataclass(eq=False, slots=True)
class Line:
    """Lines of a statement; ``uses`` are the variables in them."""

    lines: tuple[str, ...]
    uses: frozenset[Variable] = frozenset()


@dataclass(eq=False, slots=True)
class Assignment:
    """An assignment, ``variable = text;``."""

    variable: Variable
    text: str
    uses: frozenset[Variable] = frozenset()


@dataclass(eq=False, slots=True)
class If:
    """A branch, ``if (condition) then; else otherwise``."""

    condition: str
    uses: frozenset[Variable]
    then: list[Node] = field(default_factory=list)
    otherwise: list[Node] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class For:
    """A loop; the counter begins with ``first``, unless it has a value before."""

    counter: Variable | None
    first: str | None
    condition: str
    step: str
    uses: frozenset[Variable]
    body: list[Node] = field(default_factory=list)


Node: TypeAlias = Line | Assignment | If | For


def _parts(node: Node) -> tuple[list[Node], ...]:
    match node:
        case If():
            return (node.then, node.otherwise)
        case For():
            return (node.body,)
        case _:
            return ()


def _own_uses(node: Node) -> set[Variable]:
    result = set(node.uses)
    match node:
        case Assignment():
            result.add(node.variable)
        case For() if node.counter is not None:
            result.add(node.counter)
    return result


def _all_uses(node: Node, memo: dict[int, set[Variable]]) -> set[Variable]:
    known = memo.get(id(node))
    if known is None:
        known = _own_uses(node)
        for part in _parts(node):
            for child in part:
                known |= _all_uses(child, memo)
        memo[id(node)] = known
    return known


def print_body(nodes: Sequence[Node], depth: int = 1) -> list[str]:
    """Return the lines of a function's body, with declarations."""
    memo: dict[int, set[Variable]] = {}
    counts: dict[Variable, int] = {}
    _count_assignments(nodes, counts)
    everything = set().union(*(_all_uses(node, memo) for node in nodes)) if nodes else set()
    return list(_print(nodes, depth, everything, memo, counts))


def _count_assignments(nodes: Sequence[Node], counts: dict[Variable, int]) -> None:
    for node in nodes:
        if isinstance(node, Assignment):
            counts[node.variable] = counts.get(node.variable, 0) + 1
        if isinstance(node, For) and node.counter is not None:
            counts[node.counter] = counts.get(node.counter, 0) + 2
        for part in _parts(node):
            _count_assignments(part, counts)


def _print(
    nodes: Sequence[Node],
    depth: int,
    undeclared: set[Variable],
    memo: dict[int, set[Variable]],
    counts: dict[Variable, int],
) -> Iterator[str]:
    """Yield the lines of nodes in braces; ``undeclared`` are variables that are used only here."""
    indent = "  " * depth
    holders: dict[Variable, list[int]] = {}
    for place, node in enumerate(nodes):
        for variable in _all_uses(node, memo) & undeclared:
            holders.setdefault(variable, []).append(place)
    # What a single statement with parts uses, in one of its parts alone, is declared there.
    inner: dict[int, list[set[Variable]]] = {}
    here: dict[int, list[Variable]] = {}
    for variable, places in holders.items():
        node = nodes[places[0]]
        parts = _parts(node)
        inside = [
            number
            for number, part in enumerate(parts)
            if any(variable in _all_uses(child, memo) for child in part)
        ]
        if len(places) == 1 and len(inside) == 1 and variable not in _own_uses(node):
            sets = inner.setdefault(places[0], [set() for _ in parts])
            sets[inside[0]].add(variable)
        else:
            here.setdefault(places[0], []).append(variable)
    for place, node in enumerate(nodes):
        declared = here.get(place, [])
        starts = node.variable if isinstance(node, Assignment) else None
        if isinstance(node, For) and node.first is not None and node.counter in declared:
            starts = node.counter if len(holders[node.counter]) == 1 else None
        for variable in sorted(declared, key=lambda v: v.name):
            if variable is not starts:
                yield f"{indent}{variable.type}{variable.name};"
        sets = inner.get(place, [set() for _ in _parts(node)])
        match node:
            case Line():
                yield from (line if line.startswith("#") else indent + line for line in node.lines)
            case Assignment(variable, text):
                if variable in declared:
                    const = "const " if counts[variable] == 1 else ""
                    kind = variable.type
                    if const and kind.endswith("*"):
                        kind, const = f"{kind}const ", ""
                    elif const and "*" in kind:
                        const = ""
                    yield f"{indent}{const}{kind}{variable.name} = {text};"
                else:
                    yield f"{indent}{variable.name} = {text};"
            case If():
                yield f"{indent}if ({node.condition}) {{"
                yield from _print(node.then, depth + 1, sets[0], memo, counts)
                if node.otherwise:
                    yield f"{indent}}} else {{"
                    yield from _print(node.otherwise, depth + 1, sets[1], memo, counts)
                yield f"{indent}}}"
            case For():
                first = ""
                if node.counter is not None and node.first is not None:
                    kind = node.counter.type if node.counter is starts else ""
                    first = f"{kind}{node.counter.name} = {node.first}"
                condition = f" {node.condition}" if node.condition else ""
                step = f" {node.step}" if node.step else ""
                yield f"{indent}for ({first};{condition};{step}) {{"
                yield from _print(node.body, depth + 1, sets[0], memo, counts)
                yield f"{indent}}}"
