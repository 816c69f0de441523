"""What an episode is about: a graph, what its nodes cost, and the rules that may change it.

An environment is told all three by words, which JSON can carry (``"nasrnn"``, ``"static"``,
``"default"``), or by values; this module makes values of words, and has what is asked about every
graph of an episode: what it costs, and how the cost of its nodes is divided.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import fsum
from pathlib import Path
from typing import Any

from polygym.errors import InputError
from polygym.graphs import library
from polygym.graphs.costs import Costs, Measured, Roofline
from polygym.graphs.envs.groups import Group, divided
from polygym.graphs.ir.domain import TENSORS
from polygym.graphs.ir.graph import Graph
from polygym.graphs.ir.model import Model
from polygym.graphs.rules import load_file, standard
from polygym.graphs.sources import open_source
from polygym.lru import Memory
from polygym.rewrite.domain import Data
from polygym.rewrite.rule import Rule, check_words
from polygym.rewrite.term import Head, Term
from polygym.rewrite.typed import Types

__all__ = [
    "COSTS",
    "DEFAULT_RULES",
    "Prices",
    "Task",
    "costs_named",
    "expect_sound",
    "names_in",
    "open_graph",
    "operator_name",
    "rules_named",
]

COSTS = ("static", "measured")
DEFAULT_RULES = "default"

_MOST_TERMS = 200_000
_MOST_GRAPHS = 256
_INSTANCES = 300


@dataclass(frozen=True)
class Task:
    """A graph, costs and rules; compared by identity, made once for many episodes."""

    name: str
    graph: Graph
    costs: Costs
    rules: tuple[Rule, ...]

    @cached_property
    def groups(self) -> dict[Group, tuple[Rule, ...]]:
        """The rules of every group."""
        return divided(self.rules)

    @cached_property
    def start_operators(self) -> Counter[str]:
        """How many nodes of each operator the graph has; ``concat`` of any count is one."""
        return Counter(operator_name(one.head) for one in self.graph.nodes())

    @cached_property
    def types(self) -> Types:
        """What is known of the data of nodes, shared by all episodes."""
        return Types(TENSORS)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of every rule in the table, by name."""
        return {rule.name: number for number, rule in enumerate(self.rules)}

    @cached_property
    def found(self) -> Memory[Term, Any]:
        """The substitutions that graphs allow, of those that were asked for lately."""
        return Memory(_MOST_GRAPHS)

    @cached_property
    def prices(self) -> Prices:
        """What nodes and graphs cost."""
        return Prices(self.costs, self.types)

    @cached_property
    def initial_cost(self) -> float:
        """What the graph costs as it is.

        Raises:
            InputError: nothing, so that no gain could be relative to it.
        """
        found, _ = self.prices.of_graph(self.graph.root)
        if not found > 0.0:
            raise InputError(
                f"graph {self.name}: expected one that costs something, found the cost {found:g}"
            )
        return found


def operator_name(head: Head) -> str:
    """Return an operator's name, without the count of a concatenation.

    >>> operator_name("concat3"), operator_name("relu")
    ('concat', 'relu')
    """
    name = str(head)
    return "concat" if name.startswith("concat") else name


class Prices:
    """The costs of nodes and of graphs, remembered; equal parts of a graph are paid once."""

    def __init__(self, costs: Costs, types: Types) -> None:
        """Know nothing yet."""
        self._costs, self._types = costs, types
        self._known: dict[Term, float] = {}

    def of_node(self, one: Term) -> float:
        """Return what a node of a graph costs, without its children."""
        found = self._known.get(one)
        if found is None:
            if len(self._known) > _MOST_TERMS:
                self._known.clear()
            types = self._types
            children = tuple(types.of(child) for child in one.children)
            found = self.of_data(one.head, children, types.of(one))
            self._known[one] = found
        return found

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
            one = stack.pop()
            costs.append(self.of_node(one))
            for child in one.children:
                if child.children and child not in seen:
                    seen.add(child)
                    stack.append(child)
        return fsum(costs), len(costs)


class _Measuring:
    """Times of operators, each measured when it is first asked for and not kept from before."""

    def __init__(self, threads: int) -> None:
        self._times = Measured.of_user(threads)

    @property
    def name(self) -> str:
        return self._times.name

    @property
    def unit(self) -> str:
        return self._times.unit

    def cost(self, head: Head, children: tuple[Any, ...], data: Data) -> float:
        self._times.measure([(head, children, data)])
        return self._times.cost(head, children, data)


def costs_named(costs: object, threads: int) -> Costs:
    """Return costs: by name, or as they are given.

    Raises:
        InputError: there are none of that name.
    """
    if costs == "static":
        return Roofline()
    if costs == "measured":
        return _Measuring(threads)
    if not isinstance(costs, str) and hasattr(costs, "cost"):
        return costs  # type: ignore[return-value]
    raise InputError(f"costs: expected one of {', '.join(COSTS)}, found {costs!r}")


def rules_named(rules: object) -> tuple[Rule, ...]:
    """Return the table of rules: polygym's, that of a file, or the one that is given.

    Rules of a file are verified; those that are given as values are taken for sound.

    Raises:
        InputError: the file cannot be read, a rule in it is not sound, two rules have one name, or
            a word is not the domain's.
    """
    found = tuple(_rules(rules))
    names = [one.name for one in found]
    if len(set(names)) != len(names):
        raise InputError("rules: expected different names")
    check_words(found, TENSORS)
    return found


def _rules(rules: object) -> Sequence[Rule]:
    if rules == DEFAULT_RULES:
        return standard()
    if isinstance(rules, str | Path):
        return load_file(Path(rules))
    if isinstance(rules, Sequence) and all(isinstance(one, Rule) for one in rules):
        return rules
    raise InputError(f"rules: expected {DEFAULT_RULES!r}, a file, or rules; found {rules!r}")


@lru_cache(maxsize=1 << 12)
def expect_sound(rule: Rule) -> None:
    """Refuse a rule that is not sound; those of the package are known to be.

    Raises:
        InputError: it is not, which is shown by numbers.
    """
    from polygym.graphs.rules.verify import check

    if rule not in standard():
        check(rule, _INSTANCES)


def names_in(graph: object) -> tuple[str | Graph, ...]:
    """Return the graphs that an argument stands for: names of the library, paths, one value.

    >>> names_in("bert, nasrnn")
    ('bert', 'nasrnn')

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
    return tuple(found for name in names for found in _expanded(name))


def _expanded(name: str) -> tuple[str, ...]:
    if name == "all":
        return library.NAMES
    if name not in library.NAMES and not Path(name).exists():
        raise InputError(
            "graph: expected the path of a file or folder, all, or one of "
            f"{', '.join(library.NAMES)}; found {name!r}"
        )
    return (name,)


def open_graph(name: str | Graph, size: str) -> Graph:
    """Return a graph of :func:`names_in`; ``size`` is that of the library's models."""
    if isinstance(name, Graph):
        return name
    return open_source(f"{name}:{size}" if name in library.NAMES else name).graph
