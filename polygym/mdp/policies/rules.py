"""Rules that choose actions: random ones with weights, and two deterministic ones."""

from typing import Protocol

import numpy as np

from polygym.mdp.construction import ConstructionAction
from polygym.mdp.episode import Episode
from polygym.mdp.rewards import static_reward
from polygym.mdp.task_options import CONSTRUCTION_ACTIONS, Phase
from polygym.transformations.candidates import sample_by_kind
from polygym.transformations.steps import Undo


class Policy(Protocol):
    """Chooses one of the actions that an episode allows."""

    def __call__(self, episode: Episode, generator: np.random.Generator) -> int:
        """Return an action that ``episode.mask()`` allows."""
        ...


def weighted_policy(construction: tuple[float, float, float], zero: float, other: float) -> Policy:
    """Return the policy that chooses at random with weights."""

    def choose(episode: Episode, generator: np.random.Generator) -> int:
        if episode.phase is Phase.TRANSFORM:
            return random_step(episode, generator)
        mask = np.array(episode.mask())
        coefficients = [zero] + [other] * (len(mask) - CONSTRUCTION_ACTIONS - 1)
        weights = np.array([*construction, *coefficients]) * mask
        return int(generator.choice(len(mask), p=weights / weights.sum()))

    return choose


def random_step(episode: Episode, generator: np.random.Generator) -> int:
    """Choose a kind of transformation step, then one of its legal steps; nothing is undone."""
    offer = episode.offer
    actions = [
        action
        for action, step in enumerate(offer.steps)
        if offer.is_allowed(action) and not isinstance(step, Undo)
    ]
    return actions[sample_by_kind([offer.steps[action] for action in actions], generator)]


def earliest(episode: Episode, generator: np.random.Generator) -> int:
    """Carry what can be carried as soon as it can be; the smallest coefficients."""
    mask = episode.mask()
    if episode.phase is not Phase.CONSTRUCT:
        return mask.index(True)
    next_dim, next_dep, select = (mask[action.value] for action in ConstructionAction)
    if select:
        return ConstructionAction.SELECT_DEP.value
    rules, state = episode.task.rules, episode.construction
    missing = rules.carryable(state) - rules.selected(state, state.dimension)
    if next_dep and (missing or not next_dim):
        return ConstructionAction.NEXT_DEP.value
    return ConstructionAction.NEXT_DIM.value


def greedy(episode: Episode, generator: np.random.Generator) -> int:
    """Take the coefficient with the best static score, the smallest of equal ones."""
    if episode.phase is Phase.CONSTRUCT:
        return earliest(episode, generator)
    allowed = [action for action, is_allowed in enumerate(episode.mask()) if is_allowed]
    return max(allowed, key=lambda action: _best_static_score(episode.after(action), generator))


def _best_static_score(episode: Episode, generator: np.random.Generator) -> float:
    """Return the score of the schedule with the least coefficients from here on."""
    while not episode.is_over:
        episode = episode.after(earliest(episode, generator))
    return static_reward(episode)
