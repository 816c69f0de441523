"""Costs of nodes, and results of extraction.

A cost is a function of a node's head, its children's data and its own: never less than zero,
infinite for what must not be chosen. A term costs the sum over its *different* nodes, since what is
used twice is computed once.

Greedy extraction: for each class the node whose subtree is cheapest.

A part that is used twice is counted twice here, so that sharing is not seen; the cost of the answer
is then that of its different nodes all the same. Classes are settled in order of their cost, as
Dijkstra settles places, so that a choice only ever leads to classes settled before: no cycle is
chosen, whatever the e-graph has.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from heapq import heappop, heappush
from typing import Protocol, TypeAlias

from polygym.errors import InputError
from polygym.pickling import pickle_by_name
from polygym.rewrite.domain import Data
from polygym.rewrite.egraph.egraph import EGraph
from polygym.rewrite.term import Head, Term, term

CostFunction: TypeAlias = Callable[[Head, tuple[Data, ...], Data], float]


NO_TERM = "extraction: expected a term of finite cost in the root's class, found none"


class NodeClasses(Protocol):
    """Nodes in classes: an e-graph, or what was read of one.

    A node's key is its operator and the classes of its children; a class is called as one of its
    nodes is.
    """

    @property
    def keys(self) -> Sequence[tuple[int, ...]]:
        """Node: its operator and child classes."""

    @property
    def members(self) -> Mapping[int, Sequence[int]]:
        """Class: its nodes."""

    def find(self, class_name: int) -> int:
        """Return the class of a node."""

    def children_of(self, node: int) -> tuple[int, ...]:
        """Return the classes that a node has as children."""


class ExtractionStatus(Enum):
    """How good an answer is."""

    OPTIMAL = "optimal"
    """There is no cheaper one."""
    FEASIBLE = "feasible"
    """The best that was found; the bound says what a cheaper one costs at least."""
    GREEDY = "greedy"
    """Greedy's: nothing better was looked for, or found in time."""


@pickle_by_name
@dataclass(frozen=True, slots=True)
class Extraction:
    """A term of a class."""

    term: Term
    cost: float
    """The sum over its different nodes."""
    lower_bound: float
    """What any term of the class costs at least, as far as was proved."""
    status: ExtractionStatus
    seconds: float
    nodes: tuple[int, ...]
    """The chosen nodes of the e-graph, children first."""
    cuts: int = 0
    """How many constraints were added for cycles that an answer had."""
    greedy_cost: float = math.inf
    """What greedy's term costs, with which every way begins."""


def node_costs(graph: EGraph, cost: CostFunction) -> list[float]:
    """Return the cost of every node, infinite for those that are blacklisted or dead.

    Raises:
        InputError: a cost is below zero, or no number.
    """
    values, numbers, keys, find = graph.types.values, graph.numbers, graph.keys, graph.find
    heads = graph.types.heads
    known: dict[tuple[int, ...], float] = {}
    answer = [math.inf] * len(keys)
    for node, state in enumerate(graph.states):
        if state:
            continue
        key = keys[node]
        question = (numbers[find(node)], key[0], *[numbers[child] for child in key[1:]])
        price = known.get(question)
        if price is None:
            children = tuple(values[number] for number in question[2:])
            price = float(cost(heads[key[0]], children, values[question[0]]))
            if not price >= 0:
                raise InputError(f"the cost of {heads[key[0]]}: expected 0 or more, found {price}")
            known[question] = price
        answer[node] = price
    return answer


def chosen_nodes(graph: NodeClasses, root: int, chosen: Mapping[int, int]) -> tuple[int, ...]:
    """Return the nodes below a class for a choice of a node for each class, children first.

    The choice must have no cycle.
    """
    done: dict[int, None] = {}
    stack = [graph.find(root)]
    while stack:
        name = stack[-1]
        if name in done:
            stack.pop()
            continue
        missing = [child for child in graph.children_of(chosen[name]) if child not in done]
        if missing:
            stack.extend(reversed(missing))
            continue
        done[stack.pop()] = None
    return tuple(chosen[name] for name in done)


def term_of_nodes(graph: EGraph, nodes: Sequence[int]) -> Term:
    """Return the term of the last of some nodes, which come children first."""
    made: dict[int, Term] = {}
    for node in nodes:
        children = (made[child] for child in graph.children_of(node))
        made[graph.find(node)] = term(graph.head_of(node), *children)
    return made[graph.find(nodes[-1])]


def tree_cost(graph: NodeClasses, costs: Sequence[float], nodes: Sequence[int]) -> float:
    """Return the cost of the last of some nodes as a tree; they come children first."""
    trees: dict[int, float] = {}
    for node in nodes:
        below = sum([trees[child] for child in graph.children_of(node)])  # may be infinite
        trees[graph.find(node)] = costs[node] + below
    return trees[graph.find(nodes[-1])]


def extract_greedily(graph: EGraph, root: int, cost: CostFunction) -> Extraction:
    """Return the term of a class whose tree is cheapest; the e-graph must be rebuilt.

    >>> from polygym.rewrite.s_expressions import parse_term, term_text
    >>> from polygym.rewrite.domain import TrivialDomain
    >>> graph = EGraph(TrivialDomain())
    >>> one, other = (graph.add_term(parse_term(text)) for text in ("(mul a 2)", "(shift a 1)"))
    >>> root = graph.union(one, other)
    >>> graph.rebuild()
    >>> cost = lambda head, children, data: 3.0 if head == "mul" else 1.0
    >>> found = extract_greedily(graph, root, cost)
    >>> term_text(found.term), found.cost
    ('(shift a 1)', 3.0)

    Raises:
        InputError: every term of the class has a node of infinite cost.
    """
    begin = time.perf_counter()
    costs = node_costs(graph, cost)
    chosen, _ = cheapest_trees(graph, costs)
    if graph.find(root) not in chosen:
        raise InputError(NO_TERM)
    nodes = chosen_nodes(graph, root, chosen)
    total = math.fsum(costs[node] for node in nodes)
    term = term_of_nodes(graph, nodes)
    seconds = time.perf_counter() - begin
    return Extraction(term, total, 0.0, ExtractionStatus.GREEDY, seconds, nodes, greedy_cost=total)


def cheapest_trees(
    graph: NodeClasses, costs: Sequence[float]
) -> tuple[dict[int, int], dict[int, float]]:
    """Return the node for each class that has a term, and the cost of its tree."""
    keys, find = graph.keys, graph.find
    waiting: dict[int, int] = {}
    users: dict[int, list[int]] = {}
    heap: list[tuple[float, int]] = []
    for node, own in enumerate(costs):
        if own == math.inf:
            continue
        children = dict.fromkeys(keys[node][1:])
        waiting[node] = len(children)
        for child in children:
            users.setdefault(child, []).append(node)
        if not children:
            heappush(heap, (own, node))
    chosen: dict[int, int] = {}
    trees: dict[int, float] = {}
    while heap:
        total, node = heappop(heap)
        name = find(node)
        if name in chosen:
            continue
        chosen[name], trees[name] = node, total
        for user in users.get(name, ()):
            waiting[user] -= 1
            if not waiting[user]:
                tree = costs[user] + sum([trees[child] for child in keys[user][1:]])
                heappush(heap, (tree, user))
    return chosen, trees
