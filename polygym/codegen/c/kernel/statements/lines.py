"""Lines of statements, and where their variables are declared.

A variable is declared in the innermost braces that hold all its uses: with its value where it first
gets it there, else by itself before the first statement that has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from polygym.codegen.c.kernel.statements.nodes import Assignment, For, If, Line, Node, Variable


def print_body(nodes: Sequence[Node]) -> list[str]:
    """Return the lines of a function's body, with declarations."""
    memo: dict[int, set[Variable]] = {}
    counts: dict[Variable, int] = {}
    _count_assignments(nodes, counts)
    everything = set().union(*(_all_uses(node, memo) for node in nodes)) if nodes else set()
    return list(_BodyPrinter(memo, counts).lines(nodes, 1, everything))


def _parts(node: Node) -> tuple[list[Node], ...]:
    """Return the statements in a statement: branches, or the body."""
    match node:
        case If():
            return (node.then, node.otherwise)
        case For():
            return (node.body,)
        case _:
            return ()


def _own_uses(node: Node) -> set[Variable]:
    """Return the variables of a statement without its parts."""
    result = set(node.uses)
    match node:
        case Assignment():
            result.add(node.variable)
        case For() if node.counter is not None:
            result.add(node.counter)
    return result


def _all_uses(node: Node, memo: dict[int, set[Variable]]) -> set[Variable]:
    """Return the variables of a statement and of its parts."""
    known = memo.get(id(node))
    if known is None:
        known = _own_uses(node)
        for part in _parts(node):
            for child in part:
                known |= _all_uses(child, memo)
        memo[id(node)] = known
    return known


def _count_assignments(nodes: Sequence[Node], counts: dict[Variable, int]) -> None:
    """Count how often each variable gets a value; a counter does so more than once."""
    for node in nodes:
        if isinstance(node, Assignment):
            counts[node.variable] = counts.get(node.variable, 0) + 1
        if isinstance(node, For) and node.counter is not None:
            counts[node.counter] = counts.get(node.counter, 0) + 2
        for part in _parts(node):
            _count_assignments(part, counts)


@dataclass
class _Declarations:
    """Declarations of variables that only the statements in some braces use.

    ``here`` and ``inner`` have the number of a statement; ``inner`` has a set for each part of it.
    """

    here: dict[int, list[Variable]] = field(default_factory=dict)
    inner: dict[int, list[set[Variable]]] = field(default_factory=dict)
    shared: set[Variable] = field(default_factory=set)


@dataclass(frozen=True)
class _BodyPrinter:
    """Prints statements; ``memo`` has their variables, ``counts`` how often each gets a value."""

    memo: dict[int, set[Variable]]
    counts: dict[Variable, int]

    def lines(self, nodes: Sequence[Node], depth: int, undeclared: set[Variable]) -> Iterator[str]:
        """Yield the lines of nodes in braces; ``undeclared`` are variables used only here."""
        declarations = self._declarations(nodes, undeclared)
        indent = "  " * depth
        for place, node in enumerate(nodes):
            declared = declarations.here.get(place, [])
            starts = node.variable if isinstance(node, Assignment) else None
            if isinstance(node, For) and node.first is not None and node.counter in declared:
                starts = None if node.counter in declarations.shared else node.counter
            for variable in sorted(declared, key=lambda v: v.name):
                if variable is not starts:
                    yield f"{indent}{variable.type}{variable.name};"
            sets = declarations.inner.get(place, [set() for _ in _parts(node)])
            match node:
                case Line(lines):
                    yield from (line if line.startswith("#") else indent + line for line in lines)
                case Assignment(variable, text):
                    start = self._start(variable) if variable in declared else variable.name
                    yield f"{indent}{start} = {text};"
                case If():
                    yield f"{indent}if ({node.condition}) {{"
                    yield from self.lines(node.then, depth + 1, sets[0])
                    if node.otherwise:
                        yield f"{indent}}} else {{"
                        yield from self.lines(node.otherwise, depth + 1, sets[1])
                    yield f"{indent}}}"
                case For():
                    yield f"{indent}{_loop_head(node, is_declared=node.counter is starts)} {{"
                    yield from self.lines(node.body, depth + 1, sets[0])
                    yield f"{indent}}}"

    def _declarations(self, nodes: Sequence[Node], undeclared: set[Variable]) -> _Declarations:
        """Return where variables are declared.

        Those of a single statement with parts, in one of its parts alone, are declared there.
        """
        holders: dict[Variable, list[int]] = {}
        for place, node in enumerate(nodes):
            for variable in _all_uses(node, self.memo) & undeclared:
                holders.setdefault(variable, []).append(place)
        result = _Declarations()
        for variable, places in holders.items():
            node = nodes[places[0]]
            parts = _parts(node)
            inside = [
                number
                for number, part in enumerate(parts)
                if any(variable in _all_uses(child, self.memo) for child in part)
            ]
            if len(places) > 1:
                result.shared.add(variable)
            elif len(inside) == 1 and variable not in _own_uses(node):
                sets = result.inner.setdefault(places[0], [set() for _ in parts])
                sets[inside[0]].add(variable)
                continue
            result.here.setdefault(places[0], []).append(variable)
        return result

    def _start(self, variable: Variable) -> str:
        """Return the declaration of a variable with its value, before the sign ``=``."""
        kind, name = variable.type, variable.name
        if self.counts[variable] > 1 or ("*" in kind and not kind.endswith("*")):
            return f"{kind}{name}"
        return f"{kind}const {name}" if kind.endswith("*") else f"const {kind}{name}"


def _loop_head(node: For, *, is_declared: bool) -> str:
    """Return the head of a loop, ``for (long i = 0; i < n; i++)``."""
    first = ""
    if node.counter is not None and node.first is not None:
        first = f"{node.counter.type if is_declared else ''}{node.counter.name} = {node.first}"
    condition = f" {node.condition}" if node.condition else ""
    step = f" {node.step}" if node.step else ""
    return f"for ({first};{condition};{step})"
