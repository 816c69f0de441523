"""The substitutions that a graph allows, and what each comes to.

They stand in the order of the table of rules, then of the places in the graph. What leads to the
graph itself, or where a substitution before leads, is left out; of more than there is room for,
those stay that lead to the cheapest graphs.
"""

from __future__ import annotations

from dataclasses import dataclass

from polygym.graphs.envs.task import GraphTask
from polygym.rewrite.rule import Rule
from polygym.rewrite.substitution import TermIndex
from polygym.rewrite.term import Term

__all__ = ["SubstitutionCandidate", "all_candidates", "limited_candidates"]


@dataclass(frozen=True, slots=True)
class SubstitutionCandidate:
    """A rule at a place, the graph that it leads to, what that costs, and how many nodes it has.

    ``number`` is the rule's in the table, ``places`` are the nodes of the graph before that the
    rule's sources are.
    """

    number: int
    rule: Rule
    places: tuple[Term, ...]
    root: Term
    cost: float
    nodes: int


def all_candidates(task: GraphTask, root: Term) -> tuple[SubstitutionCandidate, ...]:
    """Return all substitutions that change a graph, each result once."""
    places = TermIndex(root, task.types)
    seen = {root}
    candidates: list[SubstitutionCandidate] = []
    for match in places.matches(task.rules):
        made = places.apply(match)
        if made is None or made in seen:
            continue
        seen.add(made)
        cost, nodes = task.cost_cache.of_graph(made)
        number = task.rule_numbers[match.rule.name]
        candidates.append(SubstitutionCandidate(number, match.rule, match.nodes, made, cost, nodes))
    return tuple(candidates)


def limited_candidates(
    task: GraphTask, root: Term, limit: int
) -> tuple[tuple[SubstitutionCandidate, ...], int]:
    """Return at most so many of the substitutions, and how many more there are."""
    result = task.candidate_cache.get(root, lambda: all_candidates(task, root))
    if len(result) <= limit:
        return result, 0
    order = sorted(range(len(result)), key=lambda place: (result[place].cost, place))
    return tuple(result[place] for place in sorted(order[:limit])), len(result) - limit
