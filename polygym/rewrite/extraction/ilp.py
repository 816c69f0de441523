"""Extraction by integer programming: the term whose different nodes cost least, proved to.

Greedy's answer comes first, and is improved by a local search: it is where the solver starts, and
what is returned when nothing better is found in time. What the solver says is a hint: its choice is
followed from the root, its cost is summed anew, and a choice with a cycle is no answer; then the
cycle is forbidden and the solver asked again, while there is time (unless cycles were said not to
be looked after).
"""

from __future__ import annotations

import math
import time

from polygym.errors import InputError
from polygym.rewrite.egraph.egraph import EGraph
from polygym.rewrite.extraction.bounding import at_least
from polygym.rewrite.extraction.choices import Choices, choices_of
from polygym.rewrite.extraction.costs import (
    Cost,
    Extraction,
    Status,
    extracted,
    node_costs,
)
from polygym.rewrite.extraction.greedy import cheapest_trees
from polygym.rewrite.extraction.improving import improved
from polygym.rewrite.extraction.model import CycleConstraints, Model
from polygym.rewrite.extraction.solver import solve

__all__ = ["ilp"]

_SCALED = 1000.0
"""What greedy's answer costs for the solver, whose tolerances are absolute."""
_SHARE = 0.25
"""How much of the time goes into a better start, at most."""
_NOTHING = 1e-9
"""What difference between costs is none, relative to them."""


def ilp(
    graph: EGraph,
    root: int,
    cost: Cost,
    cycles: CycleConstraints = CycleConstraints.LAZY,
    seconds: float = 3600.0,
) -> Extraction:
    """Return the term of a class whose different nodes cost least; the e-graph must be rebuilt.

    >>> from polygym.rewrite.expressions import parse_term, text_of
    >>> from polygym.rewrite.plain import Plain
    >>> graph = EGraph(Plain())
    >>> root = graph.add_term(parse_term("(pair (left a) (right a))"))
    >>> for side in ("left", "right"):
    ...     one, other = (parse_term(text) for text in (f"({side} a)", f"({side}-of (both a))"))
    ...     _ = graph.union(graph.add_term(one), graph.add_term(other))
    >>> graph.rebuild()
    >>> prices = {"left": 3.0, "right": 3.0, "both": 4.0}
    >>> found = ilp(graph, root, lambda head, children, data: prices.get(str(head), 0.0))
    >>> text_of(found.term), found.cost, found.status.value
    ('(pair (left-of (both a)) (right-of (both a)))', 4.0, 'optimal')

    Raises:
        InputError: every term of the class has a node of infinite cost.
    """
    begin = time.perf_counter()
    deadline = begin + seconds
    root = graph.find(root)
    costs = node_costs(graph, cost)
    first, trees = cheapest_trees(graph, costs)
    if root not in first:
        raise InputError(
            "extraction: expected a term of finite cost in the root's class, found none"
        )
    choices = choices_of(graph, root, costs, first, trees)
    chosen, bound, status, cuts = choices.of_graph(graph, first), 0.0, Status.OPTIMAL, 0
    if any(len(nodes) > 1 for nodes in choices.members):
        better = improved(choices, chosen, begin + seconds * _SHARE)
        is_better = choices.cost(better) < choices.cost(chosen) * (1 - _NOTHING)
        chosen, bound, status, cuts = _search(choices, better, cycles, deadline)
        if is_better and status is Status.GREEDY:
            status = Status.FEASIBLE
        bound = max(bound, at_least(choices))
    found, nodes = extracted(graph, root, choices.in_graph(chosen))
    total = math.fsum(costs[node] for node in nodes)
    bound = total if status is Status.OPTIMAL else min(max(bound, 0.0), total)
    return Extraction(found, total, bound, status, time.perf_counter() - begin, nodes, cuts)


def _search(
    choices: Choices, start: dict[int, int], cycles: CycleConstraints, deadline: float
) -> tuple[dict[int, int], float, Status, int]:
    """Return the best choice found, a bound, how good it is, and how many cuts it took."""
    best, least = start, choices.cost(start)
    scale = _SCALED / least
    model = Model(choices, cycles, scale)
    bound, status, cuts = 0.0, Status.GREEDY, 0
    while True:
        answer = solve(model.program, deadline - time.perf_counter(), model.start(best))
        bound = max(bound, answer.bound / scale)
        chosen = None if answer.values is None else model.chosen(answer.values)
        if chosen is None:
            return best, bound, status, cuts
        loops = model.cycles_of(chosen) if model.has_cycles else []
        if not loops:
            cost = choices.cost(chosen)
            if cost < least * (1 - _NOTHING):
                best, status = chosen, Status.FEASIBLE
            return best, bound, Status.OPTIMAL if answer.is_optimal else status, cuts
        if cycles is CycleConstraints.NONE:
            return best, bound, status, cuts
        for loop in loops:
            model.forbid(loop)
        cuts += len(loops)
