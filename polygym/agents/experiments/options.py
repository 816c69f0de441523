"""The hyperparameters of the algorithms that are polygym's own, with what they may be."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from polygym.agents.policies.tree_search import MOST_SIMULATIONS
from polygym.errors import InputError


@dataclass(frozen=True, slots=True)
class FittingOptions:
    """How a network is fitted: Adam's steps, how many positions each, how much values count."""

    learning_rate: float = 1e-3
    batch_size: int = 64
    value_weight: float = 0.5
    max_grad_norm: float = 0.5
    policy_kwargs: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse numbers that make no sense."""
        _expect("learning_rate", self.learning_rate, more_than=0)
        _expect("batch_size", self.batch_size, least=1)
        _expect("value_weight", self.value_weight, least=0)
        _expect("max_grad_norm", self.max_grad_norm, more_than=0)
        if not isinstance(self.policy_kwargs, Mapping):
            raise InputError(
                f"policy_kwargs: expected entries by their names, found {self.policy_kwargs!r}"
            )


@dataclass(frozen=True, slots=True)
class CloningOptions(FittingOptions):
    """Also the number of episodes that are demonstrations at most, and the search for them.

    The teacher ``search`` plays ``trials`` episodes of a program and shows the best ``kept``. With
    an ``advantage_temperature`` β an episode weighs exp((its reward - the program's best) / β).
    """

    demonstrations: int = 1000
    trials: int = 2000
    kept: int = 8
    advantage_temperature: float = 0.0

    def __post_init__(self) -> None:
        """Refuse numbers that make no sense."""
        FittingOptions.__post_init__(self)
        for name in ("demonstrations", "trials", "kept"):
            _expect(name, getattr(self, name), least=1)
        _expect("advantage_temperature", self.advantage_temperature, least=0)


@dataclass(frozen=True, slots=True)
class IterationOptions(FittingOptions):
    """Also the search of episodes, how many positions are kept, and Adam's steps an interval."""

    simulations: int = 32
    exploration: float = 2.5
    noise: float = 0.25
    temperature: float = 1.0
    updates: int = 200
    replay_size: int = 4096

    def __post_init__(self) -> None:
        """Refuse numbers that make no sense."""
        FittingOptions.__post_init__(self)
        _expect("simulations", self.simulations, least=1, most=MOST_SIMULATIONS)
        _expect("exploration", self.exploration, more_than=0)
        _expect("noise", self.noise, least=0, most=1)
        _expect("temperature", self.temperature, least=0)
        _expect("updates", self.updates, least=1)
        _expect("replay_size", self.replay_size, least=1)


@dataclass(frozen=True, slots=True)
class KnossosOptions:
    """How searches over terms explore, and how the network is fitted to what they saw.

    An epoch has so many ``expressions``; of each a ``search`` looks at ``states`` terms by
    ``first_rules``, and as many by all rules. The rate of the last batch is ``final_learning_rate``
    times that of the first. For the rest see
    :class:`polygym.terms.learning.training.TrainingConfig`; without ``rounds`` kinds are counted
    alone. Evaluations are ``evaluation_search``, with ``evaluation_states``. ``space`` is
    ``programs`` for whole programs (:mod:`polygym.terms.whole_programs.program_system`).
    """

    learning_rate: float = 2e-3
    final_learning_rate: float = 1.0
    batch_size: int = 32
    expressions: int = 6
    search: str = "astar"
    states: int = 1500
    search_batch: int = 64
    first_rules: str = "binding"
    width: int = 48
    rounds: int = 3
    examples_per_search: int = 1000
    replay_capacity: int = 36
    updates: int = 64
    averaging: float = 0.998
    evaluation_search: str = "astar"
    evaluation_states: int = 5000
    space: str = "terms"

    def __post_init__(self) -> None:
        """Refuse numbers that make no sense."""
        _expect("learning_rate", self.learning_rate, more_than=0)
        _expect("final_learning_rate", self.final_learning_rate, least=0, most=1)
        _expect("final_learning_rate", self.final_learning_rate, more_than=0)
        _expect("rounds", self.rounds, least=0)
        _expect("averaging", self.averaging, least=0, most=1)
        for name in (
            "batch_size", "expressions", "states", "search_batch", "examples_per_search",
            "replay_capacity", "updates", "evaluation_states",
        ):  # fmt: skip
            _expect(name, getattr(self, name), least=1)


OPTIONS_BY_ALGORITHM: Mapping[str, type[FittingOptions]] = {
    "cloning": CloningOptions,
    "expert-iteration": IterationOptions,
}
"""Those of every algorithm that is polygym's own."""

# MaskablePPO allocates a rollout, which is never used here.
_NO_ROLLOUT = {"n_steps": 2, "batch_size": 2}


def model_hyperparameters(algorithm: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the hyperparameters with which an algorithm's model is made."""
    if algorithm not in OPTIONS_BY_ALGORITHM:
        return dict(given)
    options = OPTIONS_BY_ALGORITHM[algorithm](**given)
    own = {"learning_rate": options.learning_rate, "policy_kwargs": dict(options.policy_kwargs)}
    return {**own, **_NO_ROLLOUT}


def default_hyperparameters(algorithm: str) -> dict[str, Any]:
    """Return the hyperparameters of an algorithm of polygym's own, with what they usually are."""
    usual = OPTIONS_BY_ALGORITHM[algorithm]()
    return {option.name: getattr(usual, option.name) for option in fields(usual)}


def _expect(
    name: str,
    value: float,
    *,
    least: float | None = None,
    more_than: float | None = None,
    most: float | None = None,
) -> None:
    is_finite = value == value and abs(value) != float("inf")
    is_large_enough = (least is None or value >= least) and (more_than is None or value > more_than)
    if is_finite and is_large_enough and (most is None or value <= most):
        return
    if most is not None:
        expected = f"a number from {least} to {most}"
    else:
        expected = f"a number from {least} on" if more_than is None else f"more than {more_than}"
    raise InputError(f"{name}: expected {expected}, found {value!r}")
