"""The cheapest graph of an e-graph, under costs of nodes that add up, or under those of plans.

An answer is kept if it is the best so far, whichever stage of saturation it comes from, so that it
is never dearer than the graph that came in. Where costs are measured, only what is chosen is: see
:mod:`polygym.graphs.measured_costs`, which says why the answer is the same. Under costs of plans,
what is extracted under three kinds of costs of nodes are the candidates of
:mod:`polygym.graphs.plan_search`.

Constants are computed ahead and cost nothing, but they are stored. An answer that stores far more
than its graph did is chosen again with a price for what constants grow by, and dropped if it still
does.
"""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol, TypeAlias, assert_never

from polygym.errors import InputError
from polygym.graphs.costs import NodeCosts, RooflineCosts, TypedNode
from polygym.graphs.ir.domain import TENSOR_DOMAIN, infer_all
from polygym.graphs.ir.graph import Graph
from polygym.graphs.measured_costs import MeasuredCosts, PlanCosts
from polygym.graphs.operators.types import TensorPair, TensorType
from polygym.graphs.plan_search import Choice, PlanSearch, planned_graph
from polygym.rewrite.domain import Data
from polygym.rewrite.egraph import CycleFilter, EGraph, SaturationLimits
from polygym.rewrite.extraction import (
    CostFunction,
    CycleConstraints,
    Extraction,
    extract_greedily,
    extract_optimally,
)
from polygym.rewrite.extraction.costs import cheapest_trees, node_costs
from polygym.rewrite.term import Head, Term

_MOST_ROUNDS = 200

_PRICED_SHARE = 0.25
"""How much of the time of extraction there is for a choice with a price for constants."""

_STORED_TIMES, _STORED_MORE = 2, 1 << 20
"""The constants of an answer have at most so many times the bytes of those before, and so many."""

_BYTE_PRICE = 1.0
"""The price of a byte by which constants grow, where an answer stores too much."""

AnyCosts: TypeAlias = NodeCosts | PlanCosts
"""Costs that add up over nodes, or those of what a whole graph runs."""


class StopSignal(Protocol):
    """A wish to stop, as :class:`polygym.cli.stop_signals.StopRequest` hears it."""

    @property
    def is_requested(self) -> bool:
        """Whether it has come."""
        ...

    def allowed(self) -> AbstractContextManager[None]:
        """Inside, it is a KeyboardInterrupt."""
        ...


class ExtractionMethod(Enum):
    """How the cheapest graph is looked for."""

    GREEDY = "greedy"
    ILP = "ilp"


@dataclass(frozen=True, slots=True)
class OptimizationOptions:
    """Limits of saturation, how cycles are kept out, and how the answer is extracted.

    ``cycle_constraints`` is how the integer program keeps out cycles that a filter has left; the
    usual one has none left, so that nothing is to be done.
    """

    limits: SaturationLimits = field(default_factory=SaturationLimits)
    cycles: CycleFilter = CycleFilter.EFFICIENT
    extraction: ExtractionMethod = ExtractionMethod.ILP
    cycle_constraints: CycleConstraints = CycleConstraints.LAZY
    extraction_seconds: float = 6.0


def graph_cost(root: Term | Graph, costs: NodeCosts) -> float:
    """Return the costs of all nodes of a graph, each once."""
    return math.fsum(costs.cost(*node) for node in typed_nodes(root))


def typed_nodes(root: Term | Graph) -> list[TypedNode]:
    """Return the nodes of a graph as costs know them, children first.

    What only weights known ahead depend on is among them; it costs nothing.
    """
    term = root.root if isinstance(root, Graph) else root
    data = infer_all((term,))
    return [
        (node.head, tuple(data[child] for child in node.children), result)
        for node, result in data.items()
        if node.children
    ]


def stored_bytes(root: Term) -> int:
    """Return the bytes of the constants that a graph keeps: those that others take, or results."""
    data = infer_all((root,))
    kept = {
        child
        for node in data
        if not _is_constant(data[node])
        for child in node.children
        if _is_constant(data[child])
    }
    kept |= {root} if _is_constant(data[root]) else set()
    return sum(_constant_bytes(data[node]) for node in kept)


