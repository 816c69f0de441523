"""Extraction as an integer program.

A variable x for each node and y for each class: a class is chosen as often as its nodes are,
y = Σ x; the nodes of a class that need another are chosen no more than that one is, Σ x ≤ y; and
the root is chosen, y = 1. Of a class at most one node can be chosen then, so that one row for each
pair of classes says what one for each node and child would say more weakly.

A choice may have a cycle where classes need each other. ``REAL`` and ``INTEGER`` give each such
class a place in an order, which decreases from a chosen node's class to those that it needs; places
are fractions or whole numbers. ``LAZY`` forbids what is seen at once, two classes that need each
other, and every other cycle when an answer has it. ``NONE`` trusts that there are none.
"""

import math
from collections import Counter
from collections.abc import Sequence
from enum import Enum

from polygym.rewrite.extraction.choices import ExtractionChoices, strong_components
from polygym.rewrite.extraction.solver import IntegerProgram


class CycleConstraints(Enum):
    """How an answer is kept free of cycles."""

    NONE = "none"
    REAL = "real"
    INTEGER = "integer"
    LAZY = "lazy"


class ExtractionProgram:
    """The integer program of a choice, and what its columns mean."""

    def __init__(self, choices: ExtractionChoices, cycles: CycleConstraints, scale: float) -> None:
        """Write down the program; costs are multiplied by a scale."""
        self.choices = choices
        self.program = program = IntegerProgram()
        for cost in choices.costs:
            program.add_column(cost * scale, 1.0, True)
        self._classes = [program.add_column(0.0, 1.0, False) for _ in choices.members]
        self._needing: dict[tuple[int, int], list[int]] = {}
        for name, nodes in enumerate(choices.members):
            terms = [(node, 1.0) for node in nodes]
            program.add_row([*terms, (self._classes[name], -1.0)], 0.0, 0.0)
            for node in nodes:
                for child in choices.children[node]:
                    self._needing.setdefault((name, child), []).append(node)
        for (_, child), needing in self._needing.items():
            terms = [(node, 1.0) for node in needing]
            program.add_row([*terms, (self._classes[child], -1.0)], -math.inf, 0.0)
        program.add_row([(self._classes[0], 1.0)], 1.0, 1.0)
        self._orders: dict[int, tuple[int, float]] = {}
        self._tied, self._sizes = self._pairs_within_components()
        if cycles is CycleConstraints.LAZY:
            for pair in self._tied:
                if pair[0] < pair[1] and (pair[1], pair[0]) in self._needing:
                    self.forbid(list(pair))
        elif cycles is not CycleConstraints.NONE:
            self._add_order(cycles is CycleConstraints.INTEGER)

    @property
    def has_cycles(self) -> bool:
        """Whether some choice has a cycle."""
        return bool(self._tied)

    def forbid(self, cycle: list[int]) -> None:
        """Forbid that each class of a list is chosen by a node that needs the next."""
        terms = [
            (node, 1.0)
            for place, name in enumerate(cycle)
            for node in self._needing[name, cycle[(place + 1) % len(cycle)]]
        ]
        self.program.add_row(terms, -math.inf, len(cycle) - 1.0)

    def require(self, nodes: Sequence[int]) -> None:
        """Require that one of some nodes is chosen."""
        self.program.add_row([(node, 1.0) for node in nodes], 1.0, math.inf)

    def start(self, chosen: dict[int, int]) -> list[float]:
        """Return the columns of a choice without cycles, a node for each class that is chosen."""
        values = [0.0] * len(self.program.costs)
        done: dict[int, None] = {}
        stack = [0]
        while stack:
            name = stack[-1]
            missing = [child for child in self.choices.children[chosen[name]] if child not in done]
            if missing:
                stack += missing
                continue
            done[stack.pop()] = None
            values[chosen[name]] = values[self._classes[name]] = 1.0
        for name in done:  # children come first
            if name in self._orders:
                column, unit = self._orders[name]
                below = [
                    values[self._orders[child][0]] + unit
                    for child in self.choices.children[chosen[name]]
                    if (name, child) in self._tied
                ]
                values[column] = max(below, default=0.0)
        return values

    def chosen(self, values: list[float]) -> dict[int, int] | None:
        """Return the node for each class that the root needs, None if the columns have none."""
        result: dict[int, int] = {}
        stack = [0]
        while stack:
            name = stack.pop()
            if name in result:
                continue
            node = max(self.choices.members[name], key=lambda one: values[one])
            if values[node] < 0.5:
                return None
            result[name] = node
            stack.extend(self.choices.children[node])
        return result

    def cycles_of(self, chosen: dict[int, int]) -> list[list[int]]:
        """Return cycles of a choice, at least one if it has any."""
        colours: dict[int, int] = {}
        result: list[list[int]] = []
        path = [0]
        steps = [iter(self.choices.children[chosen[0]])]
        colours[0] = 1
        while path:
            child = next(steps[-1], None)
            if child is None:
                colours[path.pop()] = 2
                steps.pop()
            elif child not in colours:
                colours[child] = 1
                path.append(child)
                steps.append(iter(self.choices.children[chosen[child]]))
            elif colours[child] == 1:
                result.append(path[path.index(child) :])
        return result

    def _pairs_within_components(self) -> tuple[dict[tuple[int, int], None], dict[int, int]]:
        """Return the pairs between which a cycle can be, and of their classes how many are tied."""
        edges: list[list[int]] = [[] for _ in self.choices.members]
        for name, child in self._needing:
            edges[name].append(child)
        component = strong_components(edges)
        pairs = [pair for pair in self._needing if component[pair[0]] == component[pair[1]]]
        sizes = Counter(component)
        return dict.fromkeys(pairs), {name: sizes[component[name]] for name, _ in pairs}

    def _add_order(self, is_integer: bool) -> None:
        program = self.program
        for name, size in self._sizes.items():
            upper, unit = (size - 1.0, 1.0) if is_integer else (1.0, 1.0 / size)
            self._orders[name] = (program.add_column(0.0, upper, is_integer), unit)
        for name, child in self._tied:
            (above, unit), (below, _) = self._orders[name], self._orders[child]
            most = (
                program.uppers[above] + unit
            )  # as much as the row must yield where none is chosen
            terms = [(node, -most) for node in self._needing[name, child]]
            program.add_row([(above, 1.0), (below, -1.0), *terms], unit - most, math.inf)
