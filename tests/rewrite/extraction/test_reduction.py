"""Choices made smaller: what is left costs the same, whatever was there."""

from __future__ import annotations

import math
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from polygym.rewrite.extraction.choices import ExtractionChoices
from polygym.rewrite.extraction.extraction_program import (
    CycleConstraints,
    ExtractionProgram,
    solve_program,
)
from polygym.rewrite.extraction.ilp_extraction import independent_parts
from polygym.rewrite.extraction.part_search import search_part
from polygym.rewrite.extraction.reduction import reduce_choices
from tests.rewrite.extraction.random_choices import answers, is_acyclic, least, random_choices


def choices_of(*classes: list[tuple[float, list[int]]]) -> ExtractionChoices:
    """Return classes of nodes, each a cost and the classes that it needs; the root comes first."""
    nodes = [node for nodes in classes for node in nodes]
    numbers = iter(range(len(nodes)))
    return ExtractionChoices(
        tuple(range(len(nodes))),
        tuple(cost for cost, _ in nodes),
        tuple(tuple(needs) for _, needs in nodes),
        tuple(tuple(next(numbers) for _ in rows) for rows in classes),
        tuple(range(len(classes))),
        {},
    )


def put_together(choices: ExtractionChoices) -> tuple[float, dict[int, int]]:
    """Return the least cost by way of the parts, each by trying all, and the choice."""
    whole = reduce_choices(choices)
    cost, taken = whole.cost, list(whole.nodes)
    for part in independent_parts(whole):
        best = min(answers(part.choices), key=part.choices.cost)
        cost += part.choices.cost(best)
        for name in part.choices.reached(best):
            taken += part.nodes_taken[best[name]]
    owners = {node: name for name, nodes in enumerate(choices.members) for node in nodes}
    return cost, {owners[node]: node for node in taken}


@settings(max_examples=600, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_the_parts_cost_what_the_whole_costs(seed: int, is_cyclic: bool) -> None:
    choices = random_choices(seed, is_cyclic)
    best = least(choices)
    cost, chosen = put_together(choices)
    assert cost == pytest.approx(best)
    assert is_acyclic(choices, chosen)
    assert choices.cost(chosen) == pytest.approx(best)


@settings(max_examples=200, deadline=None)
@example(15334, True, CycleConstraints.INTEGER)  # of which HiGHS's aggregator loses the optimum
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from(list(CycleConstraints)))
def test_the_search_finds_what_the_program_of_the_whole_finds(
    seed: int, is_cyclic: bool, cycles: CycleConstraints
) -> None:
    choices = random_choices(seed, is_cyclic)
    best = least(choices)
    if cycles is not CycleConstraints.NONE:
        model = ExtractionProgram(choices, CycleConstraints.INTEGER, 1.0)
        assert solve_program(model.program, 10.0).lower_bound == pytest.approx(best, abs=1e-6)
    part_result = search_part(choices, cycles, math.inf)
    assert is_acyclic(choices, part_result.chosen)
    assert part_result.lower_bound <= best * (1 + 1e-6) + 1e-6
    if cycles is not CycleConstraints.NONE or not is_cyclic:
        assert part_result.is_optimal
    if part_result.is_optimal:
        assert choices.cost(part_result.chosen) == pytest.approx(best)


def test_what_every_answer_needs_is_a_root_and_asked_for_no_more() -> None:
    whole = reduce_choices(blocks(2))
    assert whole.roots == {1, 2, 5, 6}, "4 is in every answer, and certain"
    assert {option.needs for option in whole.options[1]} == {frozenset(), frozenset({3})}
    assert sorted(whole.nodes) == [0, 6]


def test_a_root_with_one_node_is_certain() -> None:
    whole = reduce_choices(choices_of([(1, [1, 2])], [(2, [3])], [(3, [3])], [(4, [])]))
    assert (whole.options, sorted(whole.nodes), whole.cost) == ({}, [0, 1, 2, 3], 10)


def test_a_node_goes_beside_one_that_costs_no_more_with_all_that_it_needs() -> None:
    whole = reduce_choices(choices_of([(5, [1]), (2, [2])], [(0, [])], [(1, []), (9, [1])]))
    assert (sorted(whole.nodes), whole.cost) == ([1, 3], 3)
    shared = choices_of([(0, [1, 2])], [(5, []), (1, [3])], [(5, []), (1, [3])], [(7, [])])
    assert len(reduce_choices(shared).options) == 3, "for two it is cheaper, for one dearer"
    assert put_together(shared)[0] == 9


def test_what_two_classes_need_is_not_paid_for_twice() -> None:
    choices = choices_of(
        [(0, [1, 2])], [(6, []), (1, [3])], [(6, []), (1, [3])], [(8, [4])], [(1, []), (0, [1])]
    )
    assert put_together(choices)[0] == least(choices) == 11


def test_circles_are_left_alone() -> None:
    choices = choices_of([(0, [1, 2])], [(9, []), (1, [2])], [(9, []), (1, [1])], [(0, [])])
    whole = reduce_choices(choices)
    assert whole.in_cycles == {1, 2}
    assert [len(whole.options[name]) for name in (1, 2)] == [2, 2]
    assert put_together(choices)[0] == least(choices) == 10


def test_without_time_nothing_is_left_out() -> None:
    choices = random_choices(7, False)
    whole = reduce_choices(choices, time.perf_counter() - 1)
    assert sum(map(len, whole.options.values())) == len(choices.costs)
    assert whole.roots == {0}
    assert (whole.nodes, whole.cost) == ((), 0.0)


def blocks(count: int, dear: float = 8.0) -> ExtractionChoices:
    """Return a chain of blocks: two halves, each for itself or both of one that is dearer."""
    classes: list[list[tuple[float, list[int]]]] = []
    for block in range(count):
        first = 4 * block
        below = [first + 4] if block + 1 < count else []
        classes += [
            [(1, [first + 1, first + 2])],
            [(5, below), (0, [first + 3])],
            [(5, below), (0, [first + 3])],
            [(dear, below)],
        ]
    return choices_of(*classes)


def test_blocks_are_parts_and_alike() -> None:
    parts = independent_parts(reduce_choices(blocks(5)))
    assert len(parts) == 5
    keys = {(part.choices.costs, part.choices.children, part.choices.members) for part in parts}
    assert len(keys) == 1
    assert len({independent_part.nodes_taken for independent_part in parts}) == 5
    cost, chosen = put_together(blocks(5))
    assert (cost, blocks(5).cost(chosen)) == (45, 45)


def test_a_long_chain_is_as_simple_as_a_short_one() -> None:
    choices = blocks(400, dear=8.5)
    whole = reduce_choices(choices)
    parts = independent_parts(whole)
    assert len(parts) == 400
    assert max(len(part.choices.members) for part in parts) == 4
    part_result = search_part(parts[0].choices, CycleConstraints.LAZY, math.inf)
    assert (part_result.is_optimal, parts[0].choices.cost(part_result.chosen)) == (True, 8.5)
