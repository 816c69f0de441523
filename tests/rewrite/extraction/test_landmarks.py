"""Landmarks: every answer has one of each, and they bound what answers cost."""

from __future__ import annotations

import math
import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.rewrite.extraction.choices import ClassUses, CostAggregation, derive_costs
from polygym.rewrite.extraction.extraction_program import (
    CycleConstraints,
    ExtractionProgram,
    solve_program,
)
from polygym.rewrite.extraction.part_search import (
    ReachableClasses,
    find_landmarks,
    search_part,
    violated_landmarks,
)
from tests.rewrite.extraction.random_choices import answers, least, random_choices
from tests.rewrite.extraction.test_reduction import choices_of


@settings(max_examples=400, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_every_answer_has_one_of_each(seed: int, is_cyclic: bool) -> None:
    choices = random_choices(seed, is_cyclic)
    making = ReachableClasses(choices)
    bound, landmarks = find_landmarks(making.needing, math.inf)
    rng = random.Random(seed)
    order = list(range(len(choices.costs)))
    for _ in range(5):
        rng.shuffle(order)
        landmarks.append(making.minimal_cut(order))
    values = [rng.choice([0.0, 0.25, 0.5, 1.0]) for _ in order]
    wrong = violated_landmarks(making, values)
    assert all(sum(values[node] for node in mark) < 1 for mark in wrong)
    every = [
        (choices.cost(chosen), {chosen[name] for name in choices.reached(chosen)})
        for chosen in answers(choices)
    ]
    for mark in [*landmarks, *wrong]:
        assert all(nodes & set(mark) for _, nodes in every)
    assert bound <= min(cost for cost, _ in every) + 1e-9
    assert (
        bound
        >= derive_costs(making.needing, choices.costs, CostAggregation.DEAREST).values[0] - 1e-6
    )


def test_no_time_no_landmarks() -> None:
    choices = random_choices(1, True)
    making = ReachableClasses(choices)
    values = [0.5] * len(choices.costs)
    late = time.perf_counter()
    assert making.minimal_cut(range(len(values)), late) == ()
    assert violated_landmarks(making, values, late) == []
    assert making.minimal_cut(range(len(values)), math.inf)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_what_is_left_out_is_as_small_as_can_be(seed: int, is_cyclic: bool) -> None:
    choices = random_choices(seed, is_cyclic)
    order = list(range(len(choices.costs)))
    random.Random(seed).shuffle(order)
    mark = set(ReachableClasses(choices).minimal_cut(order))

    def makes_root(nodes: set[int]) -> bool:
        made: set[int] = set()
        while True:
            more = {
                name
                for name, members in enumerate(choices.members)
                for node in members
                if name not in made and node in nodes and made.issuperset(choices.children[node])
            }
            if not more:
                return 0 in made
            made |= more

    inside = set(order) - mark
    assert not makes_root(inside)
    assert all(makes_root(inside | {node}) for node in mark)


def halves() -> tuple[float, float]:
    """Return what fractions cost, and what they do when they obey the landmarks overlooked."""
    choices = choices_of([(0, [1]), (0, [2])], [(0, [2]), (10, [])], [(10, [])])
    model = ExtractionProgram(choices, CycleConstraints.NONE, 1.0)
    answer = solve_program(model.program, 10.0, relaxed=True)
    assert answer.values is not None
    marks = violated_landmarks(ReachableClasses(choices), answer.values[:5])
    assert marks == [(3, 4)]
    model.require(marks[0])
    return answer.lower_bound, solve_program(model.program, 10.0, relaxed=True).lower_bound


def test_fractions_pay_for_half_and_use_it_twice() -> None:
    assert halves() == pytest.approx((5.0, 10.0))


def test_bound_of_two_that_share_nothing_is_their_sum() -> None:
    choices = choices_of([(1, [1, 2])], [(3, [])], [(5, []), (4, [1])])
    assert find_landmarks(ClassUses(choices), math.inf)[0] == 8.0
    assert find_landmarks(ClassUses(choices), time.perf_counter() - 1) == (0.0, [])
    assert derive_costs(ClassUses(choices), choices.costs, CostAggregation.DEAREST).values == [
        6.0,
        3.0,
        5.0,
    ]
    assert derive_costs(ClassUses(choices), choices.costs, CostAggregation.SUM).values == [
        9.0,
        3.0,
        5.0,
    ]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_without_time_it_is_an_answer_and_a_bound(seed: int, is_cyclic: bool) -> None:
    choices = random_choices(seed, is_cyclic)
    part_result = search_part(choices, CycleConstraints.LAZY, time.perf_counter() - 1)
    best = least(choices)
    assert choices.cost(part_result.chosen) >= best - 1e-9
    assert part_result.lower_bound <= best + 1e-9
