"""The search for good decisions: every draft can be played, and more trials are never worse."""

from __future__ import annotations

from itertools import product
from typing import Any

import gymnasium
import numpy as np
import pytest

from polygym.envs.base import PolygymEnv
from polygym.mdp.task_options import Phase
from polygym.search.strategies.decision_search import DecisionSearch, Draft, questions_of

pytest.importorskip("lightgbm")


def started(kernel: str, **others: Any) -> PolygymEnv:
    env = gymnasium.make(
        "polygym:polygym/Optimize-v0", kernel=kernel, dataset="mini", reward="log_model",
        start="original", adopt=False, mapping="sequential", threads=2, features=False, **others,
    )  # fmt: skip
    env.reset(seed=0)
    assert isinstance(env.unwrapped, PolygymEnv)
    return env.unwrapped


def search_of(kernel: str, rng: np.random.Generator) -> DecisionSearch:
    env = started(kernel)
    return DecisionSearch(env.episode, env.worth, rng)


def test_no_decisions_are_the_original_order() -> None:
    played = search_of("gemm", np.random.default_rng(0)).play(Draft())
    assert played.reward == 0.0
    assert played.episode.phase is Phase.COMPLETE
    assert len(played.episode.actions) == 2  # edit no more, the default for all


@pytest.mark.parametrize("kernel", ["mvt", "jacobi-1d", "tc:matmul", "random:9"])
def test_more_trials_find_no_less_and_the_same_again(kernel: str) -> None:
    env = started(kernel)
    few, many, again = (
        DecisionSearch(env.episode, env.worth, np.random.default_rng(5)).run(trials, 3)
        for trials in (1, 60, 60)
    )
    assert [played.episode.actions for played in many] == [
        played.episode.actions for played in again
    ]
    assert many[0].reward >= few[0].reward - 0.005
    assert [played.reward for played in many] == sorted(
        (played.reward for played in many), reverse=True
    )
    for played in many:
        episode = env.episode
        for action in played.episode.actions:
            assert episode.mask()[action]
            episode = env.following(episode, action)
        assert episode.is_over
        assert env.worth(episode) == played.reward


def test_what_is_worth_nothing_is_not_decided() -> None:
    """Nothing can be left out of a simplified draft without a loss."""
    search = search_of("mvt", np.random.default_rng(1))
    best, *_ = search.run(150, 1)
    assert best.draft.answers
    for question in best.draft.answers:
        left = {key: value for key, value in best.draft.answers.items() if key != question}
        assert search.play(Draft(best.draft.edits, left)).reward < best.reward


def test_it_finds_the_best_of_a_small_space() -> None:
    """Every answer to the questions about vectors and copies, by brute force."""
    search = search_of("jacobi-1d", np.random.default_rng(0))
    questions = dict(questions_of(search.play(Draft())))
    vectors = [question for question in questions if question.kind.name in ("vector", "jam")]
    menus = [[None, *questions[question]] for question in vectors]
    best = 0.0
    for values in product(*menus):
        chosen = zip(vectors, values, strict=True)
        answers = {question: value for question, value in chosen if value is not None}
        best = max(best, search.play(Draft((), answers)).reward)
    found, *_ = search.run(600, 1)
    assert found.reward >= best - 0.005 * max(1.0, best)