def _is_constant(data: Data) -> bool:
    return TENSOR_DOMAIN.is_free(data)


def _constant_bytes(data: Data) -> int:
    parts = (data.first, data.second) if isinstance(data, TensorPair) else (data,)
    return sum(part.bytes for part in parts if isinstance(part, TensorType) and part.constant)


def _with_growth_price(cost: CostFunction) -> CostFunction:
    """Return costs in which constants pay for the bytes that they have more than their operands."""

    def priced(head: Head, children: tuple[Data, ...], data: Data) -> float:
        result = cost(head, children, data)
        if children and _is_constant(data) and head != "weight":
            operands = sum(map(_constant_bytes, children))
            result += _BYTE_PRICE * max(_constant_bytes(data) - operands, 0)
        return result

    return priced


class GraphExtraction(ABC):
    """The best graph so far of an e-graph that grows."""

    def __init__(
        self,
        egraph: EGraph,
        root: int,
        graph: Graph,
        options: OptimizationOptions,
        tell: Callable[[str], None],
        stop: StopSignal | None,
    ) -> None:
        """Begin with the graph that came in."""
        self._egraph, self._root, self._graph = egraph, root, graph
        self._options, self._tell, self._stop = options, tell, stop
        self._stored_before = stored_bytes(graph.root)
        self.best, self.greedy_cost, self.compared_plans = graph, math.inf, 0
        self.last: Extraction | None = None
        """What was extracted last, if that proves anything."""
        self.seconds = self.cpu_seconds = 0.0

    @abstractmethod
    def measure_input(self) -> None:
        """Measure the graph that came in, which must run."""

    @abstractmethod
    def choose(self, share: float) -> None:
        """Extract the cheapest graph, within a share of the time."""

    @abstractmethod
    def choose_greedily(self) -> None:
        """Extract a graph in no time."""

    @abstractmethod
    def cost_of(self, graph: Graph) -> float:
        """Return what a graph costs."""

    def allowed(self) -> AbstractContextManager[None]:
        """Inside, a wish to stop is a KeyboardInterrupt."""
        return self._stop.allowed() if self._stop is not None else nullcontext()

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Inside, time counts as that of extraction."""
        start, started = time.monotonic(), time.process_time()
        try:
            yield
        finally:
            self.seconds += time.monotonic() - start
            self.cpu_seconds += time.process_time() - started

    def _extract(self, cost: CostFunction, seconds: float) -> Extraction:
        """Extract the cheapest graph within so many seconds."""
        options = self._options
        with self.timed(), self.allowed():
            match options.extraction:
                case ExtractionMethod.GREEDY:
                    return extract_greedily(self._egraph, self._root, cost)
                case ExtractionMethod.ILP:
                    order = options.cycle_constraints
                    return extract_optimally(self._egraph, self._root, cost, order, seconds)
                case _:
                    assert_never(options.extraction)

    def _cheapest(self, costs: NodeCosts, share: float) -> Extraction:
        """Extract the cheapest graph; where costs are measured, until all of it is."""
        for round_ in range(_MOST_ROUNDS):
            result = self._extract(costs.cost, self._seconds_left(costs, share))
            if not isinstance(costs, MeasuredCosts):
                break
            nodes = typed_nodes(result.term)
            missing = costs.missing(nodes)
            if not missing:
                break
            self._tell(f"round {round_ + 1}: {len(missing)} steps to be measured")
            with self.allowed():
                costs.measure(nodes, self._tell)
        return result

    def _storable(self, found: Extraction, costs: NodeCosts) -> Extraction | None:
        """Return an answer that does not store too much, chosen again if need be."""
        if not self._stores_too_much(found.term):
            return found
        cost = _with_growth_price(costs.cost)
        found = self._extract(cost, self._seconds_left(costs, _PRICED_SHARE))
        if isinstance(costs, MeasuredCosts):
            with self.allowed():
                costs.measure(typed_nodes(found.term), self._tell)
        return None if self._stores_too_much(found.term) else found

    def _stores_too_much(self, root: Term) -> bool:
        return stored_bytes(root) > _STORED_TIMES * self._stored_before + _STORED_MORE

    def _seconds_left(self, costs: NodeCosts, share: float) -> float:
        whole = self._options.extraction_seconds
        used = 0.0 if isinstance(costs, MeasuredCosts) else self.seconds
        return min(whole - used, share * whole)

    def _check_executable(self, failing: str | None) -> None:
        """Refuse a graph that does not run itself: there would be nothing to compare with."""
        if failing is not None:
            raise InputError(
                f"graph {self._graph.name}: expected steps that run here, found one that does "
                f"not: {failing} (too large for the memory, or for 32-bit sizes); --costs static "
                "takes no times"
            )


class SumExtraction(GraphExtraction):
    """The graph whose nodes' costs add up to the least."""

    def __init__(
        self,
        egraph: EGraph,
        root: int,
        graph: Graph,
        costs: NodeCosts,
        options: OptimizationOptions,
        tell: Callable[[str], None],
        stop: StopSignal | None = None,
    ) -> None:
        """Take costs of nodes."""
        super().__init__(egraph, root, graph, options, tell, stop)
        self._costs = costs

    def measure_input(self) -> None:
        """Measure the operators of the graph that came in."""
        if isinstance(self._costs, MeasuredCosts):
            nodes = typed_nodes(self._graph)
            with self.allowed():
                self._costs.measure(nodes, self._tell)
            self._check_executable(self._costs.failing(nodes))

    def choose(self, share: float) -> None:
        """Extract the graph whose costs add up to the least."""
        self.last = self._cheapest(self._costs, share)
        self._keep(self._storable(self.last, self._costs))

    def choose_greedily(self) -> None:
        """Extract by trees."""
        self._keep(extract_greedily(self._egraph, self._root, self._costs.cost))

    def cost_of(self, graph: Graph) -> float:
        """Return the sum over the nodes of a graph."""
        return graph_cost(graph.root, self._costs)

    def _keep(self, found: Extraction | None) -> None:
        """Keep an answer that is cheaper than the best so far."""
        if found is None:
            return
        self.greedy_cost = min(self.greedy_cost, found.greedy_cost)
        if graph_cost(found.term, self._costs) < self.cost_of(self.best):
            self.best = self._graph.with_root(found.term)


