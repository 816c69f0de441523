"""The model of an experiment before it has learned anything: an algorithm with a network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from agents.legs.options import of_model
from agents.policies.protocol import inner
from polygym.errors import InputError

if TYPE_CHECKING:
    from agents.experiments import Experiment


def algorithm_of(name: str) -> Any:
    """Return the class of an algorithm.

    Raises:
        InputError: its library is missing.
    """
    try:
        import sb3_contrib
        import stable_baselines3
    except ImportError:
        raise InputError(
            "training needs stable-baselines3: pip install 'polygym[agents]'"
        ) from None
    return {
        "maskable-ppo": sb3_contrib.MaskablePPO,
        "ppo": stable_baselines3.PPO,
        "a2c": stable_baselines3.A2C,
        "dqn": stable_baselines3.DQN,
        # These learn in their own ways; what is saved and evaluated is a model of MaskablePPO.
        "cloning": sb3_contrib.MaskablePPO,
        "expert-iteration": sb3_contrib.MaskablePPO,
    }[name]


def saved_model(name: str, file: Path, envs: Any = None) -> Any:
    """Return the model of an algorithm that a file holds; ``envs`` is for one that goes on.

    Raises:
        InputError: it cannot be read, or is one of other environments.
    """
    kind = algorithm_of(name)
    try:
        return kind.load(file, env=envs, device="cpu")
    except (AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        said = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{file}: expected a model of {name}, found: {said}") from None


def new_model(experiment: Experiment, envs: Any, seed: int, boards: str | None = None) -> Any:
    """Return the model; ``boards`` is a folder for TensorBoard's files."""
    given = of_model(experiment.algorithm, experiment.hyperparameters)
    if experiment.algorithm == "dqn":
        # More than all steps are never in it; stable-baselines3 wants a million.
        given["buffer_size"] = min(given.get("buffer_size", experiment.steps), experiment.steps)
    policy: Any = "MultiInputPolicy"
    kind = algorithm_of(experiment.algorithm)
    is_masked = kind is algorithm_of("maskable-ppo")
    if is_masked or experiment.network == "sets":
        from agents.networks import MaskablePlainPolicy, MaskableSetPolicy, SetPolicy

        first = inner(envs.envs[0]).FIRST_ACTION
        given["policy_kwargs"] = {**given.get("policy_kwargs", {}), "first": first}
        over_sets = MaskableSetPolicy if is_masked else SetPolicy
        policy = over_sets if experiment.network == "sets" else MaskablePlainPolicy
    return kind(policy, envs, seed=seed, device="cpu", tensorboard_log=boards, **given)
