"""Substitution as a process: one rule at one place of the current graph, until nothing is better.

The state is a graph. What can be done to it are *candidates*: a rule and a place where it matches,
in the order of the table of rules and of the places in the graph. Of several that make the same
graph the first counts, what changes nothing is none, and where there are more than ``max_actions``
those are offered that lead to the cheapest graphs, again in their order.

Each action pays what it gains, so that the sum over an episode is what the episode gained:

    reward = (c(g) - c(g')) / c(start)

An action that makes a graph dearer costs as much as it loses; one that leads on to a gain is worth
taking nevertheless. The episode ends with the action that stops it, or after ``max_steps``.

The substitutions that a graph allows, and what each comes to.

They stand in the order of the table of rules, then of the places in the graph. What leads to the
graph itself, or where a substitution before leads, is left out; of more than ``max_actions``,
those stay that lead to the cheapest graphs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from polygym.graphs.envs.task import RUNNING, GraphEpisode, GraphTask
from polygym.graphs.ir.graph import Graph
from polygym.rewrite.rule import Rule
from polygym.rewrite.substitution import TermIndex
from polygym.rewrite.term import Term


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


STOP = 0
"""The action that ends an episode; candidate k is action k + 1."""

_STOPPED, _EXHAUSTED = "stopped", "out of steps"


@dataclass(frozen=True, slots=True)
class SubstitutionOptions:
    """How much is offered and shown, and how long an episode is."""

    max_actions: int = 256
    max_steps: int = 64
    max_nodes: int = 256
    max_edges: int = 768


@dataclass(frozen=True, slots=True)
class AppliedSubstitution:
    """A substitution that was made: the rule, the places as they are written, the cost after it."""

    rule: str
    places: tuple[int, ...]
    cost: float


@dataclass(frozen=True, kw_only=True)
class SubstitutionEpisode(GraphEpisode):
    """State after some substitutions, which ended it, ran out of steps, or was given up."""

    options: SubstitutionOptions
    root: Term
    applied: tuple[AppliedSubstitution, ...] = ()
    previous_root: Term | None = None

    @cached_property
    def graph(self) -> Graph:
        """The graph."""
        return self.task.graph.with_root(self.root)

    @cached_property
    def nodes(self) -> tuple[Term, ...]:
        """The nodes of the graph; places are counted in this order, as its text does."""
        return nodes_in_text_order(self.graph)

    @cached_property
    def _candidates_and_omitted(self) -> tuple[tuple[SubstitutionCandidate, ...], int]:
        if self.is_over:
            return (), 0
        return limited_candidates(self.task, self.root, self.options.max_actions)

    @property
    def candidates(self) -> tuple[SubstitutionCandidate, ...]:
        """The substitutions that are possible; none after the end."""
        return self._candidates_and_omitted[0]

    @property
    def omitted(self) -> int:
        """How many more there would be than are offered."""
        return self._candidates_and_omitted[1]

    def mask(self) -> tuple[bool, ...]:
        """Return which actions are possible; none after the end."""
        if self.is_over:
            return (False,) * (1 + self.options.max_actions)
        count = len(self.candidates)
        return (True, *(place < count for place in range(self.options.max_actions)))

    def refusal(self, action: int) -> str:
        """Return why an action is not possible, "" if it is."""
        if self.is_over:
            return "the episode has ended"
        count = len(self.candidates)
        if action > count:
            return f"there are {count} substitutions, from action 1 on; found action {action}"
        return ""

    def meanings(self) -> tuple[str, ...]:
        """Return what every action would do, "" where it is not possible."""
        texts = [
            f"{candidate.rule.name} at {self.place_text(candidate)}"
            for candidate in self.candidates
        ]
        texts += [""] * (self.options.max_actions - len(texts))
        return ("stop", *texts)

    def place_text(self, candidate: SubstitutionCandidate) -> str:
        """Return the nodes at which a rule matches, by the names that the graph's text has."""
        return ", ".join(f"%{place}" for place in self.places_of(candidate))

    def places_of(self, candidate: SubstitutionCandidate) -> tuple[int, ...]:
        """Return the numbers of the nodes at which a rule matches."""
        return tuple(self._node_numbers[node] for node in candidate.places)

    @cached_property
    def _node_numbers(self) -> dict[Term, int]:
        return {node: place for place, node in enumerate(self.nodes)}

    def after(self, action: int) -> SubstitutionEpisode:
        """Return the state after an action, possible or not."""
        why = self.refusal(action)
        if why:
            return self.with_illegal(self.illegal + 1, why)
        if action == STOP:
            return replace(
                self, status=_STOPPED, actions=(*self.actions, STOP), reward=0.0, rejection=""
            )
        chosen = self.candidates[action - 1]
        taken = AppliedSubstitution(chosen.rule.name, self.places_of(chosen), chosen.cost)
        actions = (*self.actions, action)
        return SubstitutionEpisode(
            task=self.task,
            options=self.options,
            root=chosen.root,
            cost=chosen.cost,
            applied=(*self.applied, taken),
            actions=actions,
            status=RUNNING if len(actions) < self.options.max_steps else _EXHAUSTED,
            reward=(self.cost - chosen.cost) / self.task.initial_cost,
            illegal=self.illegal,
            previous_root=self.root,
        )

    def _at_start(self) -> dict[str, Any]:
        return {"root": self.task.graph.root, "previous_root": self.root}


def start_substitution(task: GraphTask, options: SubstitutionOptions) -> SubstitutionEpisode:
    """Return the state in which nothing has been substituted."""
    return SubstitutionEpisode(
        task=task, options=options, root=task.graph.root, cost=task.initial_cost
    )


def nodes_in_text_order(graph: Graph) -> tuple[Term, ...]:
    """Return the nodes of a graph as its text numbers them: inputs, then others, children first."""
    return (*graph.inputs, *(term for term in graph.nodes() if term.head != "input"))
