"""Begin of an interval: a model from the checkpoint, a new environment, a new seed."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from polygym.agents.experiments.environments import make_env
from polygym.agents.experiments.experiment import Experiment
from polygym.agents.experiments.models import initial_model, load_model
from polygym.agents.experiments.wrappers import KernelOrderWrapper, wrappers_of
from polygym.agents.trainers.tensorboard_logs import tensorboard_folder
from polygym.agents.trainers.training_tables import read_rows


@dataclass(frozen=True, slots=True)
class TrainerState:
    """A model, the vector of its environments, and a seed."""

    model: Any
    envs: Any
    seed: int

    @property
    def env(self) -> Any:
        """The first environment, the only one of most algorithms."""
        return self.envs.envs[0]


def load_trainer_state(experiment: Experiment, seed: int, checkpoint: Path) -> TrainerState:
    """Return the state that begins an interval; its random numbers follow from seed and steps."""
    from stable_baselines3.common.utils import set_random_seed
    from stable_baselines3.common.vec_env import DummyVecEnv

    envs = DummyVecEnv([lambda: make_env(experiment)] * experiment.n_envs)
    if checkpoint.exists():
        model = load_model(experiment.algorithm, checkpoint, envs)
    else:
        place = tensorboard_folder(checkpoint.parent)
        model = initial_model(
            experiment, envs, seed, interval_seed(seed, 0), None if place is None else str(place)
        )
    interval = interval_seed(seed, int(model.num_timesteps))
    set_random_seed(interval)
    model.action_space.seed(interval)
    envs.seed(interval)
    done = read_rows(checkpoint.with_name("episodes.csv"))
    episodes = sum(int(row["steps"]) <= int(model.num_timesteps) for row in done)
    for member, env in enumerate(envs.envs):
        _resume_wrappers(env, member_seed(seed, member), -(-episodes // experiment.n_envs))
    return TrainerState(model, envs, interval)


def steps_of_interval(experiment: Experiment, model: Any) -> int:
    """Return how many steps the interval has that a model begins; the last one may be shorter."""
    return min(experiment.every, experiment.steps - int(model.num_timesteps))


def interval_seed(seed: int, steps: int) -> int:
    """Return the seed of the interval that begins after so many steps."""
    return _generated_seed(seed, steps)


def _generated_seed(*entropy: int) -> int:
    return int(np.random.SeedSequence(entropy).generate_state(1)[0] % 2**31)


def member_seed(seed: int, place: int) -> int:
    """Return the seed by which a member of a vector chooses its kernels, the first by the vector's.

    >>> member_seed(3, 0), member_seed(3, 1) != member_seed(4, 0)
    (3, True)
    """
    return _generated_seed(seed, 0, place) if place else seed


def _resume_wrappers(env: Any, seed: int, episodes: int) -> None:
    """Have the wrappers go on with the kernels where the interval before has ended."""
    for wrapper in wrappers_of(env):
        if isinstance(wrapper, KernelOrderWrapper):
            wrapper.resume_at(seed, episodes)
