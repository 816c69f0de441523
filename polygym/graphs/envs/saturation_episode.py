"""Equality saturation as a process: a group of rules at a time, then one extraction.

The state is an e-graph, which grows, and what is known of it: which groups of rules were applied
since it changed last without a change (they are *idle*), and whether it is full. A group that is
idle, that has no rule whose operators are all there, or that comes when the e-graph is full, cannot
be applied. Extraction is always possible and the end.

Every action costs the price of a node times the nodes that there are after it, since that is what
searching, applying and extracting takes time for; the end brings the gain:

    reward = (c(start) - c(result)) / c(start) - price of a node · nodes - price of a second · time

where the second term is there in every step, and the first in the last. A result that costs more
than the start is not taken: then the result is the start.

What an e-graph is worth: the graph that is extracted from it, its cost, and the bound.

The cost is that of the graph, in which equal parts are paid once, also where the extraction chose
without knowing that: so that greedy's and the integer program's answers are compared fairly.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from math import ceil
from typing import Any

from polygym.graphs.envs.rule_groups import RuleGroup
from polygym.graphs.envs.task import GraphEpisode, GraphTask, operator_name
from polygym.graphs.ir.graph import Graph
from polygym.rewrite.egraph import EGraph, StopReason, run_iteration
from polygym.rewrite.extraction import ExtractionStatus, extract_greedily, extract_optimally
from polygym.rewrite.rule import Rule
from polygym.rewrite.term import Term


class ExtractionAction(Enum):
    """How a graph is extracted."""

    GREEDY = "greedy"
    OPTIMAL = "optimal"


@dataclass(frozen=True, slots=True)
class ExtractedGraph:
    """A graph, what it costs, what none costs less than (0: nothing is known), and the status."""

    root: Term
    cost: float
    lower_bound: float
    status: str


def extract_graph(
    task: GraphTask, egraph: EGraph, root: int, method: ExtractionAction, seconds: float = 0.0
) -> ExtractedGraph:
    """Return what is extracted; ``seconds`` is when the solver is stopped.

    The status is "greedy", "optimal" where that was proved, and otherwise "bounded".
    """
    cost = task.cost_cache.of_data
    if method is ExtractionAction.GREEDY:
        extraction = extract_greedily(egraph, root, cost)
        status = method.value
    else:
        extraction = extract_optimally(egraph, root, cost, seconds=seconds)
        status = method.value if extraction.status is ExtractionStatus.OPTIMAL else "bounded"
    total, _ = task.cost_cache.of_graph(extraction.term)
    return ExtractedGraph(extraction.term, total, float(extraction.lower_bound), status)


_GROUPS = tuple(RuleGroup)
ALL_SINGLE_SOURCE = len(_GROUPS)
"""The action that applies all groups of rules with one source together, once."""
ALL_MULTI_SOURCE = ALL_SINGLE_SOURCE + 1
"""The same of those with several."""
EXTRACT_GREEDY, EXTRACT_OPTIMAL = ALL_MULTI_SOURCE + 1, ALL_MULTI_SOURCE + 2

ACTIONS = (
    *(rule_group.value for rule_group in RuleGroup),
    "every rule of one output",
    "every rule of several outputs",
    "extract greedily",
    "extract optimally",
)
"""The names of the actions, in the order of their numbers; records have them."""

_METHODS = {EXTRACT_GREEDY: ExtractionAction.GREEDY, EXTRACT_OPTIMAL: ExtractionAction.OPTIMAL}


@dataclass(frozen=True, slots=True)
class SaturationOptions:
    """How far the e-graph may grow, how long an episode is, and what it costs."""

    max_nodes: int = 10_000
    max_growth: float = 0.0
    max_steps: int = 30
    node_price: float = 1e-7
    second_price: float = 0.0
    extraction_seconds: float = 5.0


@dataclass(frozen=True, slots=True)
class ActionStatistics:
    """What the last application of an action came to, and how many there were."""

    count: int = 0
    matches: int = 0
    growth: int = 0


@dataclass(frozen=True, kw_only=True)
class SaturationEpisode(GraphEpisode):
    """A state; ``best`` is what greedy extraction would choose now, or the result of the end."""

    options: SaturationOptions
    egraph: EGraph = field(repr=False, compare=False)
    root: int
    best: Term
    costs: tuple[float, ...] = ()
    action_statistics: tuple[ActionStatistics, ...] = (ActionStatistics(),) * len(ACTIONS)
    idle_groups: frozenset[RuleGroup] = frozenset()
    is_full: bool = False
    lower_bound: float = 0.0
    total_price: float = 0.0

    @property
    def graph(self) -> Graph:
        """The graph of :attr:`best`."""
        return self.task.graph.with_root(self.best)

    @property
    def steps(self) -> int:
        """How many groups have been applied."""
        return sum(action < EXTRACT_GREEDY for action in self.actions)

    @property
    def nodes_by_operator(self) -> Counter[str]:
        """How many nodes there are of each operator, ``concat`` of any count as one."""
        result: Counter[str] = Counter()
        for head, count in self.nodes_by_head.items():
            result[operator_name(head)] += count
        return result

    @cached_property
    def nodes_by_head(self) -> Counter[str]:
        """How many nodes there are of each head, without blacklisted ones."""
        graph = self.egraph
        counts = Counter(
            key[0] for key, state in zip(graph.keys, graph.states, strict=True) if not state
        )
        heads = graph.types.heads
        result: Counter[str] = Counter()
        for number, count in counts.items():
            if graph.types.arities[number]:
                result[str(heads[number])] += count
        return result

    def is_idle(self, action: int) -> bool:
        """Whether an action was applied, and nothing has changed since."""
        members = _groups_of_action(action)
        return bool(members) and self.idle_groups.issuperset(members)

    def rules_of(self, action: int) -> tuple[Rule, ...]:
        """Return the rules that an action applies."""
        return tuple(
            rule for group in _groups_of_action(action) for rule in self.task.groups[group]
        )

    def mask(self) -> tuple[bool, ...]:
        """Return which actions are possible; none after the end."""
        return self._mask

    @cached_property
    def _mask(self) -> tuple[bool, ...]:
        return tuple(not self.refusal(action) for action in range(len(ACTIONS)))

    def meanings(self) -> tuple[str, ...]:
        """Return what every action would do."""
        return ACTIONS

    def refusal(self, action: int) -> str:
        """Return why an action is not possible, "" if it is."""
        if self.is_over:
            return "the episode has ended"
        if action in _METHODS:
            return ""
        if self.is_full:
            return f"the e-graph is full: {self.options.max_nodes} nodes"
        if self.steps >= self.options.max_steps:
            return f"{self.options.max_steps} groups of rules have been applied: extract"
        if not self.rules_of(action):
            return "there is no such rule"
        fitting = self._fitting(action)
        if not fitting:
            return "none of its rules has all its operators in the e-graph"
        if self.idle_groups.issuperset(fitting):
            return "nothing has changed since it was applied last without effect"
        return ""

    def after(self, action: int) -> SaturationEpisode:
        """Return the state after an action, possible or not.

        The e-graph is copied, which takes a hundredth of the time of applying rules to it.
        """
        why = self.refusal(action)
        if why:
            return self.with_illegal(self.illegal + 1, why)
        begin = time.perf_counter()
        if action in _METHODS:
            return self._after_extraction(action, begin)
        return self._after_application(action, begin)

    def _after_application(self, action: int, begin: float) -> SaturationEpisode:
        egraph, before = self.egraph.copy(), self.egraph.node_count
        done = run_iteration(egraph, self.rules_of(action), self.options.max_nodes)
        best, cost = self._cheaper_of(
            extract_graph(self.task, egraph, self.root, ExtractionAction.GREEDY)
        )
        applied = list(self.action_statistics)
        applied[action] = ActionStatistics(
            applied[action].count + 1, sum(done.applications.values()), egraph.node_count - before
        )
        price = self._price(egraph, begin)
        is_full = done.stop is StopReason.NODES or egraph.node_count >= self.options.max_nodes
        return replace(
            self,
            egraph=egraph,
            root=egraph.find(self.root),
            best=best,
            cost=cost,
            actions=(*self.actions, action),
            costs=(*self.costs, cost),
            action_statistics=tuple(applied),
            idle_groups=frozenset()
            if done.changed
            else self.idle_groups.union(_groups_of_action(action)),
            is_full=is_full,
            reward=-price,
            total_price=self.total_price + price,
            rejection="",
        )

    def _after_extraction(self, action: int, begin: float) -> SaturationEpisode:
        graph = extract_graph(
            self.task, self.egraph, self.root, _METHODS[action], self.options.extraction_seconds
        )
        best, cost = self._cheaper_of(graph)
        first = self.task.initial_cost
        price = self._price(self.egraph, begin)
        return replace(
            self,
            best=best,
            cost=cost,
            lower_bound=graph.lower_bound,
            actions=(*self.actions, action),
            costs=(*self.costs, cost),
            status=graph.status,
            reward=(first - cost) / first - price,
            total_price=self.total_price + price,
            rejection="",
        )

    def _cheaper_of(self, extracted: ExtractedGraph) -> tuple[Term, float]:
        """Return what was extracted if it is cheaper than the start, and otherwise the start."""
        if extracted.cost < self.task.initial_cost:
            return extracted.root, extracted.cost
        return self.task.graph.root, self.task.initial_cost

    def _price(self, egraph: EGraph, begin: float) -> float:
        options = self.options
        result = options.node_price * egraph.node_count
        if options.second_price:
            result += options.second_price * (time.perf_counter() - begin)
        return result

    def _fitting(self, action: int) -> frozenset[RuleGroup]:
        """Return the groups of an action that have a rule all of whose operators are there."""
        there = self.nodes_by_head.keys()
        return frozenset(
            group
            for group in _groups_of_action(action)
            if any(needed <= there for needed in self.task.needed_operators[group])
        )

    def _at_start(self) -> dict[str, Any]:
        return {"best": self.task.graph.root}


def start_saturation(task: GraphTask, options: SaturationOptions) -> SaturationEpisode:
    """Return the state in which nothing but the graph is in the e-graph."""
    egraph = EGraph(task.types)
    root = egraph.add_term(task.graph.root)
    egraph.rebuild()
    if options.max_growth:
        most = ceil(options.max_growth * egraph.node_count)
        options = replace(options, max_nodes=min(options.max_nodes, most))
    return SaturationEpisode(
        task=task,
        options=options,
        egraph=egraph,
        root=root,
        best=task.graph.root,
        cost=task.initial_cost,
    )


def _groups_of_action(action: int) -> tuple[RuleGroup, ...]:
    if action < ALL_SINGLE_SOURCE:
        return (_GROUPS[action],)
    if action > ALL_MULTI_SOURCE:
        return ()
    is_multiple = action == ALL_MULTI_SOURCE
    return tuple(rule_group for rule_group in _GROUPS if rule_group.is_multiple == is_multiple)
