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

Schedules that policies of the gym construct, for a search that has a model choose among them.

isl has a dozen schedules of a program, and edits stay near the best of them; what policies play may
be anywhere. Few of their schedules are good, so some are played for each that is measured.

With :class:`EpisodeSearch` each proposal of a strategy is an episode, which its number and the seed
decide alone.
"""

from collections.abc import Callable, Sequence
from collections.abc import Mapping as Dictionary
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from polygym.autoschedule.weights import expect_weights, shipped_weights
from polygym.cost.features.candidates.candidate_vector import CandidateFeatures, candidate_features
from polygym.cost.features.candidates.loop_tree import LoopForest
from polygym.cost.models.cost_model import CostModel
from polygym.cost.models.pretrained import PRETRAINED, ModelChoice, pretrained_inference
from polygym.errors import InputError, LimitError, PolygymError
from polygym.ir.scop import Scop
from polygym.mapping.mapping import Mapping
from polygym.mapping.sizes import scop_sizes
from polygym.mdp.episode import Episode, Task
from polygym.mdp.policies.pretrained import PretrainedPolicy
from polygym.mdp.policies.registry import LEARNED, POLICIES, Policy, play_episode, policy_named
from polygym.mdp.task_options import Phase, TaskOptions
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import Schedule
from polygym.search.strategies import candidates

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
        temperature = TEMPERATURE if index else 0.0
        choose = PretrainedPolicy(shipped_weights(), temperature, pretrained_inference())
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
        vectors = np.array([features.vector for features in known.values()])
        wants = self.model.wants_loops
        loops = (
            LoopForest.of([features.loop_tree for features in known.values()]) if wants else None
        )
        scores = self.model.scores(vectors, loops).mean(axis=0)
        return played[list(known)[int(scores.argmax())]]

    def _played(self, seed: int, index: int, attempt: int) -> Episode:
        choose = policy_named(POLICY_CYCLE[(index + attempt) % len(POLICY_CYCLE)])
        rng = np.random.default_rng([seed, index, attempt])
        return play_episode(self.task.start(), choose, rng)

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


_MAX_FRUITLESS = 3 * TRIES  # episodes in a row without a new schedule: that is all


class EpisodeSchedules:
    """Episodes of a program, which all follow from the random choices at the beginning."""

    def __init__(self, scop: Scop, rng: np.random.Generator) -> None:
        """Play nothing yet."""
        self._scop = scop
        self._seed = int(rng.integers(2**63))
        self._count = 0
        self._fruitless = 0

    @cached_property
    def _task(self) -> Task:
        return Task(self._scop, TaskOptions())

    def sample(
        self, is_new: Callable[[Schedule], bool], is_over: Callable[[], bool]
    ) -> dict[Schedule, candidates.EpisodeSchedule]:
        """Return the new schedules of the next few episodes, by name.

        ``is_over`` is asked before each. There are none where the spaces of the program are too
        large, and no more after many episodes in a row without one.
        """
        schedules: dict[Schedule, candidates.EpisodeSchedule] = {}
        for _ in range(TRIES):
            if self._fruitless >= _MAX_FRUITLESS or is_over():
                break
            index, self._count = self._count, self._count + 1
            name = POLICY_CYCLE[index % len(POLICY_CYCLE)]
            try:
                episode = sample_episode(self._task, policy_named(name), self._seed, index)
                schedule = schedule_or_reason(episode)
            except LimitError:
                self._fruitless = _MAX_FRUITLESS
                break
            if isinstance(schedule, str) or not is_new(schedule):
                self._fruitless += 1
                continue
            self._fruitless = 0
            schedules.setdefault(schedule, candidates.EpisodeSchedule(name, index))
        return schedules


class EpisodeSearch:
    """The initial candidates, then episode after episode of a sampler.

    ``mapping`` is that of episodes that decide about none.
    """

    is_indexed = True
    cuts_off = False

    def __init__(
        self,
        sampler: EpisodeSampler,
        name: str,
        seed: int,
        initial: Sequence[candidates.Candidate],
        mapping: Mapping,
        known: dict[candidates.ScheduleSource, Schedule],
    ) -> None:
        """Begin with the initial candidates; ``known`` gets the schedules of the episodes."""
        self._sampler, self._name, self._seed = sampler, name, seed
        self._initial, self._mapping, self._known = list(initial), mapping, known
        self._next = 0
        self._episodes: dict[candidates.ScheduleSource, Episode] = {}
        self.is_over: Callable[[], bool] = lambda: False

    @property
    def batch_size(self) -> int:
        """The initial candidates together, then one by one."""
        return len(self._initial) or 1

    def ask(self, count: int) -> list[candidates.Proposal]:
        """Return the initial candidates, then the next episodes."""
        result: list[candidates.Proposal] = list(self._initial[:count])
        del self._initial[:count]
        self._episodes.clear()
        while len(result) < count:
            result.append(self._sample(self._next))
            self._next += 1
        return result

    def _sample(self, index: int) -> candidates.Proposal:
        episode = self._sampler(self._seed, index)
        source = candidates.EpisodeSchedule(self._name, index)
        self._episodes[source] = episode
        schedule = schedule_or_reason(episode)
        if isinstance(schedule, str):
            return candidates.Unscheduled(source, schedule)
        self._known[source] = schedule
        return candidates.Candidate(source, episode.mapping or self._mapping)

    def tell(self, candidate: candidates.Candidate, speedup: float) -> None:
        """Learn nothing."""

    def episode_of(self, proposal: candidates.Proposal) -> Episode | None:
        """Return the episode of a proposal of the last batch; None for an initial candidate."""
        return self._episodes.get(proposal.source)

    def skip(self, count: int) -> None:
        """Go on with the episode of this number."""
        self._next = count
