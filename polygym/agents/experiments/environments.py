"""The environment of an experiment, with its wrappers."""

from typing import Any

import gymnasium

from polygym.agents.experiments.experiment import Experiment
from polygym.agents.experiments.splits import selected_kernels
from polygym.agents.experiments.wrappers import TRAINING_WRAPPERS, WRAPPERS


def make_env(experiment: Experiment, kernels: str | None = None, seed: int | None = None) -> Any:
    """Return the environment of an experiment, on its kernels or on others, with its wrappers.

    With other kernels, wrappers that are for training alone are left out: those that choose
    kernels, and shaped rewards, whose sums are not what an episode is worth.

    Raises:
        InputError: an argument is wrong.
    """
    selection = experiment.kernels if kernels is None else kernels
    env = gymnasium.make(
        f"polygym:{experiment.environment}",
        kernel=",".join(selected_kernels(selection)),
        seed=seed,
        disable_env_checker=True,
        **experiment.arguments,
    )
    for name, given in experiment.wrappers:
        if kernels is None or not issubclass(WRAPPERS[name], TRAINING_WRAPPERS):
            env = WRAPPERS[name](env, **given)
    return env
