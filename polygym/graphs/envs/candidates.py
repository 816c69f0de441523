"""The substitutions that a graph allows, and what each comes to.

They stand in the order of the table of rules, then of the places in the graph. What leads to the
graph itself, or where a substitution before leads, is left out; of more than there is room for,
those stay that lead to the cheapest graphs.
"""

from __future__ import annotations

from dataclasses import dataclass

from polygym.graphs.envs.task import Task
from polygym.rewrite.places import Places
from polygym.rewrite.rule import Rule
from polygym.rewrite.term import Term

__all__ = ["Candidate", "candidates", "offered"]


@dataclass(frozen=True, slots=True)
class Candidate:
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


def candidates(task: Task, root: Term) -> tuple[Candidate, ...]:
    """Return all substitutions that change a graph, each result once."""
    places = Places(root, task.types)
    seen = {root}
    found: list[Candidate] = []
    for match in places.matches(task.rules):
        made = places.apply(match)
        if made is None or made in seen:
            continue
        seen.add(made)
        cost, nodes = task.prices.of_graph(made)
        number = task.numbers[match.rule.name]
        found.append(Candidate(number, match.rule, match.where, made, cost, nodes))
    return tuple(found)


def offered(task: Task, root: Term, most: int) -> tuple[tuple[Candidate, ...], int]:
    """Return at most so many of the substitutions, and how many more there are."""
    found = task.found.get(root, lambda: candidates(task, root))
    if len(found) <= most:
        return found, 0
    order = sorted(range(len(found)), key=lambda place: (found[place].cost, place))
    return tuple(found[place] for place in sorted(order[:most])), len(found) - most
