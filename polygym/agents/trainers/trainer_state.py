"""Begin of an interval: a model from the checkpoint, a new environment, a new seed."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from polygym.agents.experiments.environments import make_env
from polygym.agents.experiments.experiment import Experiment
from polygym.agents.experiments.models import load_model, new_model
from polygym.agents.experiments.wrappers import KernelOrderWrapper
from polygym.agents.trainers.tensorboard_logs import tensorboard_folder
from polygym.agents.trainers.training_tables import read_rows


@dataclass(frozen=True, slots=True)
class TrainerState:
    """A model, its environment, alone as it is and in the vector that models take, and a seed."""

    model: Any
    env: Any
    envs: Any
    seed: int


def load_trainer_state(experiment: Experiment, seed: int, checkpoint: Path) -> TrainerState:
    """Return the state that begins an interval; its random numbers follow from seed and steps."""
    from stable_baselines3.common.utils import set_random_seed
    from stable_baselines3.common.vec_env import DummyVecEnv

    envs = DummyVecEnv([lambda: make_env(experiment)])
    if checkpoint.exists():
        model = load_model(experiment.algorithm, checkpoint, envs)
    else:
        place = tensorboard_folder(checkpoint.parent)
        model = new_model(
            experiment, envs, interval_seed(seed, 0), None if place is None else str(place)
        )
    interval = interval_seed(seed, int(model.num_timesteps))
    set_random_seed(interval)
    model.action_space.seed(interval)
    envs.seed(interval)
    done = read_rows(checkpoint.with_name("episodes.csv"))
    _resume_wrappers(
        envs.envs[0], seed, sum(int(row["steps"]) <= int(model.num_timesteps) for row in done)
    )
    return TrainerState(model, envs.envs[0], envs, interval)


def steps_of_interval(experiment: Experiment, model: Any) -> int:
    """Return how many steps the interval has that a model begins; the last one may be shorter."""
    return min(experiment.every, experiment.steps - int(model.num_timesteps))


def interval_seed(seed: int, steps: int) -> int:
    """Return the seed of the interval that begins after so many steps."""
    return int(np.random.SeedSequence([seed, steps]).generate_state(1)[0] % 2**31)


def _resume_wrappers(env: Any, seed: int, episodes: int) -> None:
    """Have the wrappers go on with the kernels where the interval before has ended."""
    while isinstance(env, gymnasium.Wrapper):
        if isinstance(env, KernelOrderWrapper):
            env.resume_at(seed, episodes)
        env = env.env
