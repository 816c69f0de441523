"""Vector environments, wrappers and agents of other libraries, without glue code."""

import warnings
from multiprocessing import resource_tracker
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import RecordEpisodeStatistics, TimeLimit

IDS = ("polygym/Construct-v0", "polygym/Explore-v0", "polygym/Schedule-v0")
ARGUMENTS = {"kernel": "mvt", "reward": "static", "dataset": "mini"}


@pytest.fixture(autouse=True)
def _tracker_lives() -> None:
    """Have multiprocessing's tracker live: tests that end all processes end it too, and it says so.

    Which is a warning, and so an error here, of whatever starts a process next.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        resource_tracker.ensure_running()


def allowed(masks: Any) -> np.ndarray[Any, Any]:
    return np.array([np.flatnonzero(mask)[0] for mask in masks])


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize(
    ("mode", "extra"),
    [
        ("sync", {}),
        ("async", {}),
        ("async", {"context": "spawn"}),
        ("async", {"context": "forkserver"}),
    ],
)
def test_gymnasium_vectors(name: str, mode: str, extra: dict[str, str]) -> None:
    envs = gymnasium.make_vec(
        f"polygym:{name}", num_envs=2, vectorization_mode=mode, vector_kwargs=extra, **ARGUMENTS
    )
    observation, info = envs.reset(seed=1)
    over, ended = np.zeros(2, bool), 0
    for number in range(160):
        # The step behind an end resets; its action does not count, but the mask has to offer one.
        masks = info["action_mask"] if number % 2 else observation["action_mask"]
        assert masks[over].all()
        observation, reward, over, _, info = envs.step(allowed(masks))
        assert (reward >= 0).all(), "what the mask offers costs nothing"
        ended += int(over.sum())
        if over.any():
            assert set(info["status"][over]) == {"not measured"}
    assert ended >= 4
    envs.close()


@pytest.mark.parametrize("start", ["fork", "forkserver", "spawn"])
def test_stable_baselines_vectors(start: str) -> None:
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import SubprocVecEnv

    envs = make_vec_env(
        "polygym:polygym/Schedule-v0",
        n_envs=2,
        env_kwargs={**ARGUMENTS, "reward": "speedup"},
        vec_env_cls=SubprocVecEnv,
        vec_env_kwargs={"start_method": start},
        seed=0,
    )
    observation = envs.reset()
    statuses = []
    while len(statuses) < 3:
        masks = envs.env_method("action_masks")
        assert np.array_equal(np.stack(masks), observation["action_mask"].astype(bool))
        observation, _, over, infos = envs.step(allowed(masks))
        statuses += [info["status"] for info, end in zip(infos, over, strict=True) if end]
        if over.any():
            ended = infos[int(np.argmax(over))]
            assert "episode" in ended, "Monitor counts episodes"
    assert set(statuses) == {"ok"}
    envs.close()


def test_wrappers() -> None:
    env = RecordEpisodeStatistics(
        TimeLimit(gymnasium.make("polygym:polygym/Schedule-v0", **ARGUMENTS), 5)
    )
    env.reset(seed=0)
    truncated, steps = False, 0
    while not truncated:
        _, _, terminated, truncated, info = env.step(1 if steps % 2 else 0)
        steps += 1
        assert not terminated
    assert steps == 5
    assert info["episode"]["l"] == 5


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("algorithm", ["MaskablePPO", "PPO", "A2C", "DQN"])
def test_agents_start_without_glue(name: str, algorithm: str) -> None:
    import sb3_contrib
    import stable_baselines3

    env = gymnasium.make(f"polygym:{name}", **ARGUMENTS)
    kind = getattr(sb3_contrib, algorithm, None) or getattr(stable_baselines3, algorithm)
    settings: dict[str, Any] = {
        "MaskablePPO": {"n_steps": 64, "batch_size": 32, "n_epochs": 1},
        "PPO": {"n_steps": 64, "batch_size": 32, "n_epochs": 1},
        "A2C": {},
        "DQN": {"learning_starts": 20, "buffer_size": 500},
    }[algorithm]
    model = kind("MultiInputPolicy", env, seed=0, **settings)
    model.learn(128)
    assert model.num_timesteps >= 128
