"""The cheapest plan: extracted graphs compared by what runs, and recombined.

What a step of a plan takes depends on its surroundings: a function of elements costs little in the
kernel of the only operand that has one, and a kernel of its own after a concatenation. So no costs
of nodes add up to those of plans, and an extraction under costs of nodes is a *candidate*. The
search begins with the graph that came in and with the candidates. Where the best so far and another
candidate differ, each region of the difference is tried by itself::

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
from polygym.graphs.ir.graph import Graph
from polygym.graphs.measured_costs import PlanCosts
from polygym.graphs.operators.types import TensorType
from polygym.rewrite.egraph import EGraph
from polygym.rewrite.extraction.costs import extracted_term

if TYPE_CHECKING:
    from polygym.graphs.execution.timing.plan_timing import PlannedStep

_REQUIRED_RATIO = 0.98
"""Which part of the steps' time that a change takes away it brings at most."""

Choice = Mapping[int, int]
"""Class: its node. For all classes that have a term; the root's decide what is reached."""


@dataclass(frozen=True, slots=True)
class ChosenPlan:
    """A graph, its choice, its steps and what they cost."""

    graph: Graph
    choice: Choice
    steps: tuple[PlannedStep, ...]
    cost: float


@dataclass(frozen=True, slots=True)
class PlanSearchResult:
    """The best plan, and how many different ones were compared."""

    best: ChosenPlan
    compared: int


def cheapest_plan(
    egraph: EGraph,
    root: int,
    graph: Graph,
    candidates: Sequence[Choice],
    costs: PlanCosts,
    tell: Callable[[str], None],
) -> PlanSearchResult:
    """Return the best plan found, that of ``graph`` if there is none better."""
    search = _PlanSearch(egraph, egraph.find(root), graph, costs, tell)
    original = {egraph.find(node): node for node in egraph.nodes_making(graph.root)}
    choices = [{**candidates[0], **original}, *candidates]
    costs.measure(graph, tell)
    best = search.plan(graph, choices[0])
    for choice in candidates:
        best = search.better(best, choice)
    is_better = True
    while is_better:
        is_better = False
        for choice in choices:
            for region in search.regions(best.choice, choice):
                tried = search.better(best, {**best.choice, **region})
                is_better = is_better or tried is not best
                best = tried
    return PlanSearchResult(best, len(search.compared))


@dataclass
class _PlanSearch:
    egraph: EGraph
    root: int
    graph: Graph
    costs: PlanCosts
    tell: Callable[[str], None]
    compared: set[Graph] = field(default_factory=set)

    def plan(self, graph: Graph, choice: Choice) -> ChosenPlan:
        """Return the plan of a graph, with estimates where steps have no time yet."""
        steps = self.costs.steps(graph)
        return ChosenPlan(graph, choice, steps, self.costs.times.cost(steps))

    def better(self, best: ChosenPlan, choice: Choice) -> ChosenPlan:
        """Return the plan of a choice if it is better than the best so far, else that one."""
        if self._order(choice) is None:
            return best
        term, _ = extracted_term(self.egraph, self.root, choice)
        graph = self.graph.with_root(term)
        if graph in self.compared:
            return best
        self.compared.add(graph)
        try:
            while True:
                plan = self.plan(graph, choice)
                if not self._is_better(plan, best):
                    return best
                missing = self.costs.times.missing(plan.steps)
                if not missing:
                    self.tell(f"{plan.cost:.1f} instead of {best.cost:.1f}")
                    return plan
                self.tell(f"{len(missing)} steps to be measured")
                self.costs.times.measure(missing, self.tell)
        except (PolygymError, MemoryError):  # what cannot be planned does not run
            return best

    def _is_better(self, plan: ChosenPlan, best: ChosenPlan) -> bool:
        """Whether the steps that a plan brings cost less than those that it takes away."""
        old, new = (Counter(step.kind for step in each.steps) for each in (best, plan))
        steps = {step.kind: step for step in (*best.steps, *plan.steps)}
        brought, taken = (
            self.costs.times.cost(steps[kind] for kind in counts.elements())
            for counts in (new - old, old - new)
        )
        return brought < _REQUIRED_RATIO * taken and plan.cost < best.cost

    def regions(self, best: Choice, other: Choice) -> list[dict[int, int]]:
        """Return where another choice differs, each connected region by itself."""
        here, there = self._order(best), self._order(other)
        if here is None or there is None:
            return []
        had = {best[name] for name in here}
        new = [name for name in there if other[name] not in had and self._is_computed(name)]
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

    def _is_computed(self, name: int) -> bool:
        """Whether a class is computed at every call."""
        data = self.egraph.data_of(name)
        return not isinstance(data, TensorType) or not data.constant

    def _order(self, choice: Choice) -> list[int] | None:
        """Return the classes that a choice reaches, children first; None if it has a cycle."""
        order: list[int] = []
        is_done: dict[int, bool] = {}
        stack = [self.root]
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
