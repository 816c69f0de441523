"""Samplers of a search's episodes: a policy, or a cost model that picks among many.

A player gives the episode of a number, at its end. It draws at random from the seed and the number
and nothing else, so which schedule an episode finds depends neither on the episodes before nor on a
clock, no matter who plays. (What the model says depends on the machine for which loops are
planned.)

``guided`` lets policies play :data:`TRIES` episodes and takes the one whose schedule a cost model
ranks first under the search's mapping and sizes; nothing is run for that. Every
:data:`UNGUIDED_EVERY`-th episode is a policy's alone, in case the model is blind to something.

``learned`` acts in the first episode as it does where there is only one, and explores in all
others.
"""

from collections.abc import Mapping as Dictionary
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from polygym.autoschedule.weights import expect_weights, shipped_weights
from polygym.cost.features.candidates.candidate_vector import CandidateFeatures, candidate_features
from polygym.cost.features.candidates.loop_tree import LoopForest
from polygym.cost.models.cost_model import CostModel
from polygym.cost.models.pretrained import PRETRAINED, ModelChoice, pretrained_inference
from polygym.errors import InputError, LimitError, PolygymError
from polygym.mapping.mapping import Mapping
from polygym.mapping.sizes import scop_sizes
from polygym.mdp.episode import Episode, Task
from polygym.mdp.policies.pretrained import PretrainedPolicy
from polygym.mdp.policies.registry import LEARNED, POLICIES, Policy, play_episode, policy_named
from polygym.mdp.task_options import Phase
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import Schedule

GUIDED = "guided"
"""The name of the player that asks the model; the others are policies."""

DEFAULT_STRATEGY = LEARNED
"""The player of a search for which nobody asks for one: at equal time it finds the fastest code."""

TRIES, UNGUIDED_EVERY = 8, 8
TEMPERATURE = 0.15
"""How much the policy that has learned explores, in powers of two."""

MODEL_POLICY = "bias_coeff_0"
"""The policy of which the model's player plays most; the others come in turn."""

POLICY_CYCLE = (MODEL_POLICY, "uniform", MODEL_POLICY, "bias_select_dep")
"""The policies that play, one after the other."""


class EpisodeSampler(Protocol):
    """Plays the episode of a number."""

    def __call__(self, seed: int, index: int) -> Episode:
        """Return the episode, at its end."""
        ...


def sampler_names() -> tuple[str, ...]:
    """Return what a player may be called."""
    return (*POLICIES, GUIDED)


def model_name(model: ModelChoice = PRETRAINED) -> str:
    """Return the name of the player that asks just this model; another model is another player."""
    return f"{GUIDED}@{model.digest}"


def check_sampler(name: str, model: ModelChoice = PRETRAINED) -> None:
    """Refuse what is no player, or one that cannot play here.

    Raises:
        InputError: there is none of that name, or what it needs is missing.
    """
    if name == LEARNED:
        expect_weights()
    if name in POLICIES:
        return
    if name in (GUIDED, here := model_name(model)):
        model.expect_model()
    elif name.startswith(f"{GUIDED}@"):
        raise InputError(f"a policy: expected {here}, the model that is here, found {name}")
    else:
        raise InputError(f"a policy: expected one of {', '.join(sampler_names())}, found {name!r}")


def make_sampler(
    name: str,
    task: Task,
    sizes: Dictionary[str, int],
    mapping: Mapping,
    model: ModelChoice = PRETRAINED,
) -> EpisodeSampler:
    """Return the player of a name, for schedules that will run at these sizes under a mapping.

    ``model`` is whom the one asks that asks a model.

    Raises:
        InputError: there is none of that name, or what it needs is missing.
    """
    check_sampler(name, model)
    if name == LEARNED:
        return LearnedSampler(task)
    if name in POLICIES:
        return PolicySampler(task, policy_named(name))
    return ModelSampler(task, scop_sizes(task.scop, sizes), mapping, model.expect_model())


@dataclass(frozen=True, slots=True)
class PolicySampler:
    """A policy plays, once."""

    task: Task
    policy: Policy

    def __call__(self, seed: int, index: int) -> Episode:
        """Return the policy's episode."""
        return sample_episode(self.task, self.policy, seed, index)


@dataclass(frozen=True, slots=True)
class LearnedSampler:
    """The policy that has learned: the best it knows first, then what it is less sure of."""

    task: Task

    def __call__(self, seed: int, index: int) -> Episode:
        """Return the policy's episode."""
        choose = PretrainedPolicy(
            shipped_weights(), TEMPERATURE if index else 0.0, pretrained_inference()
        )
        return sample_episode(self.task, choose, seed, index)


@dataclass(frozen=True, slots=True)
class ModelSampler:
    """Policies play several episodes, of which a model takes one."""

    task: Task
    sizes: Dictionary[str, int]
    mapping: Mapping
    model: CostModel

    def __call__(self, seed: int, index: int) -> Episode:
        """Return the most promising of some episodes; the first where none has a schedule."""
        tries = 1 if index % UNGUIDED_EVERY == UNGUIDED_EVERY - 1 else TRIES
        played = [self._played(seed, index, attempt) for attempt in range(tries)]
        if tries == 1:
            return played[0]
        seen = [self._features(episode) for episode in played]
        known = {place: features for place, features in enumerate(seen) if features is not None}
        if not known:
            return played[0]
        vectors = np.array([one.vector for one in known.values()])
        wants = self.model.wants_loops
        loops = LoopForest.of([one.loop_tree for one in known.values()]) if wants else None
        scores = self.model.scores(vectors, loops).mean(axis=0)
        return played[list(known)[int(scores.argmax())]]

    def _played(self, seed: int, index: int, attempt: int) -> Episode:
        choose = policy_named(POLICY_CYCLE[(index + attempt) % len(POLICY_CYCLE)])
        return play_episode(
            self.task.start(), choose, np.random.default_rng([seed, index, attempt])
        )

    def _features(self, episode: Episode) -> CandidateFeatures | None:
        """Return the features of an episode's schedule; None where there are none."""
        schedule = schedule_or_reason(episode)
        if isinstance(schedule, str):
            return None
        try:
            legal = LegalSchedule(self.task.scop, schedule)
            return candidate_features(legal, self.mapping, self.sizes)
        except PolygymError:
            return None


def sample_episode(task: Task, policy: Policy, seed: int, index: int) -> Episode:
    """Return the episode with this number, at its end."""
    return play_episode(task.start(), policy, np.random.default_rng([seed, index]))


def schedule_or_reason(episode: Episode) -> Schedule | str:
    """Return the schedule of an episode at its end, or why there is none."""
    if episode.phase is Phase.INVALID:
        return episode.reason
    try:
        return episode.schedule()
    except LimitError as error:
        return str(error)
