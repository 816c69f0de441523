"""Episodes as a system: the searches of this package play environments, by what forks know.

A state is an episode, a step an action that it allows; which steps there are, what follows and what
an end is worth, a *player* says: an environment of schedules (``env.fork().unwrapped``) is one. An
episode that ends costs what it fails to be paid, 0 - worth, one that goes on costs nothing: so a
search looks for the end that is worth most, and what is saved is what is paid.

Two episodes that came to the same in other ways are one state, if all that they depend on is the
same (:func:`episode_key`).

:class:`PolicyValue` is a value function for those that go on: what the end is worth to which a rule
leads. It needs no learning, and makes A* of a rule what a search needs to improve on it.

Example, a space of two coefficients of 0 or 1: seven episodes, four of which have ended.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from polygym.search.planning.protocol import Values

_PATH_FIELDS = frozenset({"task", "actions", "illegal", "reason"})


class EpisodeState(Protocol):
    """An episode, as far as a search looks at it."""

    @property
    def is_over(self) -> bool:
        """Whether no action is left."""


State = TypeVar("State", bound=EpisodeState)


class EpisodeModel(Protocol[State]):
    """Says what can be done in an episode, and what comes of it; its own episode stays."""

    def following(self, episode: State, action: int) -> State:
        """Return the episode after an action."""

    def allowed(self, episode: State) -> tuple[bool, ...]:
        """Return which actions an episode allows."""

    def worth(self, episode: State) -> float:
        """Return what is paid for the end of an episode."""


def episode_key(episode: Any) -> Hashable:
    """Return all that an episode's future depends on: everything but how it came about."""
    own = vars(episode)
    return tuple(
        own[name] for name in type(episode).__dataclass_fields__ if name not in _PATH_FIELDS
    )


class EpisodeSystem(Generic[State]):
    """Episodes of a player, and what their ends cost."""

    def __init__(
        self, player: EpisodeModel[State], key: Callable[[State], Hashable] = episode_key
    ) -> None:
        self._player, self._key = player, key
        self._costs: dict[Hashable, float] = {}

    def successors(self, state: State) -> Sequence[State]:
        """Return what follows, by the numbers of actions; nothing follows an end."""
        if state.is_over:
            return ()
        allowed = self._player.allowed(state)
        actions = (action for action, is_allowed in enumerate(allowed) if is_allowed)
        return [self._player.following(state, action) for action in actions]

    def cost(self, state: State) -> float:
        """Return what an end fails to be paid; 0 before it."""
        if not state.is_over:
            return 0.0
        key = self._key(state)
        if key not in self._costs:
            self._costs[key] = -self._player.worth(state)
        return self._costs[key]

    def key(self, state: State) -> Hashable:
        """Return what an episode's future depends on."""
        return self._key(state)

    def features(self, state: State) -> State:
        """Return the episode itself."""
        return state


class PolicyValue(Generic[State]):
    """Expects of an episode what its end is worth if a rule goes on with it."""

    def __init__(self, player: EpisodeModel[State], rule: Callable[[State], int]) -> None:
        self._player, self._rule = player, rule

    def __call__(self, states: Sequence[State], horizon: int) -> Values:
        """Return what is expected, a row a state, a column for each number of steps."""
        array = np.zeros((len(states), horizon + 1))
        for row, state in zip(array, states, strict=True):
            steps, at = 0, state
            while not at.is_over and steps < horizon:
                at, steps = self._player.following(at, self._rule(at)), steps + 1
            if steps and at.is_over:
                row[steps:] = self._player.worth(at)
        return array
