"""Environments for the tests: made by their names, and played to their ends."""

from typing import Any

import gymnasium
import numpy as np

from polygym.envs.base import PolygymEnv

IDS = (
    "polygym/Construct-v0",
    "polygym/Explore-v0",
    "polygym/Schedule-v0",
    "polygym/Optimize-v0",
    "polygym/Transform-v0",
)
FINAL = {
    "status": str,
    "speedup": float,
    "seconds": float,
    "baseline_seconds": float,
    "samples": tuple,
    "schedule": str,
    "error_type": str,
    "error_details": str,
    "is_success": bool,
}


def make(name: str, **arguments: Any) -> PolygymEnv:
    arguments = {"reward": "static", "dataset": "mini", **arguments}
    env = gymnasium.make(f"polygym:{name}", **arguments).unwrapped
    assert isinstance(env, PolygymEnv)
    return env


def finish(env: PolygymEnv, info: dict[str, Any], seed: int = 0) -> tuple[float, dict[str, Any]]:
    """Take random allowed actions until the end; return the last reward and info."""
    generator = np.random.default_rng(seed)
    over, reward = False, 0.0
    while not over:
        assert isinstance(info["action_mask"], np.ndarray)
        assert info["action_mask"].dtype == np.int8
        assert np.array_equal(info["action_mask"], env.action_masks())
        assert not set(info) & set(FINAL)
        assert reward == 0.0
        action = generator.choice(np.flatnonzero(info["action_mask"]))
        observation, reward, over, truncated, info = env.step(action)
        assert env.observation_space.contains(observation)
        assert type(reward) is float
        assert type(over) is bool
        assert truncated is False
    assert {key: type(info[key]) for key in FINAL} == FINAL
    for mask in (info["action_mask"], observation["action_mask"], env.action_masks()):
        assert mask.shape == (env.action_space.n,)
        assert mask.all()
    assert not any(env.episode.mask())
    return reward, info
