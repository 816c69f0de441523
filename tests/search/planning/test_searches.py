"""The searches on small systems: against brute force, within their limits, the same every time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygym.errors import InputError
from polygym.search.planning import ALGORITHMS, PlanningLimits, explore, search
from polygym.search.planning.protocol import Values
from polygym.search.planning.search_graph import SearchGraph
from tests.search.planning.systems import Graph, RandomGraph

STRAIGHT = Graph({"a": "bc", "b": "d", "c": "", "d": ""}, {"a": 4, "b": 5, "c": 3.5, "d": 3})


@given(st.integers(0, 10_000), st.integers(1, 6))
def test_what_sees_everything_finds_the_best(seed: int, horizon: int) -> None:
    system = RandomGraph(seed)
    best = min(system.cost(state) for state in system.within(0, horizon))
    for name in ("astar", "greedy", "breadth"):
        result = search(name, system, 0, PlanningLimits(horizon, 1000))
        assert result.is_complete
        assert result.cost == best == system.cost(result.best)


@given(st.integers(0, 10_000), st.integers(1, 6), st.sampled_from(sorted(ALGORITHMS)))
def test_the_way_is_a_way(seed: int, horizon: int, name: str) -> None:
    system = RandomGraph(seed)
    result = search(name, system, 0, PlanningLimits(horizon, 30), seed=seed)
    assert result.states[0] == 0
    assert len(result.steps) == len(result.states) - 1 <= horizon
    for step, state, other in zip(result.steps, result.states[:-1], result.states[1:], strict=True):
        assert system.successors(state)[step] == other
    assert result.cost == system.cost(result.best) <= result.initial_cost == system.cost(0)
    assert result.states_seen <= 30
    assert result == search(name, system, 0, PlanningLimits(horizon, 30), seed=seed)


@given(st.integers(0, 10_000), st.integers(1, 5), st.sampled_from(sorted(ALGORITHMS)))
def test_no_state_is_counted_with_more_steps_than_it_has(
    seed: int, horizon: int, name: str
) -> None:
    system = RandomGraph(seed)
    seen, _ = explore(name, system, 0, PlanningLimits(horizon, 1000), seed=seed)
    for state, left in zip(seen.states, seen.steps_left, strict=True):
        assert state in system.within(0, horizon - left)
        if name == "breadth":
            assert left == horizon or state not in system.within(0, horizon - left - 1)


@given(st.integers(0, 10_000), st.integers(1, 5))
def test_targets_are_what_could_have_been_reached(seed: int, horizon: int) -> None:
    system = RandomGraph(seed, 15)
    seen, _ = explore("breadth", system, 0, PlanningLimits(20, 1000))
    seen.horizon = horizon
    targets = seen.targets()
    assert targets.shape == (len(seen.states), horizon + 1)
    for row, state in zip(targets, seen.states, strict=True):
        for left, target in enumerate(row):
            best = min(system.cost(reached) for reached in system.within(state, left))
            assert target == system.cost(state) - best


def test_a_state_is_opened_again_with_more_steps_left() -> None:
    """The cheap way to c is long, the dear one short: only by that is d within the horizon."""
    system = Graph(
        {"a": "bx", "b": "c", "x": "y", "y": "c", "c": "d"},
        {"a": 9, "x": 1, "y": 1, "b": 8, "c": 7, "d": 0},
    )
    result = search("greedy", system, "a", PlanningLimits(3, 100, batch=1))
    assert result.states == ("a", "b", "c", "d")
    assert result.is_complete


def test_the_best_first() -> None:
    system = Graph({"a": "bc", "b": "e", "c": "d"}, {"a": 4, "b": 3, "c": 3.5, "d": 1, "e": 2})
    search("greedy", system, "a", PlanningLimits(5, 100, batch=1))
    assert system.asked[:3] == ["a", "b", "e"]


class Knowing:
    """Expects 9 behind b, and nothing elsewhere."""

    def __init__(self) -> None:
        self.batches: list[int] = []

    def __call__(self, states: Sequence[str], horizon: int) -> Values:
        self.batches.append(len(states))
        array = np.zeros((len(states), horizon + 1))
        array[[state == "b" for state in states], 1:] = 9.0
        return array


def test_a_value_function_leads() -> None:
    value, system = Knowing(), Graph(STRAIGHT.following, STRAIGHT.costs)
    result = search("astar", system, "a", PlanningLimits(5, 100, batch=1), value)
    assert system.asked[:2] == ["a", "b"]
    assert result.best == "d"
    assert sum(value.batches) == result.states_seen == 4


def test_values_are_asked_for_in_batches() -> None:
    class Zero:
        def __init__(self) -> None:
            self.batches: list[int] = []

        def __call__(self, states: Sequence[int], horizon: int) -> Values:
            self.batches.append(len(states))
            return np.zeros((len(states), horizon + 1))

    value, system = Zero(), RandomGraph(3, 200)
    search("astar", system, 0, PlanningLimits(20, 1000, batch=16), value)
    assert value.batches[0] == 1
    # 1, then 3, then at most 9: as long as nothing else waits there is no more to ask for.
    assert all(count >= 16 for count in value.batches[3:6])
    for name in ("mcts", "beam"):
        assert search(name, system, 0, PlanningLimits(4, 100), value).states_seen <= 100


def test_a_value_function_of_the_wrong_shape() -> None:
    def wrong(states: Sequence[str], horizon: int) -> Values:
        return np.zeros((len(states), horizon))

    with pytest.raises(InputError, match="expected 1 rows of 6 numbers, found the shape"):
        search("astar", STRAIGHT, "a", PlanningLimits(5), wrong)


def test_the_horizon_is_kept() -> None:
    assert search("astar", STRAIGHT, "a", PlanningLimits(1)).best == "c"
    assert search("astar", STRAIGHT, "a", PlanningLimits(2)).best == "d"


def test_a_beam_keeps_the_best_few() -> None:
    from polygym.search.planning.simple_searches import beam

    narrow = beam(STRAIGHT, "a", PlanningLimits(5), width=1)
    assert narrow.states == ["a", "b", "c"]  # of c nothing follows
    assert beam(STRAIGHT, "a", PlanningLimits(5), width=2).result().best == "d"


def test_nothing_follows() -> None:
    system = Graph({}, {"a": 1})
    for name in ALGORITHMS:
        result = search(name, system, "a", PlanningLimits(5, 50))
        assert (result.best, result.steps, result.cost) == ("a", (), 1)


def test_simulations_find_what_is_behind_a_rise() -> None:
    for seed in range(3):
        assert search("mcts", STRAIGHT, "a", PlanningLimits(5, 50), seed=seed).best == "d"


@pytest.mark.parametrize(("name", "value"), [("horizon", 0), ("max_states", -1), ("batch", True)])
def test_plans_are_positive(name: str, value: int) -> None:
    with pytest.raises(InputError, match=f"a search's {name}: expected 1 or more"):
        PlanningLimits(**{name: value})


def test_searches_that_there_are_not() -> None:
    with pytest.raises(InputError, match="expected one of astar, mcts, greedy"):
        search("best", STRAIGHT, "a")


def test_equal_costs_are_settled_by_fewer_steps() -> None:
    seen = SearchGraph(STRAIGHT, 5)
    seen.add("b", 3)
    seen.add("a", 1)
    assert seen.best == 1
