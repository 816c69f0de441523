"""Rules that choose an action: random ones with weights, and two that do not roll dice.

A policy is any callable from an episode and a generator of random numbers to an action that the
episode's mask allows. The three of the paper choose at random among the allowed actions in
proportion to weights:

================  =================================  ============================
name              next_dim : next_dep : select_dep   coefficient 0 : 1 : 2 : …
================  =================================  ============================
uniform           1 : 1 : 1                          1 : 1 : 1 : …
bias_coeff_0      1 : 1 : 1                          1 : 0.15 : 0.15 : …
bias_select_dep   0.2 : 0.2 : 0.6                    1 : 1 : 1 : …
================  =================================  ============================

``earliest`` carries every dependence in the first dimension that can (Feautrier's rule) and takes
the coefficient 0 wherever it may. ``greedy`` constructs as ``earliest`` does and then gives each
generator the coefficient with the best static score if all generators behind it get the least
allowed one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Protocol

import numpy as np

from polygym.episodes.construction import ConstructionAction
from polygym.episodes.episode import CONSTRUCTION_ACTIONS, Episode, Phase
from polygym.episodes.reward import without_a_clock
from polygym.errors import InputError


class Policy(Protocol):
    """Chooses one of the actions that an episode allows."""

    def __call__(self, episode: Episode, generator: np.random.Generator) -> int:
        """Return an action that ``episode.mask()`` allows."""
        ...


def weighted(construction: tuple[float, float, float], zero: float, other: float) -> Policy:
    """Return the policy that chooses at random with weights."""

    def choose(episode: Episode, generator: np.random.Generator) -> int:
        mask = np.array(episode.mask())
        coefficients = [zero] + [other] * (len(mask) - CONSTRUCTION_ACTIONS - 1)
        weights = np.array([*construction, *coefficients]) * mask
        return int(generator.choice(len(mask), p=weights / weights.sum()))

    return choose


def earliest(episode: Episode, generator: np.random.Generator) -> int:
    """Carry what can be carried as soon as it can be; the smallest coefficients."""
    mask = episode.mask()
    if episode.phase is not Phase.CONSTRUCT:
        return mask.index(True)
    next_dim, next_dep, select = (mask[action.value] for action in ConstructionAction)
    if select:
        return ConstructionAction.SELECT_DEP.value
    rules, state = episode.task.rules, episode.construction
    missing = rules.can_be_carried(state) - rules.selected(state, state.dimension)
    if next_dep and (missing or not next_dim):
        return ConstructionAction.NEXT_DEP.value
    return ConstructionAction.NEXT_DIM.value


def greedy(episode: Episode, generator: np.random.Generator) -> int:
    """Take the coefficient with the best static score, the smallest of equal ones."""
    if episode.phase is Phase.CONSTRUCT:
        return earliest(episode, generator)
    allowed = [action for action, is_allowed in enumerate(episode.mask()) if is_allowed]
    return max(allowed, key=lambda action: _promise(episode.after(action), generator))


def _promise(episode: Episode, generator: np.random.Generator) -> float:
    """Return the score of the schedule with the least coefficients from here on."""
    while not episode.is_over:
        episode = episode.after(earliest(episode, generator))
    return without_a_clock(episode)


POLICIES: Mapping[str, Policy] = MappingProxyType(
    {
        "uniform": weighted((1, 1, 1), 1, 1),
        "bias_coeff_0": weighted((1, 1, 1), 1, 0.15),
        "bias_select_dep": weighted((0.2, 0.2, 0.6), 1, 1),
        "earliest": earliest,
        "greedy": greedy,
    }
)


# Those that roll no dice: the same episode, the same action.
DETERMINISTIC = frozenset({"earliest", "greedy"})


def policy(name: str) -> Policy:
    """Return the policy of that name."""
    try:
        return POLICIES[name]
    except KeyError:
        raise InputError(
            f"a policy: expected one of {', '.join(POLICIES)}, found {name!r}"
        ) from None


def play(
    episode: Episode,
    choose: Policy,
    generator: np.random.Generator,
    until: Callable[[Episode], bool] = lambda episode: episode.is_over,
) -> Episode:
    """Let a policy act until the episode is over, or a condition holds."""
    while not (episode.is_over or until(episode)):
        episode = episode.after(choose(episode, generator))
    return episode
