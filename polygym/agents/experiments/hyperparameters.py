"""The hyperparameters of an experiment, checked before anything begins.

The algorithms of stable-baselines3 and sb3-contrib check a few of their arguments when they are
made, others when they first learn, and many never: without an epoch the first rollout ends in an
error of Python's, and a discount of 9.9 trains for an hour towards nothing. So here stands what
each may be; what polygym's own algorithms take stands in :mod:`polygym.agents.experiments.options`.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from inspect import signature
from math import inf, isfinite
from typing import Any

from polygym.agents.experiments.document_entries import DocumentEntry
from polygym.agents.experiments.experiment import Experiment
from polygym.agents.experiments.models import algorithm_class, new_model
from polygym.agents.experiments.options import OPTIONS_BY_ALGORITHM, default_hyperparameters
from polygym.errors import InputError

__all__ = ["check_hyperparameters"]

# What is said elsewhere in an experiment, or makes no sense in one.
_RESERVED = (
    "policy", "env", "seed", "verbose", "_init_setup_model", "tensorboard_log", "device",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _NumberRange:
    """The numbers from one to another; with ``is_open`` the least is none of them."""

    least: float = -inf
    most: float = inf
    is_open: bool = False

    def __str__(self) -> str:
        """Return what is expected."""
        if self.most < inf:
            return f"a number from {self.least:g} to {self.most:g}"
        if self.least == -inf:
            return "a number"
        return f"more than {self.least:g}" if self.is_open else f"a number from {self.least:g} on"

    def has(self, number: float) -> bool:
        """Whether a number is one of them."""
        is_large_enough = number > self.least if self.is_open else number >= self.least
        return isfinite(number) and is_large_enough and number <= self.most


_POSITIVE, _FRACTION, _COUNT = _NumberRange(0, is_open=True), _NumberRange(0, 1), _NumberRange(1)
# Of the algorithms of the libraries; every other number has to be finite.
_RANGES: Mapping[str, _NumberRange] = {
    "learning_rate": _POSITIVE,
    "n_steps": _COUNT,
    "batch_size": _COUNT,
    "n_epochs": _COUNT,
    "gamma": _FRACTION,
    "gae_lambda": _FRACTION,
    "clip_range": _POSITIVE,
    "clip_range_vf": _POSITIVE,
    "max_grad_norm": _POSITIVE,
    "target_kl": _POSITIVE,
    "rms_prop_eps": _POSITIVE,
    "stats_window_size": _COUNT,
    "buffer_size": _COUNT,
    "learning_starts": _NumberRange(0),
    "tau": _FRACTION,
    "train_freq": _COUNT,
    "gradient_steps": _NumberRange(-1),
    "sde_sample_freq": _NumberRange(-1),
    "target_update_interval": _COUNT,
    "exploration_fraction": _FRACTION,
    "exploration_initial_eps": _FRACTION,
    "exploration_final_eps": _FRACTION,
}


def check_hyperparameters(experiment: Experiment, at: DocumentEntry, env: Any) -> None:
    """Refuse what an algorithm does not take, and values with which it cannot be made.

    Raises:
        InputError: says which one.
    """
    usually = _hyperparameters(experiment.algorithm)
    for name, value in at.mapping(experiment.hyperparameters, list(usually)).items():
        _check_kind(value, usually[name], at.child(name))
        if experiment.algorithm not in OPTIONS_BY_ALGORITHM:
            _check_number(value, _RANGES.get(name), at.child(name))
    if experiment.algorithm == "maskable-ppo":
        _expect_batches({**usually, **experiment.hyperparameters}, experiment.n_envs, at)
    if experiment.algorithm in OPTIONS_BY_ALGORITHM:
        try:
            OPTIONS_BY_ALGORITHM[experiment.algorithm](**experiment.hyperparameters)
        except InputError as error:
            raise InputError(f"{at}.{error}") from None
    from stable_baselines3.common.vec_env import DummyVecEnv

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            new_model(experiment, DummyVecEnv([lambda: env]), 0)
    except InputError as error:
        raise InputError(f"{at}.policy_kwargs.{error}") from None
    except _CONSTRUCTION_ERRORS as error:
        message = " ".join(str(error).split()) or type(error).__name__
        raise InputError(
            f"{at}: expected values that {experiment.algorithm} takes: {message}"
        ) from None


# What the libraries raise where an argument makes no sense to them.
_CONSTRUCTION_ERRORS = (
    AssertionError, ArithmeticError, AttributeError, LookupError, MemoryError, RuntimeError,
    TypeError, ValueError,
)  # fmt: skip


def _check_kind(value: object, usual: object, at: DocumentEntry) -> None:
    """Refuse a value of another kind than what is usual."""
    kinds = {bool: (bool,), int: (int,), float: (int, float)}.get(type(usual))
    is_switch = isinstance(value, bool) and bool not in (kinds or (bool,))
    if kinds is not None and (is_switch or not isinstance(value, kinds)):
        raise at.error(f"a value such as {usual}", value)


def _check_number(value: object, within: _NumberRange | None, at: DocumentEntry) -> None:
    """Refuse a number that makes no sense, and what is none where there has to be one.

    A number that is usually none at all (``target_kl``) may be none.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        if not (within or _NumberRange()).has(float(value)):
            raise at.error(str(within or _NumberRange()), value)
    elif within is not None and value is not None:
        raise at.error(str(within), value)


def _expect_batches(given: Mapping[str, Any], n_envs: int, at: DocumentEntry) -> None:
    """Refuse batches of one step: sb3-contrib divides by the deviation of its one advantage.

    Example: 65 steps of a rollout in batches of 64 leave one.
    """
    steps, size = given["n_steps"] * n_envs, given["batch_size"]
    if given["normalize_advantage"] and (size == 1 or steps % size == 1):
        raise InputError(
            f"{at}: expected n_steps and batch_size that leave no batch of one step, found "
            f"{given['n_steps']} and {size}"
        )


def _hyperparameters(algorithm: str) -> dict[str, Any]:
    """Return the hyperparameters that an algorithm takes, with what they usually are."""
    kind = algorithm_class(algorithm)
    if algorithm in OPTIONS_BY_ALGORITHM:
        return default_hyperparameters(algorithm)
    parameters = signature(kind.__init__).parameters
    return {
        name: parameter.default
        for name, parameter in parameters.items()
        if name not in ("self", *_RESERVED)
    }
