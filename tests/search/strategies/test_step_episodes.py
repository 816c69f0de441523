"""Search for good episodes of Transform-v0: what it returns can be played; no step is wasted."""

from __future__ import annotations

from typing import Any

import gymnasium
import pytest

from polygym.envs.base import PolygymEnv
from polygym.mdp.episode import Episode
from polygym.search.strategies.step_episodes import StepEpisodeSearch
from polygym.transformations.parsing import parse_step
from polygym.transformations.steps import Tile


def started(kernel: str) -> PolygymEnv:
    env: Any = gymnasium.make(
        "polygym:polygym/Transform-v0", kernel=kernel, dataset="mini", max_steps=5, max_actions=96
    )
    env.reset(seed=0)
    assert isinstance(env.unwrapped, PolygymEnv)
    return env.unwrapped


def steps_of(episode: Episode) -> tuple[str, ...]:
    state = episode.transform_state
    assert state is not None
    return tuple(map(str, state.steps))


@pytest.mark.parametrize("kernel", ["mvt", "jacobi-1d", "random:9"])
def test_episodes_are_played_step_by_step_and_end(kernel: str) -> None:
    env = started(kernel)
    # Reward: fewer characters of the schedule's text, so that some steps pay and others do not.
    best = StepEpisodeSearch(env.episode, lambda end: -len(str(end.schedule())) / 10).run(80, 4)
    assert best
    for played in best:
        episode = env.episode
        for action in played.episode.actions:
            assert episode.mask()[action]
            episode = env.following(episode, action)
        assert episode.is_over
        assert episode.schedule() == played.episode.schedule()
        assert played.reward == -len(str(episode.schedule())) / 10


def test_steps_that_are_worth_nothing_are_left_out() -> None:
    env = started("mvt")

    def reward_of(end: Episode) -> float:
        """Pay for a tiled first loop alone."""
        state = end.transform_state
        assert state is not None
        return float(any(isinstance(step, Tile) and "L1" in str(step) for step in state.steps))

    best = StepEpisodeSearch(env.episode, reward_of).run(300, 1)
    steps = [text for text in steps_of(best[0].episode) if text != "stop"]
    assert best[0].reward == 1.0
    assert len(steps) == 1
    assert isinstance(parse_step(steps[0]), Tile)


def test_trials_are_a_limit() -> None:
    env, ends = started("mvt"), []

    def reward_of(end: Episode) -> float:
        ends.append(end)
        return float(len(ends))  # every end seems better, so that only the limit stops the search

    StepEpisodeSearch(env.episode, reward_of).run(25, 1)
    searched = 25
    simplified = len(ends) - searched
    assert 0 <= simplified <= 5
