"""Extraction by integer programming: the term whose different nodes cost least, proved to.

Greedy's answer comes first, and is what is returned when nothing better is found in time. What
cannot matter is left out, what is certain is taken, and what remains falls into parts that have
nothing to do with each other; each is searched for itself, those that are alike once, and costs and
bounds add up. The time is shared out: a part has as much as every one after it, and what it
leaves over is theirs.

Parts of a choice that have nothing to do with each other.

What is left of a choice (:mod:`polygym.rewrite.extraction.reduction`) has several roots. Classes
belong together if one needs the other; what does not belong together is chosen apart, and the
costs add up. Of a network of blocks, whatever stands between the blocks is required, and each block
is a part: instead of one choice among 2^60, six among 2^10.

Blocks that are built alike make parts that are alike, and those are equal as values: classes are
numbered from the roots on, in order of what is below them. Then one answer serves all.
"""

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polygym.errors import InputError
from polygym.rewrite.egraph.egraph import EGraph
from polygym.rewrite.extraction.choices import (
    ExtractionChoices,
    cost_lower_bound,
    extraction_choices,
)
from polygym.rewrite.extraction.costs import (
    NO_TERM,
    CostFunction,
    Extraction,
    ExtractionStatus,
    NodeClasses,
    cheapest_trees,
    chosen_nodes,
    node_costs,
    term_of_nodes,
)
from polygym.rewrite.extraction.extraction_program import CycleConstraints
from polygym.rewrite.extraction.part_search import COST_TOLERANCE, PartResult, search_part
from polygym.rewrite.extraction.reduction import ClassOption, ReducedChoices, reduce_choices

_TIME_SHARE = 0.25
"""How much of the time goes into making the choice smaller, at most."""


@dataclass(frozen=True, slots=True)
class OptimalChoice:
    """The nodes that cost least together, as far as was found and proved."""

    nodes: tuple[int, ...]
    """The chosen nodes, children first."""
    cost: float
    """Their sum."""
    lower_bound: float
    """What any choice costs at least, as far as was proved."""
    status: ExtractionStatus
    greedy_nodes: tuple[int, ...]
    """Greedy's choice, with which every way begins."""
    cuts: int
    """How many constraints were added for cycles that an answer had."""


def extract_optimally(
    graph: EGraph,
    root: int,
    cost: CostFunction,
    cycles: CycleConstraints = CycleConstraints.LAZY,
    seconds: float = 3600.0,
) -> Extraction:
    """Return the term of a class whose different nodes cost least; the e-graph must be rebuilt.

    >>> from polygym.rewrite.s_expressions import parse_term, term_text
    >>> from polygym.rewrite.domain import TrivialDomain
    >>> graph = EGraph(TrivialDomain())
    >>> root = graph.add_term(parse_term("(pair (left a) (right a))"))
    >>> for side in ("left", "right"):
    ...     one, other = (parse_term(text) for text in (f"({side} a)", f"({side}-of (both a))"))
    ...     _ = graph.union(graph.add_term(one), graph.add_term(other))
    >>> graph.rebuild()
    >>> prices = {"left": 3.0, "right": 3.0, "both": 4.0}
    >>> cost = lambda head, children, data: prices.get(str(head), 0.0)
    >>> found = extract_optimally(graph, root, cost)
    >>> term_text(found.term), found.cost, found.status.value
    ('(pair (left-of (both a)) (right-of (both a)))', 4.0, 'optimal')

    Raises:
        InputError: every term of the class has a node of infinite cost.
    """
    begin = time.perf_counter()
    costs = node_costs(graph, cost)
    left = seconds - (time.perf_counter() - begin)
    choice = choose_optimally(graph, root, costs, cycles, left)
    return Extraction(
        term_of_nodes(graph, choice.nodes),
        choice.cost,
        choice.lower_bound,
        choice.status,
        time.perf_counter() - begin,
        choice.nodes,
        choice.cuts,
        math.fsum(costs[node] for node in choice.greedy_nodes),
    )


def choose_optimally(
    graph: NodeClasses,
    root: int,
    costs: Sequence[float],
    cycles: CycleConstraints = CycleConstraints.LAZY,
    seconds: float = 3600.0,
) -> OptimalChoice:
    """Return the nodes of a class that cost least together, given what each node costs.

    Raises:
        InputError: every choice has a node of infinite cost.
    """
    begin = time.perf_counter()
    deadline = begin + seconds
    root = graph.find(root)
    first, trees = cheapest_trees(graph, costs)
    if root not in first:
        raise InputError(NO_TERM)
    choices = extraction_choices(graph, root, costs, first, trees)
    chosen, bound, status, cuts = choices.of_graph(graph, first), 0.0, ExtractionStatus.OPTIMAL, 0
    if any(len(nodes) > 1 for nodes in choices.members):
        whole = _search_parts(choices, cycles, begin, deadline)
        if choices.cost(whole.chosen) < choices.cost(chosen) * (1 - COST_TOLERANCE):
            chosen, status = whole.chosen, ExtractionStatus.FEASIBLE
        else:
            status = ExtractionStatus.GREEDY
        if whole.is_optimal:
            status = ExtractionStatus.OPTIMAL
        bound, cuts = max(whole.lower_bound, cost_lower_bound(choices)), whole.cuts
    nodes = chosen_nodes(graph, root, choices.in_graph(chosen))
    total = math.fsum(costs[node] for node in nodes)
    bound = total if status is ExtractionStatus.OPTIMAL else min(max(bound, 0.0), total)
    return OptimalChoice(nodes, total, bound, status, chosen_nodes(graph, root, first), cuts)


