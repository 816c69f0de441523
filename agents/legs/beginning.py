"""How every leg begins: a model from the checkpoint, an environment of its own, new dice."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np

from agents.boards import boards
from agents.experiments import make_env
from agents.models import new_model, saved_model
from agents.tables import rows_of
from agents.wrappers import ChoosesKernels

if TYPE_CHECKING:
    from agents.experiments import Experiment


@dataclass(frozen=True, slots=True)
class Beginning:
    """A model, its environment, alone as it is and in the vector that models take, and a seed."""

    model: Any
    env: Any
    envs: Any
    seed: int


def begun(experiment: Experiment, seed: int, checkpoint: Path) -> Beginning:
    """Return what a leg begins with; all dice are those of the seed and the steps so far."""
    from stable_baselines3.common.utils import set_random_seed
    from stable_baselines3.common.vec_env import DummyVecEnv

    envs = DummyVecEnv([lambda: make_env(experiment)])
    if checkpoint.exists():
        model = saved_model(experiment.algorithm, checkpoint, envs)
    else:
        place = boards(checkpoint.parent)
        model = new_model(experiment, envs, dice_of(seed, 0), None if place is None else str(place))
    leg = dice_of(seed, int(model.num_timesteps))
    set_random_seed(leg)
    model.action_space.seed(leg)
    envs.seed(leg)
    done = rows_of(checkpoint.with_name("episodes.csv"))
    _go_on(envs.envs[0], seed, sum(int(row["steps"]) <= int(model.num_timesteps) for row in done))
    return Beginning(model, envs.envs[0], envs, leg)


def steps_of_leg(experiment: Experiment, model: Any) -> int:
    """Return how many steps the leg has that a model begins; the last one may be shorter."""
    return min(experiment.every, experiment.steps - int(model.num_timesteps))


def dice_of(seed: int, steps: int) -> int:
    """Return the seed of the leg that begins after so many steps."""
    return int(np.random.SeedSequence([seed, steps]).generate_state(1)[0] % 2**31)


def _go_on(env: Any, seed: int, episodes: int) -> None:
    """Have the wrappers go on with the kernels where the leg before has ended."""
    while isinstance(env, gymnasium.Wrapper):
        if isinstance(env, ChoosesKernels):
            env.hold(seed, episodes)
        env = env.env
