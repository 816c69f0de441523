"""Agents by the names that commands take: a rule's name, or the folder of a training.

Both are an experiment, which has an environment with its arguments, and policies, one for every
seed: ``earliest`` is a rule in Schedule-v0, ``runs/mvt`` whatever was trained there, in the
environment in which it was. A network may look ahead (:class:`LookaheadOptions`) before it acts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from polygym.agents.experiments.environments import make_env
from polygym.agents.experiments.experiment import RESERVED_ARGUMENTS, SATURATE, Experiment
from polygym.agents.experiments.models import load_model
from polygym.agents.experiments.options import OPTIONS_BY_ALGORITHM
from polygym.agents.experiments.reading import argument_error_text
from polygym.agents.experiments.rewrite_terms import REWRITE
from polygym.agents.experiments.train_test_leakage import test_kernels_of_models
from polygym.agents.experiments.yaml_documents import load_yaml
from polygym.agents.policies.beam_search import MOST_WIDTH, BeamSearch
from polygym.agents.policies.env_policy import EnvPolicy
from polygym.agents.policies.guide import NetworkGuide
from polygym.agents.policies.heuristics import RulePolicy
from polygym.agents.policies.trained_network import TrainedPolicy
from polygym.agents.policies.tree_search import MOST_SIMULATIONS, TreeSearch
from polygym.agents.trainers.training import trained_models
from polygym.errors import InputError
from polygym.mdp.policies.registry import DETERMINISTIC, POLICIES

FIRST_SEED = 2_000_000
"""Episodes in which nothing is learned have seeds of their own, from this one on."""


@dataclass(frozen=True, slots=True)
class LookaheadOptions:
    """How a network looks ahead: with a tree of so many simulations, along a beam, or not at all.

    Raises:
        InputError: a number is none or too large, or it would be both.
    """

    simulations: int | None = None
    beam_width: int | None = None

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        for name, value, most in (
            ("--simulations", self.simulations, MOST_SIMULATIONS),
            ("--beam-width", self.beam_width, MOST_WIDTH),
        ):
            if value is not None and not 1 <= value <= most:
                raise InputError(f"{name}: expected a number from 1 to {most}, found {value}")
        if self.simulations is not None and self.beam_width is not None:
            raise InputError("--simulations and --beam-width: expected one of them, found both")

    @property
    def name(self) -> str:
        """The option that is asked for, if one is."""
        return self.agent_name("").partition(" ")[0]

    def agent_name(self, agent: str) -> str:
        """Return the name of an agent with this lookahead.

        >>> options = LookaheadOptions(simulations=64)
        >>> options.agent_name("runs/mvt"), LookaheadOptions().agent_name("runs/mvt")
        ('runs/mvt --simulations 64', 'runs/mvt')
        """
        asked = (("--simulations", self.simulations), ("--beam-width", self.beam_width))
        return " ".join([agent, *(f"{name} {n}" for name, n in asked if n is not None)]).strip()

    def policy(self, experiment: Experiment, model: Any) -> EnvPolicy:
        """Return the policy of a trained model.

        Raises:
            InputError: it has not learned what states are worth.
        """
        if not self.name:
            return TrainedPolicy(model)
        guide = NetworkGuide(model, is_scaled=experiment.algorithm in OPTIONS_BY_ALGORITHM)
        if self.simulations is not None:
            return TreeSearch(guide, self.simulations)
        assert self.beam_width is not None
        return BeamSearch(guide, self.beam_width)


def policies_of_agent(
    name: str,
    environment: str,
    seeds: Sequence[int] | None,
    lookahead: LookaheadOptions | None = None,
) -> tuple[Experiment, Iterator[tuple[int, EnvPolicy]]]:
    """Return the experiment of an agent, and its policies by seed.

    A rule that is not random has the first of the seeds alone, and a training those that it has
    been trained with; without seeds a rule has 0.

    Raises:
        InputError: there is no such agent, or none that has been trained, or it cannot look ahead.
    """
    lookahead = LookaheadOptions() if lookahead is None else lookahead
    if name in POLICIES and lookahead.name:
        raise InputError(
            f"{lookahead.name}: expected the folder of a training, whose network looks ahead, "
            f"found the rule {name}"
        )
    if name in POLICIES:
        given = (0,) if seeds is None else seeds
        experiment = Experiment(environment, "gemm", 1, arguments={"reward": "static"})
        own = given if name not in DETERMINISTIC else given[:1]
        return experiment, ((seed, RulePolicy(name, seed)) for seed in own)
    if not Path(name).is_dir():
        raise InputError(
            f"an agent: expected the folder of a training, or one of {', '.join(POLICIES)}, "
            f"found {name}"
        )
    experiment, models = trained_models(Path(name))
    if experiment.environment == REWRITE:
        raise InputError(
            f"{name}: expected a policy, found value functions of terms; they are for "
            "`polygym rewrite optimize --value-function`"
        )
    if experiment.environment == SATURATE:
        raise InputError(f"{name}: expected a policy for programs, found one of graphs")
    if not models:
        raise InputError(f"{name}: expected a seed that has been trained to its end, found none")
    return experiment, (
        (seed, lookahead.policy(experiment, load_model(experiment.algorithm, path)))
        for seed, path in models.items()
    )


def test_kernels_learned_by(name: str) -> tuple[str, ...]:
    """Return the kernels for tests that an agent has learned from; a rule has from none.

    Raises:
        InputError: what stands beside its models cannot be read.
    """
    return (
        test_kernels_of_models(*trained_models(Path(name)))
        if name not in POLICIES and Path(name).is_dir()
        else ()
    )


def policy_of_agent(
    name: str, environment: str, seed: int | None, lookahead: LookaheadOptions | None = None
) -> tuple[Experiment, EnvPolicy]:
    """Return the experiment of an agent, and the policy of one seed; without one, of its first.

    Raises:
        InputError: there is no such agent, or it has not been trained with that seed.
    """
    if seed is not None and seed < 0:
        raise InputError(f"--seed: expected a number from 0 on, found {seed}")
    experiment, policies = policies_of_agent(
        name, environment, None if seed is None else (seed,), lookahead
    )
    if name not in POLICIES and seed is not None:
        paths = trained_models(Path(name))[1]
        if seed not in paths:
            known = ", ".join(map(str, paths))
            raise InputError(f"--seed: expected one that {name} has trained, {known}, found {seed}")
        policies = ((own, policy) for own, policy in policies if own == seed)
    return experiment, next(policies)[1]


def with_environment_arguments(
    experiment: Experiment, texts: Sequence[str], **more: Any
) -> Experiment:
    """Return an experiment whose environment has other arguments, such as ``reward=speedup``.

    Raises:
        InputError: a text is none, or there is no such argument or value.
    """
    given = _overrides(texts)
    for name in RESERVED_ARGUMENTS:
        if name in given:
            raise InputError(f"--set: the argument {name} is not for this")
    result = replace(experiment, arguments={**experiment.arguments, **given, **more})
    try:
        make_env(result, "gemm").close()
    except TypeError as error:  # an argument that there is not
        raise InputError(f"--set: {argument_error_text(error)}") from None
    return result


def _overrides(texts: Sequence[str]) -> dict[str, Any]:
    result = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise InputError(f"--set: expected ARGUMENT=VALUE, found {text!r}")
        try:
            result[name.strip()] = load_yaml(value)
        except InputError:
            raise InputError(f"--set: expected a value, found {text!r}") from None
    return result
