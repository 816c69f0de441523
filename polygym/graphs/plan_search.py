"""The cheapest plan: extracted graphs compared by what runs, and recombined.

What a step of a plan takes depends on its surroundings: a function of elements costs little in the
kernel of the only operand that has one, and a kernel of its own after a concatenation. So no costs
of nodes add up to those of plans, and an extraction under costs of nodes is a *candidate*. The
search begins with the best graph that is known. Where the best so far and a candidate differ, each
region of the difference is tried by itself::

    nodes of the other that the best does not have; those that need each other are one region

A region that merges two products has both halves of the split and the merged product: either all of
it is taken or nothing. This goes on until no region makes the plan cheaper. A change counts if the
steps that it takes away cost a little more than those that it brings: times of equal work differ by
so much.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from polygym.errors import PolygymError
from polygym.graphs.ir.domain import TENSOR_DOMAIN
from polygym.graphs.ir.graph import Graph
from polygym.graphs.measured_costs import PlanCosts
from polygym.rewrite.egraph import EGraph
from polygym.rewrite.extraction.costs import term_of_nodes

if TYPE_CHECKING:
    from polygym.graphs.execution.timing.plan_timing import PlannedStep

_REQUIRED_RATIO = 0.98
"""A change brings steps that take at most such a part of the time of those that it takes away."""

Choice = Mapping[int, int]
"""Class: its node. For all classes that have a term; the root's decide what is reached."""


@dataclass(frozen=True, slots=True)
class PlannedGraph:
    """A graph, its steps and what they cost, with estimates where steps have no time yet."""

    graph: Graph
    steps: tuple[PlannedStep, ...]
    cost: float


def planned_graph(graph: Graph, costs: PlanCosts) -> PlannedGraph:
    """Return the plan of a graph."""
    steps = costs.steps(graph)
    return PlannedGraph(graph, steps, costs.times.cost(steps))


@dataclass
class PlanSearch:
    """A search among the graphs of a class; ``best`` is the best so far, also while it runs.

    ``is_allowed`` says of a graph whether it may be the answer.
    """

    egraph: EGraph
    root: int
    best: PlannedGraph
    costs: PlanCosts
    is_allowed: Callable[[Graph], bool]
    tell: Callable[[str], None]
    compared: set[Graph] = field(default_factory=set)

    def run(self, candidates: Sequence[Choice]) -> None:
        """Look for the best among candidates, the graph it begins with, and what mixes them.

        All choices of the first candidate stand where the graph has none.
        """
        begin = {**candidates[0], **self._choice_of(self.best.graph)}
        self.compared.add(self.best.graph)
        choice: Choice = begin
        for other in candidates:
            choice = other if self._try(other) else choice
        is_better = True
        while is_better:
            is_better = False
            for other in (begin, *candidates):
                for region in self._regions(choice, other):
                    mixed = {**choice, **region}
                    if self._try(mixed):
                        choice, is_better = mixed, True

    def _choice_of(self, graph: Graph) -> Choice:
        return {self.egraph.find(node): node for node in self.egraph.nodes_making(graph.root)}

    def _try(self, choice: Choice) -> bool:
        """Whether a choice is better than the best so far, whose place it takes then."""
        order = self._reached(choice)
        if order is None:
            return False
        nodes = [choice[name] for name in order]
        graph = self.best.graph.with_root(term_of_nodes(self.egraph, nodes))
        if graph in self.compared or not self.is_allowed(graph):
            return False
        self.compared.add(graph)
        try:
            while True:
                plan = planned_graph(graph, self.costs)
                if not self._is_better(plan):
                    return False
                missing = self.costs.times.missing(plan.steps)
                if not missing:
                    break
                self.tell(f"{len(missing)} steps to be measured")
                self.costs.times.measure(missing, self.tell)
        except (PolygymError, MemoryError):  # what cannot be planned does not run
            return False
        self.tell(f"{plan.cost:.1f} instead of {self.best.cost:.1f}")
        self.best = plan
        return True

    def _is_better(self, plan: PlannedGraph) -> bool:
        """Whether the steps that a plan brings cost less than those that it takes away."""
        old, new = (Counter(step.kind for step in each.steps) for each in (self.best, plan))
        steps = {step.kind: step for step in (*self.best.steps, *plan.steps)}
        brought, taken = (
            self.costs.times.cost(steps[kind] for kind in counts.elements())
            for counts in (new - old, old - new)
        )
        return brought < _REQUIRED_RATIO * taken and plan.cost < self.best.cost

    def _regions(self, choice: Choice, other: Choice) -> list[Choice]:
        """Return where another choice differs, each connected region by itself."""
        here, there = self._reached(choice), self._reached(other)
        if here is None or there is None:
            return []
        had = {choice[name] for name in here}
        new = [
            name
            for name in there
            if other[name] not in had and not TENSOR_DOMAIN.is_free(self.egraph.data_of(name))
        ]
        names = {name: name for name in new}

        def find(name: int) -> int:
            while names[name] != name:
                names[name] = name = names[names[name]]
            return name

        for name in new:
            for child in self.egraph.children_of(other[name]):
                if child in names:
                    names[find(child)] = find(name)
        regions: dict[int, dict[int, int]] = {}
        for name in new:
            regions.setdefault(find(name), {})[name] = other[name]
        return list(regions.values())

    def _reached(self, choice: Choice) -> list[int] | None:
        """Return the classes that a choice reaches, children first; None if it has a cycle."""
        order: list[int] = []
        is_done: dict[int, bool] = {}
        stack = [self.egraph.find(self.root)]
        while stack:
            name = stack[-1]
            if name in is_done:
                stack.pop()
                if not is_done[name]:
                    is_done[name] = True
                    order.append(name)
                continue
            if name not in choice:
                return None
            is_done[name] = False
            for child in self.egraph.children_of(choice[name]):
                if is_done.get(child) is False:
                    return None
                if child not in is_done:
                    stack.append(child)
        return order
