"""Task of an episode: a graph, the costs of its nodes, and the rules that may change it.

An environment takes all three as texts, which JSON can carry (``"nasrnn"``, ``"static"``,
``"default"``), or as values; this module makes values of texts. It has the costs of all graphs of
an episode, and the state that both kinds of episodes share.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import fsum
from pathlib import Path
from typing import Any, Self

from polygym.envs.episode_end import INVALID_STATUS
from polygym.errors import InputError
from polygym.graphs import library
from polygym.graphs.costs import NodeCosts, RooflineCosts
from polygym.graphs.envs.rule_groups import RuleGroup, rule_operators, rules_by_group
from polygym.graphs.ir.domain import TENSOR_DOMAIN
from polygym.graphs.ir.graph import Graph, Model
from polygym.graphs.measured_costs import MeasuredCosts
from polygym.graphs.rules import load_rule_file, standard_rules
from polygym.graphs.saved_model import open_source
from polygym.lru_cache import LruCache
from polygym.mdp.episode import MOST_ILLEGAL_ACTIONS
from polygym.mdp.rewards import ILLEGAL_ACTION_REWARD, INVALID_EPISODE_PENALTY
from polygym.rewrite.domain import Data, TypeTable
from polygym.rewrite.rule import Rule, check_rule_terms
from polygym.rewrite.term import Head, Term

COSTS = ("static", "measured")
DEFAULT_RULES = "default"
RUNNING = "running"

_MAX_CACHED_TERMS = 200_000
_MAX_CACHED_GRAPHS = 256
_INSTANCES = 300
_MAX_RANDOM = 10_000


@dataclass(frozen=True)
class GraphTask:
    """A graph, costs and rules; compared by identity, made once for many episodes."""

    name: str
    graph: Graph
    costs: NodeCosts
    rules: tuple[Rule, ...]

    @cached_property
    def groups(self) -> dict[RuleGroup, tuple[Rule, ...]]:
        """The rules of every group."""
        return rules_by_group(self.rules)

    @cached_property
    def needed_operators(self) -> dict[RuleGroup, tuple[frozenset[str], ...]]:
        """For every group, the different sets of operators that the sources of a rule need."""
        return {
            group: tuple({rule_operators(rule, of_sources=True) for rule in rules})
            for group, rules in self.groups.items()
        }

    @cached_property
    def start_operators(self) -> Counter[str]:
        """How many nodes of each operator the graph has; ``concat`` of any count is one."""
        return Counter(operator_name(term.head) for term in self.graph.nodes())

    @cached_property
    def types(self) -> TypeTable:
        """What is known of the data of nodes, shared by all episodes."""
        return TypeTable(TENSOR_DOMAIN)

    @cached_property
    def rule_numbers(self) -> dict[str, int]:
        """The number of every rule in the table, by name."""
        return {rule.name: number for number, rule in enumerate(self.rules)}

    @cached_property
    def candidate_cache(self) -> LruCache[Term, Any]:
        """The substitutions that graphs allow, of those that were asked for lately."""
        return LruCache(_MAX_CACHED_GRAPHS)

    @cached_property
    def cost_cache(self) -> CostCache:
        """What nodes and graphs cost."""
        return CostCache(self.costs, self.types)

    @cached_property
    def initial_cost(self) -> float:
        """What the graph costs as it is.

        Raises:
            InputError: nothing, so that no gain could be relative to it.
        """
        result, _ = self.cost_cache.of_graph(self.graph.root)
        if not result > 0.0:
            raise InputError(
                f"graph {self.name}: expected one that costs something, found the cost {result:g}"
            )
        return result


def operator_name(head: Head) -> str:
    """Return an operator's name, without the count of a concatenation.

    >>> operator_name("concat3"), operator_name("relu")
    ('concat', 'relu')
    """
    name = str(head)
    return "concat" if name.startswith("concat") else name


class CostCache:
    """The costs of nodes and of graphs, remembered; equal parts of a graph are paid once."""

    def __init__(self, costs: NodeCosts, types: TypeTable) -> None:
        """Know nothing yet."""
        self._costs, self._types = costs, types
        self._known: dict[Term, float] = {}

    def of_node(self, node: Term) -> float:
        """Return what a node of a graph costs, without its children."""
        result = self._known.get(node)
        if result is None:
            if len(self._known) > _MAX_CACHED_TERMS:
                self._known.clear()
            types = self._types
            children = tuple(types.of(child) for child in node.children)
            result = self.of_data(node.head, children, types.of(node))
            self._known[node] = result
        return result

    def of_data(self, head: Head, children: tuple[Data, ...], data: Data) -> float:
        """Return what a node costs, given what it and its children are."""
        return float(self._costs.cost(head, children, data)) if children else 0.0

    def of_graph(self, root: Term) -> tuple[float, int]:
        """Return what a graph costs, and how many nodes it has, literals apart.

        The sum does not depend on the order in which nodes are found.
        """
        costs: list[float] = []
        seen, stack = {root}, [root]
        while stack:
            term = stack.pop()
            costs.append(self.of_node(term))
            for child in term.children:
                if child.children and child not in seen:
                    seen.add(child)
                    stack.append(child)
        return fsum(costs), len(costs)


class _MeasuredOnDemand:
    """Times of operators, each measured when it is first asked for and not kept from before."""

    def __init__(self, thread_count: int) -> None:
        self._times = MeasuredCosts.of_user(thread_count)

    @property
    def name(self) -> str:
        return self._times.name

    @property
    def unit(self) -> str:
        return self._times.unit

    def cost(self, head: Head, children: tuple[Any, ...], data: Data) -> float:
        self._times.measure([(head, children, data)])
        return self._times.cost(head, children, data)


def costs_from_argument(costs: object, threads: int) -> NodeCosts:
    """Return costs: by name, or as they are given.

    Raises:
        InputError: there are none of that name.
    """
    if costs == "static":
        return RooflineCosts()
    if costs == "measured":
        return _MeasuredOnDemand(threads)
    if not isinstance(costs, str) and hasattr(costs, "cost"):
        return costs  # type: ignore[return-value]
    raise InputError(f"costs: expected one of {', '.join(COSTS)}, found {costs!r}")


def rules_from_argument(rules: object) -> tuple[Rule, ...]:
    """Return the table of rules: polygym's, that of a file, or the one that is given.

    Rules of a file are verified; those that are given as values are taken for sound.

    Raises:
        InputError: the file cannot be read, a rule in it is not sound, two rules have one name, or
            a word is not the domain's.
    """
    result = tuple(_rules(rules))
    names = [rule.name for rule in result]
    if len(set(names)) != len(names):
        raise InputError("rules: expected different names")
    check_rule_terms(result, TENSOR_DOMAIN)
    return result


def _rules(rules: object) -> Sequence[Rule]:
    if rules == DEFAULT_RULES:
        return standard_rules()
    if isinstance(rules, str | Path):
        return load_rule_file(Path(rules))
    if isinstance(rules, Sequence) and all(isinstance(rule, Rule) for rule in rules):
        return rules
    raise InputError(f"rules: expected {DEFAULT_RULES!r}, a file, or rules; found {rules!r}")


@lru_cache(maxsize=1 << 12)
def check_sound(rule: Rule) -> None:
    """Refuse a rule that is not sound; those of the package are known to be.

    Raises:
        InputError: it is not, which is shown by numbers.
    """
    from polygym.graphs.rules.verification import check_rule

    if rule not in standard_rules():
        check_rule(rule, _INSTANCES)


def graphs_from_argument(graph: object) -> tuple[str | Graph, ...]:
    """Return the graphs that an argument stands for: texts of the library, paths, one value.

    >>> graphs_from_argument("bert, nasrnn:bias, random:7-8")
    ('bert', 'nasrnn:bias', 'random:7', 'random:8')

    Raises:
        InputError: there is no such model or file.
    """
    if isinstance(graph, Graph):
        return (graph,)
    if isinstance(graph, Model):
        return (graph.graph,)
    if not isinstance(graph, str | Path):
        raise InputError(f"graph: expected a name, a path or a graph, found {graph!r}")
    names = [name.strip() for name in str(graph).split(",")]
    if not all(names):
        raise InputError(f"graph: expected names and paths with commas between, found {graph!r}")
    return tuple(expanded for name in names for expanded in _expand_pattern(name))


def _expand_pattern(name: str) -> tuple[str, ...]:
    if name == "all":
        return library.NAMES
    kind, _, rest = name.partition(":")
    if kind == library.RANDOM:
        seeds, _, options = rest.partition(":")
        first, dash, last = seeds.partition("-")
        if dash and first.isdecimal() and last.isdecimal():
            suffix = f":{options}" if options else ""
            names = [f"{kind}:{seed}{suffix}" for seed in range(int(first), int(last) + 1)]
            if names and len(names) <= _MAX_RANDOM:
                return tuple(names)
    if library.is_network_text(name):
        library.graph_of_text(name, "small")  # refuses options that there are not
    elif not Path(name).exists():
        raise InputError(
            "graph: expected the path of a file or folder, all, random:SEED, or one of "
            f"{', '.join(library.NAMES)}; found {name!r}"
        )
    return (name,)


def open_graph(name: str | Graph, size: str) -> Graph:
    """Return a graph of :func:`graphs_from_argument`; ``size`` is that of the library's models."""
    if isinstance(name, Graph):
        return name
    if library.is_network_text(name):
        return library.graph_of_text(name, size)
    return open_source(name).graph