def _search_parts(
    choices: ExtractionChoices, cycles: CycleConstraints, begin: float, deadline: float
) -> PartResult:
    """Return the best choice found, putting together those of the parts."""
    whole = reduce_choices(choices, begin + (deadline - begin) * _TIME_SHARE)
    taken, bounds, cuts, is_optimal = list(whole.nodes), [whole.cost], 0, True
    known: dict[Any, PartResult] = {}
    parts = independent_parts(whole)
    for place, part in enumerate(parts):
        alike = (part.choices.costs, part.choices.children, part.choices.members)
        part_result = known.get(alike)
        if part_result is None:
            now = time.perf_counter()
            share = (deadline - now) / (len(parts) - place)
            part_result = known[alike] = search_part(part.choices, cycles, now + share)
            cuts += part_result.cuts
        bounds.append(part_result.lower_bound)
        is_optimal = is_optimal and part_result.is_optimal
        for name in part.choices.reached(part_result.chosen):
            taken += part.nodes_taken[part_result.chosen[name]]
    owners = {node: name for name, nodes in enumerate(choices.members) for node in nodes}
    chosen = {owners[node]: node for node in taken}
    return PartResult(chosen, math.fsum(bounds), is_optimal, cuts)


@dataclass(frozen=True, slots=True)
class IndependentPart:
    """Classes that belong together, under a root that needs all of their roots."""

    choices: ExtractionChoices
    nodes_taken: tuple[tuple[int, ...], ...]
    """Node: the nodes of the whole choice that are taken with it."""


def independent_parts(problem: ReducedChoices) -> list[IndependentPart]:
    """Return the parts, the smallest first."""
    names = {name: name for name in problem.options}

    def find(name: int) -> int:
        while names[name] != name:
            names[name] = name = names[names[name]]
        return name

    for name, options in problem.options.items():
        for option in options:
            for child in option.needs:
                names[find(child)] = find(name)
    shapes = _isomorphism_classes(problem.options)
    roots: dict[int, list[int]] = {}
    for root in sorted(problem.roots):
        roots.setdefault(find(root), []).append(root)
    parts = [_make_part(problem.options, shapes, tops) for tops in roots.values()]
    return sorted(parts, key=lambda part: len(part.nodes_taken))


def _isomorphism_classes(options: Mapping[int, tuple[ClassOption, ...]]) -> dict[int, int]:
    """Return a number for each class that is the same for those with the same below them."""
    shapes: dict[int, int] = {}
    for name, class_options in options.items():
        rows = [
            (option.cost, tuple(sorted(shapes.get(child, 0) for child in option.needs)))
            for option in class_options
        ]
        shapes[name] = hash(tuple(sorted(rows)))
    return shapes


def _make_part(
    options: Mapping[int, tuple[ClassOption, ...]], shapes: Mapping[int, int], roots: list[int]
) -> IndependentPart:
    """Return the part of some roots, its classes numbered as they are come to."""
    numbers: dict[int, int] = {}
    order: list[int] = []

    def numbered(needs: Iterable[int]) -> tuple[int, ...]:
        for child in sorted(needs, key=lambda need: (shapes[need], need)):
            if child not in numbers:
                order.append(child)
                numbers[child] = len(order)
        return tuple(sorted(numbers[child] for child in needs))

    costs: list[float] = [0.0]
    children = [numbered(roots)]
    members: list[tuple[int, ...]] = [(0,)]
    taken: list[tuple[int, ...]] = [()]
    for name in order:  # which grows
        class_options = sorted(
            options[name],
            key=lambda class_option: (
                class_option.cost,
                sorted(shapes[child] for child in class_option.needs),
                class_option.nodes,
            ),
        )
        members.append(tuple(range(len(costs), len(costs) + len(class_options))))
        for option in class_options:
            costs.append(option.cost)
            children.append(numbered(option.needs))
            taken.append(option.nodes)
    choices = ExtractionChoices(
        tuple(range(len(costs))),
        tuple(costs),
        tuple(children),
        tuple(members),
        tuple(range(len(members))),
        {},
    )
    return IndependentPart(choices, tuple(taken))
