"""Many episodes in one process: as Gymnasium's vector of single environments, and quicker."""

from __future__ import annotations

import time
from typing import Any

import gymnasium
import numpy as np
import pytest

from polygym.envs.vector import PolygymVectorEnv
from polygym.errors import InputError
from tests.envs.episodes import IDS

MIXED = "mvt, gemm, trisolv, jacobi-1d"


def vector(name: str, mode: str | None, count: int = 3, **arguments: Any) -> Any:
    given = {"kernel": MIXED, "reward": "static", "dataset": "mini", **arguments}
    return gymnasium.make_vec(f"polygym:{name}", count, vectorization_mode=mode, **given)


def allowed(masks: np.ndarray[Any, Any], rng: np.random.Generator) -> np.ndarray[Any, Any]:
    return np.array([rng.choice(np.flatnonzero(mask)) for mask in masks])


def same(one: Any, other: Any) -> None:
    assert set(one) == set(other)
    for key, value in one.items():
        if isinstance(value, np.ndarray) and value.dtype != object:
            assert value.dtype == other[key].dtype, key
            assert np.array_equal(value, other[key]), key
        else:
            assert list(value) == list(other[key]), key


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        *((name, {}) for name in IDS),
        (IDS[3], {"start": "isl", "threads": 2}),
        (IDS[2], {"kernel": "gesummv", "max_dimensions": 6}),
        (IDS[0], {"policy": "uniform"}),
    ],
)
def test_it_is_what_single_environments_are_one_by_one(
    name: str, arguments: dict[str, Any]
) -> None:
    ours, theirs = vector(name, None, **arguments), vector(name, "sync", **arguments)
    assert isinstance(ours, PolygymVectorEnv)
    assert not isinstance(theirs, PolygymVectorEnv)
    assert ours.single_observation_space == theirs.single_observation_space
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    assert ours.metadata["autoreset_mode"] == theirs.metadata["autoreset_mode"]
    observation, info = ours.reset(seed=4)
    other, their_info = theirs.reset(seed=4)
    same(observation, other)
    same(info, their_info)
    rng, ends = np.random.default_rng(0), 0
    for _ in range(260):
        actions = allowed(info["action_mask"], rng)
        observation, rewards, over, truncated, info = ours.step(actions)
        other, their_rewards, their_over, their_truncated, their_info = theirs.step(actions)
        same(observation, other)
        same(info, their_info)
        assert ours.observation_space.contains(observation)
        assert rewards.dtype == their_rewards.dtype
        assert np.array_equal(rewards, their_rewards)
        assert np.array_equal(over, their_over)
        assert np.array_equal(truncated, their_truncated)
        assert np.array_equal(ours.action_masks(), info["action_mask"].astype(bool))
        ends += int(over.sum())
    assert ends >= 3
    ours.close()
    theirs.close()


def test_forbidden_actions_cost_what_they_cost() -> None:
    ours, theirs = vector(IDS[2], None), vector(IDS[2], "sync")
    ours.reset(seed=0)
    theirs.reset(seed=0)
    rng = np.random.default_rng(1)
    for _ in range(300):
        actions = rng.integers(ours.single_action_space.n, size=3)
        one, other = ours.step(actions), theirs.step(actions)
        same(one[0], other[0])
        assert np.array_equal(one[1], other[1])
        assert np.array_equal(one[2], other[2])


def test_what_is_returned_stays_what_it_was() -> None:
    envs = vector(IDS[2], None)
    first, info = envs.reset(seed=0)
    kept = {name: array.copy() for name, array in first.items()}
    rng = np.random.default_rng(0)
    for _ in range(20):
        _, _, _, _, info = envs.step(allowed(info["action_mask"], rng))
    same(first, kept)


def test_measured_ends_are_said() -> None:
    envs = vector(IDS[0], None, 2, kernel="mvt", reward="speedup")
    _, info = envs.reset(seed=0)
    rng = np.random.default_rng(0)
    while not (over := envs.step(allowed(info["action_mask"], rng)))[2].any():
        info = over[4]
    _, rewards, ended, _, info = over
    (place,) = np.flatnonzero(ended)[:1]
    assert info["_status"][place]
    assert info["status"][place] == "ok"
    assert info["speedup"][place] == rewards[place] > 0


def test_what_makes_no_vector_is_refused() -> None:
    with pytest.raises(InputError, match="num_envs: expected a number from 1 on"):
        vector(IDS[2], None, 0)
    envs = vector(IDS[2], None)
    with pytest.raises(InputError, match="seed: expected 3 of them, found 2"):
        envs.reset(seed=[1, 2])
    envs.reset(seed=[1, None, 3])
    shapes: tuple[Any, ...] = (0, None, [0], [[0, 0, 0]], "abc")
    for shape in shapes:
        with pytest.raises(InputError, match="actions: expected 3 side by side, found the shape"):
            envs.step(shape)
    for wrong in ([0, 0, 6], [0, -1, 0], [0.0, 0.0, 0.0], [True, False, True]):
        with pytest.raises(InputError, match="actions: expected integers from 0 to 5"):
            envs.step(np.array(wrong))


@pytest.mark.timing
def test_it_is_quicker_than_one_by_one() -> None:
    made = [vector(IDS[2], mode, 8, kernel="gemm") for mode in (None, "sync")]

    def seconds(envs: Any) -> float:
        _, info = envs.reset(seed=0)
        rng, spent = np.random.default_rng(0), 0.0
        for _ in range(120):
            actions = allowed(info["action_mask"], rng)
            began = time.process_time()
            _, _, _, _, info = envs.step(actions)
            spent += time.process_time() - began
        return spent

    # In turn, and the first time does not count: it pays for the spaces of the program.
    rounds = [[seconds(envs) for envs in made] for _ in range(5)][1:]
    ours, theirs = (min(column) for column in zip(*rounds, strict=True))
    assert ours < theirs