class PlanExtraction(GraphExtraction):
    """The graph whose plan is the cheapest that a search finds."""

    def __init__(
        self,
        egraph: EGraph,
        root: int,
        graph: Graph,
        costs: PlanCosts,
        options: OptimizationOptions,
        tell: Callable[[str], None],
        stop: StopSignal | None = None,
    ) -> None:
        """Take costs of plans."""
        super().__init__(egraph, root, graph, options, tell, stop)
        self._costs, self._fused = costs, MeasuredCosts(costs.times, fuses=True)
        self._operators = MeasuredCosts(costs.times)

    def measure_input(self) -> None:
        """Measure the steps of the graph that came in."""
        with self.allowed():
            self._costs.measure(self._graph, self._tell)
        self._check_executable(self._costs.times.failing(self._costs.steps(self._graph)))

    def choose(self, share: float) -> None:
        """Extract candidates under costs of nodes, and compare their plans."""
        found: list[Extraction] = []
        for costs in (self._fused, self._operators, RooflineCosts()):
            extracted = self._storable(self._cheapest(costs, share), costs)
            found += [extracted] if extracted is not None else []
        with self.timed():
            trees, _ = cheapest_trees(self._egraph, node_costs(self._egraph, self._fused.cost))
        find = self._egraph.find
        choices = [trees | {find(node): node for node in each.nodes} for each in found]
        self._search([*choices, trees])

    def choose_greedily(self) -> None:
        """Do without what has not been compared: plans take time."""

    def cost_of(self, graph: Graph) -> float:
        """Return what the steps of a graph take."""
        return self._costs.cost(graph)

    def _search(self, choices: list[Choice]) -> None:
        times = self._costs.times
        waited, begin = times.measuring_seconds, planned_graph(self.best, self._costs)
        search = PlanSearch(
            self._egraph,
            self._root,
            begin,
            self._costs,
            lambda graph: not self._stores_too_much(graph.root),
            self._tell,
        )
        try:
            with self.timed(), self.allowed():
                search.run(choices)
        finally:
            self.best = search.best.graph
            self.compared_plans += len(search.compared)
            self.seconds -= times.measuring_seconds - waited
