"""E-graphs of the shapes that suites of extraction problems have, from a seed.

============= ====================================================================================
shape         what it is like
============= ====================================================================================
expressions   random arithmetic, saturated with associativity and distributivity; cycles kept
circuits      random gates and inverters, saturated with De Morgan's rules; cycles kept
sets          set cover: an element can be had from each set that has it; no cycles
clauses       MaxSAT: a variable is one of two literals, an unsatisfied clause is paid for
MODEL-K       the library's model saturated with K rounds of rules of several results, cycles kept
============= ====================================================================================
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from polygym.graphs import library
from polygym.graphs.costs import RooflineCosts
from polygym.graphs.ir.domain import TENSOR_DOMAIN
from polygym.graphs.rules import standard_rules
from polygym.rewrite.domain import TrivialDomain
from polygym.rewrite.egraph import CycleFilter, EGraph, SaturationLimits, saturate
from polygym.rewrite.egraph.serialized import egraph_document
from polygym.rewrite.extraction.costs import node_costs
from polygym.rewrite.rule import parse_rules
from polygym.rewrite.term import term

__all__ = ["SHAPES", "model_egraph", "shaped_egraph"]

_ARITHMETIC = """
add-commutes: (+ ?x ?y) => (+ ?y ?x)
mul-commutes: (* ?x ?y) => (* ?y ?x)
add-associates: (+ ?x (+ ?y ?z)) <=> (+ (+ ?x ?y) ?z)
mul-associates: (* ?x (* ?y ?z)) <=> (* (* ?x ?y) ?z)
distributes: (* ?x (+ ?y ?z)) <=> (+ (* ?x ?y) (* ?x ?z))
square-root: (* (sqrt ?x) (sqrt ?y)) => (sqrt (* ?x ?y))
square: (* (sqrt ?x) (sqrt ?x)) => ?x
twice: (+ ?x ?x) <=> (* 2 ?x)
one: (* ?x 1) => ?x
"""
_GATES = """
and-commutes: (* ?x ?y) => (* ?y ?x)
or-commutes: (+ ?x ?y) => (+ ?y ?x)
and-associates: (* ?x (* ?y ?z)) <=> (* (* ?x ?y) ?z)
distributes: (* ?x (+ ?y ?z)) <=> (+ (* ?x ?y) (* ?x ?z))
not-and: (! (* ?x ?y)) <=> (+ (! ?x) (! ?y))
not-or: (! (+ ?x ?y)) <=> (* (! ?x) (! ?y))
not-not: (! (! ?x)) => ?x
and-same: (* ?x ?x) => ?x
absorbs: (+ ?x (* ?x ?y)) => ?x
"""

_Nodes = dict[str, dict[str, Any]]


class _Builder:
    """Nodes of a document, named after their classes."""

    def __init__(self) -> None:
        self.nodes: _Nodes = {}
        self._counts: dict[int, int] = {}

    def add(self, name: int, operator: str, cost: float, *children: int) -> None:
        """Add a node of a class; children are classes, each of which has a node in the end."""
        place = self._counts.get(name, 0)
        self._counts[name] = place + 1
        needs = [f"{child}.0" for child in children]
        self.nodes[f"{name}.{place}"] = {
            "op": operator,
            "children": needs,
            "eclass": str(name),
            "cost": cost,
        }

    def document(self, *roots: int) -> dict[str, Any]:
        return {"nodes": self.nodes, "root_eclasses": [str(root) for root in roots]}


def _expressions(rng: np.random.Generator, nodes: int) -> dict[str, Any]:
    operators = (("+", 2), ("*", 2), ("+", 2), ("*", 2), ("sqrt", 1))
    leaves = [f"x{place}" for place in range(4)] + ["1", "2"]
    costs = {"+": 1.0, "-": 1.0, "*": 1.0, "/": 8.0, "sqrt": 15.0}
    return _saturated(rng, nodes, operators, leaves, _ARITHMETIC, costs)


def _circuits(rng: np.random.Generator, nodes: int) -> dict[str, Any]:
    leaves = [f"i{place}" for place in range(10)]
    operators = (("*", 2), ("+", 2), ("*", 2), ("+", 2), ("!", 1))
    return _saturated(rng, nodes, operators, leaves, _GATES, {"*": 2.0, "+": 4.0, "!": 1.0})


def _saturated(
    rng: np.random.Generator,
    nodes: int,
    operators: Sequence[tuple[str, int]],
    leaves: Sequence[str],
    rules: str,
    costs: Mapping[str, float],
) -> dict[str, Any]:
    """Return what the rules make of random terms that share parts, until it is large enough."""
    parts = [term(name) for name in leaves]
    for place in range(max(20, nodes // 40)):
        name, arity = operators[int(rng.integers(len(operators)))]
        near = rng.integers(max(0, place - 30), len(parts), arity)
        parts.append(term(name, *(parts[int(child)] for child in near)))
    graph = EGraph(TrivialDomain())
    roots = [graph.add_term(part) for part in parts[-3:]]
    limits = SaturationLimits(nodes=nodes, iterations=30)
    saturate(graph, parse_rules(rules), limits, CycleFilter.NONE)
    prices = node_costs(graph, lambda head, children, data: costs.get(str(head), 0.1))
    return egraph_document(graph, roots, prices)


def _sets(rng: np.random.Generator, nodes: int) -> dict[str, Any]:
    made = _Builder()
    elements = max(4, nodes // 12)
    sets = max(4, elements // 2)
    for name in range(sets):
        made.add(name, f"set{name}", float(rng.integers(1, 20)))
    for name in range(sets, sets + elements):
        for child in rng.choice(sets, min(sets, 2 + int(rng.poisson(8))), replace=False):
            made.add(name, "element", 0.0, int(child))
    made.add(sets + elements, "all", 0.0, *range(sets, sets + elements))
    return made.document(sets + elements)


def _clauses(rng: np.random.Generator, nodes: int) -> dict[str, Any]:
    made = _Builder()
    variables = max(4, nodes // 16)
    clauses = max(4, nodes // 4)
    for name in range(2 * variables):
        made.add(name, "literal", float(rng.integers(1, 4)))
    for name in range(2 * variables, 2 * variables + clauses):
        chosen = rng.choice(2 * variables, 3, replace=False)
        for child in chosen:
            made.add(name, "satisfied", 0.0, int(child))
        made.add(name, "not satisfied", float(rng.integers(1, 9)))
    root = 2 * variables + clauses
    made.add(root, "all", 0.0, *range(2 * variables, root))
    return made.document(root)


SHAPES: Mapping[str, Callable[[np.random.Generator, int], dict[str, Any]]] = {
    "expressions": _expressions,
    "circuits": _circuits,
    "sets": _sets,
    "clauses": _clauses,
}
"""The shapes that are made of random numbers."""


def shaped_egraph(shape: str, nodes: int, seed: int) -> dict[str, Any]:
    """Return the document of an e-graph of about so many nodes."""
    return SHAPES[shape](np.random.default_rng([seed, nodes]), nodes)


def model_egraph(model: str, k_multi: int, nodes: int) -> dict[str, Any]:
    """Return the document of a library model's e-graph, its cycles kept; costs are static."""
    graph = EGraph(TENSOR_DOMAIN)
    root = graph.add_term(library.graph(model, "paper").root)
    limits = SaturationLimits(nodes=nodes, k_multi=k_multi, iterations=8)
    saturate(graph, standard_rules(), limits, CycleFilter.NONE)
    costs = RooflineCosts()
    prices = node_costs(
        graph, lambda head, children, data: costs.cost(head, children, data) if children else 0.0
    )
    assert any(price < math.inf for price in prices)
    return egraph_document(graph, [root], prices)