@dataclass(frozen=True, kw_only=True)
class GraphEpisode(ABC):
    """A state as a value, and how it was reached; ``cost`` is that of the result, or of it now."""

    task: GraphTask
    cost: float
    actions: tuple[int, ...] = ()
    status: str = RUNNING
    reward: float = 0.0
    rejection: str = ""
    illegal: int = 0

    @property
    def is_over(self) -> bool:
        """Whether the episode has ended."""
        return self.status != RUNNING

    @property
    @abstractmethod
    def graph(self) -> Graph:
        """The graph that is the result, or would be now."""

    @abstractmethod
    def mask(self) -> tuple[bool, ...]:
        """Return which actions are possible; none after the end."""

    @abstractmethod
    def refusal(self, action: int) -> str:
        """Return why an action is not possible, "" if it is."""

    @abstractmethod
    def meanings(self) -> tuple[str, ...]:
        """Return what every action would do, "" where it is not possible."""

    @abstractmethod
    def after(self, action: int) -> GraphEpisode:
        """Return the state after an action, possible or not."""

    @abstractmethod
    def _at_start(self) -> dict[str, Any]:
        """Return the fields by which a state has the graph of the start."""

    def with_illegal(self, count: int, why: str) -> Self:
        """Return the state after so many impossible actions, with the reward of the last."""
        if count < MOST_ILLEGAL_ACTIONS:
            return replace(self, reward=ILLEGAL_ACTION_REWARD, rejection=why, illegal=count)
        return replace(
            self,
            **self._at_start(),
            cost=self.task.initial_cost,
            status=INVALID_STATUS,
            reward=INVALID_EPISODE_PENALTY,
            rejection=why,
            illegal=count,
        )
