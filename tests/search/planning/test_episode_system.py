"""Searches over episodes of schedules: the best of a whole space is found by looking at a part."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from polygym.mdp.episode import Episode
from polygym.mdp.policies.registry import earliest
from polygym.search.planning import PlanningLimits, explore, search
from polygym.search.planning.episode_system import EpisodeSystem, PolicyValue

TRANSPOSED = """void f(double a[64][64], double b[64][64]) {
#pragma scop
  for (int i = 0; i < 64; i++)
    for (int j = 0; j < 64; j++)
      a[j][i] = a[j][i] + b[j][i];
#pragma endscop
}
"""
WHOLE = PlanningLimits(horizon=30, max_states=100_000)


@pytest.fixture(scope="module")
def player(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """An environment on a kernel whose space is small: schedules with coefficients 0 and 1."""
    file: Path = tmp_path_factory.mktemp("kernel") / "f.c"
    file.write_text(TRANSPOSED)
    env = gymnasium.make(
        "polygym:polygym/Schedule-v0", kernel=str(file), reward="static", max_coefficient=1,
        disable_env_checker=True,
    ).unwrapped  # fmt: skip
    env.reset(seed=0)
    return env.fork()  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def best(player: Any) -> float:
    """The least cost of all episodes that there are."""
    seen, is_complete = explore("breadth", EpisodeSystem(player), player.episode, WHOLE)
    assert is_complete
    assert len(seen.states) > 2000
    ends = [cost for state, cost in zip(seen.states, seen.costs, strict=True) if state.is_over]
    assert len(set(ends)) > 3
    assert min(ends) == seen.costs[seen.best] < np.median(ends) < 0
    return min(ends)


def test_astar_and_mcts_find_the_best_schedule_of_all(player: Any, best: float) -> None:
    system = EpisodeSystem(player)
    rng = np.random.default_rng(0)

    def rule(episode: Episode) -> int:
        return earliest(episode, rng)

    hope = PolicyValue(player, rule)
    result = search("astar", system, player.episode, PlanningLimits(30, 700), hope)
    assert result.cost == best
    assert result.states_seen <= 700
    result = search("mcts", system, player.episode, PlanningLimits(30, 1500), hope, seed=1)
    assert result.cost == best
    assert result.best.is_over
    assert player.worth(result.best) == -best


def test_the_way_is_a_way(player: Any) -> None:
    result = search(
        "random", EpisodeSystem(player), player.episode, PlanningLimits(30, 200), seed=2
    )
    at = result.states[0]
    assert at == player.episode
    for step, following in zip(result.steps, result.states[1:], strict=True):
        action = int(np.flatnonzero(player.allowed(at))[step])
        at = player.following(at, action)
        assert at.actions == following.actions
    assert at.schedule() == result.best.schedule()


def test_one_state_whichever_way_it_was_reached(player: Any) -> None:
    """Without merging there are more states, and the same ends."""
    ways = EpisodeSystem(player, lambda episode: episode.actions)
    merged = EpisodeSystem(player)
    by_ways, _ = explore("breadth", ways, player.episode, PlanningLimits(9, 2000))
    by_state, _ = explore("breadth", merged, player.episode, PlanningLimits(9, 2000))
    assert len(by_state.states) <= len(by_ways.states)
    assert {merged.key(state) for state in by_ways.states} == set(by_state.numbers)


def test_what_a_rule_leads_to_is_expected(player: Any) -> None:
    rng = np.random.default_rng(0)
    hope = PolicyValue(player, lambda episode: earliest(episode, rng))
    (row,) = hope([player.episode], 30)
    at, steps = player.episode, 0
    while not at.is_over:
        at, steps = player.following(at, earliest(at, rng)), steps + 1
    assert (row[:steps] == 0).all()
    assert (row[steps:] == player.worth(at)).all()
    assert (hope([at], 30) == 0).all()
    assert EpisodeSystem(player).successors(at) == ()
