"""Policies by name: weighted random rules, two deterministic rules, and networks.

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

``pretrained_action`` is the policy that comes with polygym (``pretrained_action``):
it takes what networks trained on measurements predict to be faster, without random
choices.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from polygym.errors import InputError
from polygym.mdp.episode import Episode
from polygym.mdp.policies.rules import Policy, earliest, greedy, weighted_policy

LEARNED = "learned"
"""The name of the policy that has learned."""


def _pretrained(episode: Episode, generator: np.random.Generator) -> int:
    """Act as the networks say that come with polygym, which are read when they are asked."""
    from polygym.mdp.policies.pretrained import pretrained_action

    return pretrained_action(episode, generator)


POLICIES: Mapping[str, Policy] = MappingProxyType(
    {
        "uniform": weighted_policy((1, 1, 1), 1, 1),
        "bias_coeff_0": weighted_policy((1, 1, 1), 1, 0.15),
        "bias_select_dep": weighted_policy((0.2, 0.2, 0.6), 1, 1),
        "earliest": earliest,
        "greedy": greedy,
        LEARNED: _pretrained,
    }
)


# Those that make no random choice: the same episode, the same action.
DETERMINISTIC = frozenset({"earliest", "greedy", LEARNED})


def policy_named(name: str) -> Policy:
    """Return the policy of that name."""
    try:
        return POLICIES[name]
    except KeyError:
        raise InputError(
            f"a policy: expected one of {', '.join(POLICIES)}, found {name!r}"
        ) from None


def play_episode(
    episode: Episode,
    choose: Policy,
    generator: np.random.Generator,
    until: Callable[[Episode], bool] = lambda episode: episode.is_over,
) -> Episode:
    """Let a policy act until the episode is over, or a condition holds."""
    while not (episode.is_over or until(episode)):
        episode = episode.after(choose(episode, generator))
    return episode


__all__ = [
    "DETERMINISTIC",
    "LEARNED",
    "POLICIES",
    "Policy",
    "earliest",
    "greedy",
    "play_episode",
    "policy_named",
    "weighted_policy",
]
