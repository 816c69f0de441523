"""Who plays the episodes of a search: a policy by itself, or a model of cost that picks among many.

A player gives the episode of a number, at its end. It rolls its dice with the seed and the number
and nothing else, so which schedule an episode finds depends neither on the episodes before nor on a
clock, whoever plays. (What the model says depends on the machine for which loops are planned.)

``model`` lets policies play :data:`TRIES` episodes and takes the one whose schedule a model of cost
ranks first under the search's mapping and sizes; nothing is run for that. Every
:data:`HONEST`-th episode is a policy's alone, in case the model is blind to something.

``learned`` acts in the first episode as it does where there is only one, and explores in all
others.
"""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from polygym.compiler.codegen.common.mapping import Mapping
from polygym.compiler.codegen.common.sizes import own_sizes
from polygym.compiler.poly.legality import LegalSchedule
from polygym.compiler.poly.schedule import Schedule
from polygym.cost.candidate import Features, features
from polygym.cost.chosen import SHIPPED, ChosenModel
from polygym.cost.loop_tree import Forest
from polygym.cost.model import Model
from polygym.cost.shipped import walked
from polygym.episodes.episode import Episode, Task
from polygym.episodes.learned import Learned
from polygym.episodes.learned_weights import expect_weights, shipped
from polygym.episodes.policies import LEARNED, POLICIES, Policy, play, policy
from polygym.episodes.task_options import Phase
from polygym.errors import InputError, LimitError, PolygymError

MODEL = "model"
"""The name of the player that asks the model; the others are policies."""

USUAL = LEARNED
"""The player of a search for which nobody asks for one: at equal time it finds the fastest code."""

TRIES, HONEST = 8, 8
HEAT = 0.15
"""How much the policy that has learned explores, in powers of two."""

BEHIND_MODEL = "bias_coeff_0"
"""The policy of which the model's player plays most; the others come in turn."""

TURNS = (BEHIND_MODEL, "uniform", BEHIND_MODEL, "bias_select_dep")
"""The policies that play, one after the other."""


class Player(Protocol):
    """Plays the episode of a number."""

    def __call__(self, seed: int, index: int) -> Episode:
        """Return the episode, at its end."""
        ...


def player_names() -> tuple[str, ...]:
    """Return what a player may be called."""
    return (*POLICIES, MODEL)


def model_name(model: ChosenModel = SHIPPED) -> str:
    """Return the name of the player that asks just this model; another model is another player."""
    return f"{MODEL}@{model.digest}"


def check_player(name: str, model: ChosenModel = SHIPPED) -> None:
    """Refuse what is no player, or one that cannot play here.

    Raises:
        InputError: there is none of that name, or what it needs is missing.
    """
    if name == LEARNED:
        expect_weights()
    if name in POLICIES:
        return
    if name in (MODEL, here := model_name(model)):
        model.expected()
    elif name.startswith(f"{MODEL}@"):
        raise InputError(f"a policy: expected {here}, the model that is here, found {name}")
    else:
        raise InputError(f"a policy: expected one of {', '.join(player_names())}, found {name!r}")


def player(
    name: str,
    task: Task,
    sizes: Dictionary[str, int],
    mapping: Mapping,
    model: ChosenModel = SHIPPED,
) -> Player:
    """Return the player of a name, for schedules that will run at these sizes under a mapping.

    ``model`` is whom the one asks that asks a model.

    Raises:
        InputError: there is none of that name, or what it needs is missing.
    """
    check_player(name, model)
    if name == LEARNED:
        return ByLearned(task)
    if name in POLICIES:
        return ByPolicy(task, policy(name))
    return ByModel(task, own_sizes(task.scop, sizes), mapping, model.expected())


@dataclass(frozen=True, slots=True)
class ByPolicy:
    """A policy plays, once."""

    task: Task
    choose: Policy

    def __call__(self, seed: int, index: int) -> Episode:
        """Return the policy's episode."""
        return episode_of(self.task, self.choose, seed, index)


@dataclass(frozen=True, slots=True)
class ByLearned:
    """The policy that has learned: the best it knows first, then what it is less sure of."""

    task: Task

    def __call__(self, seed: int, index: int) -> Episode:
        """Return the policy's episode."""
        choose = Learned(shipped(), HEAT if index else 0.0, walked())
        return episode_of(self.task, choose, seed, index)


@dataclass(frozen=True, slots=True)
class ByModel:
    """Policies play several episodes, of which a model takes one."""

    task: Task
    sizes: Dictionary[str, int]
    mapping: Mapping
    model: Model

    def __call__(self, seed: int, index: int) -> Episode:
        """Return the most promising of some episodes; the first where none has a schedule."""
        tries = 1 if index % HONEST == HONEST - 1 else TRIES
        played = [self._played(seed, index, attempt) for attempt in range(tries)]
        if tries == 1:
            return played[0]
        seen = [self._features(episode) for episode in played]
        known = {place: one for place, one in enumerate(seen) if one is not None}
        if not known:
            return played[0]
        vectors = np.array([one.vector for one in known.values()])
        wants = self.model.wants_loops
        loops = Forest.of([one.loops for one in known.values()]) if wants else None
        scores = self.model.scores(vectors, loops).mean(axis=0)
        return played[list(known)[int(scores.argmax())]]

    def _played(self, seed: int, index: int, attempt: int) -> Episode:
        choose = policy(TURNS[(index + attempt) % len(TURNS)])
        return play(self.task.start(), choose, np.random.default_rng([seed, index, attempt]))

    def _features(self, episode: Episode) -> Features | None:
        """Return the features of an episode's schedule; None where there are none."""
        found = schedule_of(episode)
        if isinstance(found, str):
            return None
        try:
            legal = LegalSchedule(self.task.scop, found)
            return features(legal, self.mapping, self.sizes)
        except PolygymError:
            return None


def episode_of(task: Task, choose: Policy, seed: int, index: int) -> Episode:
    """Return the episode with this number, at its end."""
    return play(task.start(), choose, np.random.default_rng([seed, index]))


def schedule_of(episode: Episode) -> Schedule | str:
    """Return the schedule of an episode at its end, or why there is none."""
    if episode.phase is Phase.INVALID:
        return episode.reason
    try:
        return episode.schedule()
    except LimitError as error:
        return str(error)
