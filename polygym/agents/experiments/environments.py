"""The environment of an experiment, with its wrappers."""

from collections.abc import Mapping
from typing import Any

import gymnasium

from polygym.agents.experiments.experiment import SATURATE, Experiment
from polygym.agents.experiments.splits import selected_kernels
from polygym.agents.experiments.wrappers import TRAINING_WRAPPERS, WRAPPERS


def subject_of(environment: str) -> str:
    """Return what episodes are about: the argument, the option of a reset, the key of ``info``.

    >>> subject_of("polygym/Schedule-v0"), subject_of("polygym/Saturate-v0")
    ('kernel', 'graph')
    """
    return "graph" if environment == SATURATE else "kernel"


def selected_subjects(environment: str, selection: str) -> tuple[str, ...]:
    """Return the programs, or the graphs, of a selection.

    Raises:
        InputError: there are none of that name.
    """
    if environment == SATURATE:
        from polygym.graphs.envs.task import graphs_from_argument

        return tuple(map(str, graphs_from_argument(selection)))
    return selected_kernels(selection)


def speedup_of(info: Mapping[str, Any]) -> float:
    """Return how much better the end of an episode is than its start: of times, or of costs."""
    if "speedup" in info:
        return float(info["speedup"])
    return float(info["initial_cost"]) / max(float(info["cost"]), 1e-300)


def make_env(experiment: Experiment, kernels: str | None = None, seed: int | None = None) -> Any:
    """Return the environment of an experiment, on its kernels or on others, with its wrappers.

    With other kernels, wrappers that are for training alone are left out: those that choose
    kernels, and shaped rewards, whose sums are not what an episode is worth.

    Raises:
        InputError: an argument is wrong.
    """
    environment = experiment.environment
    chosen = selected_subjects(environment, experiment.kernels if kernels is None else kernels)
    given: dict[str, Any] = {**experiment.arguments, "seed": seed}
    given[subject_of(environment)] = ",".join(chosen)
    env = gymnasium.make(f"polygym:{environment}", disable_env_checker=True, **given)
    for name, settings in experiment.wrappers:
        if kernels is None or not issubclass(WRAPPERS[name], TRAINING_WRAPPERS):
            env = WRAPPERS[name](env, **settings)
    return env
