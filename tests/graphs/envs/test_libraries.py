"""Vectors, wrappers and agents of other libraries, without glue code."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import (
    FlattenObservation,
    NormalizeReward,
    RecordEpisodeStatistics,
    TimeLimit,
)

from tests.graphs.envs.episodes import SATURATE, SUBSTITUTE, every_id, played

ARGUMENTS = {
    SATURATE: {"graph": "bert,vgg19", "max_nodes": 300, "max_steps": 4},
    SUBSTITUTE: {"graph": "bert,vgg19", "max_nodes": 64, "max_actions": 32, "max_steps": 4},
}


def last_allowed(masks: Any) -> np.ndarray[Any, Any]:
    return np.array([np.flatnonzero(mask)[-1] for mask in masks])


@every_id
@pytest.mark.parametrize(
    ("mode", "extra"), [(None, {}), ("sync", {}), ("async", {"context": "spawn"})]
)
def test_gymnasium_vectors(name: str, mode: str | None, extra: dict[str, str]) -> None:
    envs = gymnasium.make_vec(
        f"polygym:{name}",
        num_envs=2,
        vectorization_mode=mode,
        vector_kwargs=extra,
        **ARGUMENTS[name],
    )
    observation, info = envs.reset(seed=1)
    over, ended = np.zeros(2, bool), 0
    for number in range(12):
        masks = info["action_mask"] if number % 2 else observation["action_mask"]
        assert masks[over].all()
        observation, _, over, _, info = envs.step(last_allowed(masks))
        ended += int(over.sum())
    assert ended >= 4
    assert not any(info["refused"])
    envs.close()


def test_stable_baselines_vectors() -> None:
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import SubprocVecEnv

    envs = make_vec_env(
        f"polygym:{SUBSTITUTE}",
        n_envs=2,
        env_kwargs=ARGUMENTS[SUBSTITUTE],
        vec_env_cls=SubprocVecEnv,
        vec_env_kwargs={"start_method": "fork"},
        seed=0,
    )
    observation = envs.reset()
    statuses: list[str] = []
    while len(statuses) < 3:
        masks = np.stack(envs.env_method("action_masks"))
        assert np.array_equal(masks, observation["action_mask"].astype(bool))
        observation, _, over, infos = envs.step(last_allowed(masks))
        statuses += [info["status"] for info, end in zip(infos, over, strict=True) if end]
    assert set(statuses) <= {"stopped", "out of steps"}
    envs.close()


@every_id
def test_statistics_are_those_of_the_episode(name: str) -> None:
    env = RecordEpisodeStatistics(wrapped(name))
    for seed in range(3):
        steps = list(played(env, seed))
        *_, info = steps[-1]
        assert info["episode"]["r"] == pytest.approx(sum(step[2] for step in steps), abs=1e-6)
        assert info["episode"]["l"] == len(steps)


@every_id
def test_a_limit_of_steps_truncates(name: str) -> None:
    env = TimeLimit(wrapped(name), 2)
    env.reset(seed=0)
    mask = env.get_wrapper_attr("action_masks")
    action = 11 if name == SATURATE else 1
    assert mask()[action]
    assert env.step(action)[2:4] == (False, False)
    assert env.step(action)[2:4] == (False, True)
    _, info = env.reset(seed=0)
    assert info["gain"] == 0.0


@every_id
def test_flat_observations_and_normal_rewards(name: str) -> None:
    env = NormalizeReward(FlattenObservation(wrapped(name)))
    for _, observation, reward, *_ in played(env, 0):
        assert env.observation_space.contains(observation)
        assert np.isfinite(reward)


@every_id
def test_agents_start_without_glue(name: str) -> None:
    from sb3_contrib import MaskablePPO

    env = gymnasium.make(f"polygym:{name}", **ARGUMENTS[name])
    model = MaskablePPO("MultiInputPolicy", env, seed=0, n_steps=32, batch_size=32, n_epochs=1)
    model.learn(32)
    assert model.num_timesteps >= 32


def test_agents_without_masks_start_too() -> None:
    from stable_baselines3 import DQN

    env = gymnasium.make(f"polygym:{SATURATE}", **ARGUMENTS[SATURATE])
    model = DQN("MultiInputPolicy", env, seed=0, learning_starts=8, buffer_size=64)
    model.learn(24)
    assert model.num_timesteps >= 24


@every_id
def test_the_policies_of_agents_play_it(name: str) -> None:
    from polygym.agents.policies import run_episode
    from polygym.graphs.envs import SteepestDescent, Tensat

    env = gymnasium.make(f"polygym:{name}", graph="nasrnn")
    ending = run_episode(env, Tensat() if name == SATURATE else SteepestDescent(), seed=0)
    assert ending.info["status"] in ("optimal", "bounded", "stopped")
    assert ending.reward > 0.1


def wrapped(name: str) -> gymnasium.Env[Any, Any]:
    return gymnasium.make(f"polygym:{name}", **ARGUMENTS[name])


def test_making_runs_nothing_heavy() -> None:
    import subprocess
    import sys

    program = (
        "import gymnasium, sys\n"
        "import polygym\n"
        "assert 'polygym.graphs' not in sys.modules, 'registering imports nothing of graphs'\n"
        "gymnasium.make('polygym/Substitute-v0').reset(seed=0)\n"
        "gymnasium.make('polygym/Saturate-v0')\n"
        "assert not {'torch', 'onnx', 'highspy', 'matplotlib'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)
