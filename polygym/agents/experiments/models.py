"""The model of an experiment before it has learned anything: an algorithm with a network."""

from pathlib import Path
from typing import Any

from polygym.agents.experiments.experiment import Experiment
from polygym.agents.experiments.options import model_hyperparameters
from polygym.agents.policies.env_policy import trainable_env
from polygym.errors import InputError


def algorithm_class(name: str) -> Any:
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


def load_model(name: str, file: Path, envs: Any = None) -> Any:
    """Return the model of an algorithm that a file holds; ``envs`` is for one that goes on.

    Raises:
        InputError: it cannot be read, or is one of other environments.
    """
    kind = algorithm_class(name)
    try:
        return kind.load(file, env=envs, device="cpu")
    except (AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        said = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{file}: expected a model of {name}, found: {said}") from None


def expect_initial_file(experiment: Experiment, seed: int) -> Path | None:
    """Return the file of the network with which a seed begins; None for a new one.

    Raises:
        InputError: it is not there.
    """
    file = experiment.initial_file(seed)
    if file is not None and not file.exists():
        raise InputError(
            f"initial: expected a training with a model of seed {seed}, found no file {file}"
        )
    return file


def initial_model(
    experiment: Experiment, envs: Any, seed: int, random_seed: int, tensorboard_folder: str | None
) -> Any:
    """Return the model with which a seed begins: a new one, or with the network of another.

    Raises:
        InputError: the other network is missing, or has another form.
    """
    model = new_model(experiment, envs, random_seed, tensorboard_folder)
    file = expect_initial_file(experiment, seed)
    if file is not None:
        other = load_model("maskable-ppo", file)
        try:
            model.policy.load_state_dict(other.policy.state_dict())
        except RuntimeError:
            raise InputError(
                f"{file}: expected a network of the form that {experiment.environment} with these "
                "arguments has, found another one"
            ) from None
    return model


def new_model(
    experiment: Experiment, envs: Any, seed: int, tensorboard_folder: str | None = None
) -> Any:
    """Return the model; ``tensorboard_folder`` is a folder for TensorBoard's files."""
    given = model_hyperparameters(experiment.algorithm, experiment.hyperparameters)
    if experiment.algorithm == "dqn":
        # More than all steps are never in it; stable-baselines3 wants a million.
        given["buffer_size"] = min(given.get("buffer_size", experiment.steps), experiment.steps)
    policy: Any = "MultiInputPolicy"
    kind = algorithm_class(experiment.algorithm)
    is_masked = kind is algorithm_class("maskable-ppo")
    if is_masked or experiment.network == "sets":
        from polygym.agents.networks import MaskableMlpPolicy, MaskableSetPolicy, SetPolicy

        first = trainable_env(envs.envs[0]).FIRST_ACTION
        given["policy_kwargs"] = {**given.get("policy_kwargs", {}), "first": first}
        over_sets = MaskableSetPolicy if is_masked else SetPolicy
        policy = over_sets if experiment.network == "sets" else MaskableMlpPolicy
    return kind(policy, envs, seed=seed, device="cpu", tensorboard_log=tensorboard_folder, **given)
