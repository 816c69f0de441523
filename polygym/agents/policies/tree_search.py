r"""A tree search that a network guides: PUCT, as AlphaZero has it, over immutable episodes.

The nodes are states with more than one allowed action; what is forced is walked through. An edge is
an action a with the prior P(a) that the guide gives it, the number N(a) of simulations that went
along it, and the mean Q(a) of what they found. A simulation goes down from the root along

    argmax over a of  q(a) + c P(a) √N / (1 + N(a)),        N = 1 + Σ N(a)

until it comes to a state without a node, which gets one and the guide's value, or to an end, which
has the environment's own worth; that is added to the mean of every edge on the way. q is Q moved
into [0, 1] by the least and the greatest value that the tree has seen, as MuZero does it, so that c
need not know how large rewards are; an edge that nobody took counts as its node's own mean. Nothing
but the agent acts here, so an edge is sure to bring the best end that was seen behind it, and that
is its Q where the mean is less.

Example, two actions with P = (0.7, 0.3), c = 1, the root's value 0, behind them ends of worth 0 and
1. As long as all that was seen is 0, q is 1/2 everywhere, and two simulations take the likelier
action. The third compares 0.5 + 0.7 · √3 / 3 = 0.90 with 0.5 + 0.3 · √3 = 1.02, takes the other
and finds 1; from then on q is 0 and 1, and the other is taken again and again.

After so many simulations the visits N(a) / Σ N(a) are better than the priors were, which is what a
network can learn from. In training the root's priors are mixed with noise of a Dirichlet
distribution, so that something else is tried too.

Sources: Silver et al., A general reinforcement learning algorithm that masters chess, shogi, and
Go through self-play (2018); Schrittwieser et al., Mastering Atari, Go, chess and shogi by planning
with a learned model (2020).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf, sqrt
from typing import Any

import gymnasium
import numpy as np

from polygym.agents.policies.env_policy import inner_env
from polygym.agents.policies.guide import Array, EndRewards, SearchGuide
from polygym.envs.base import PolygymEnv
from polygym.mdp.episode import Episode
from polygym.mdp.observation.arrays import Observation

MOST_SIMULATIONS = 10_000
"""Of a step: these ask a network as often, some milliseconds each; gemm's nodes take 15 MB."""

_NOISE_CONCENTRATION = 10.0
_REPEATS = 4


@dataclass(slots=True, eq=False)
class SearchNode:
    """A state with a choice: its allowed ``actions``, and of each what the edge knows.

    ``value`` is the guide's, ``best_values`` are what the best ends are worth that were seen behind
    each edge. ``children`` have nodes, or what ends are worth.
    """

    episode: Episode
    actions: tuple[int, ...]
    priors: Array
    value: float
    visits: Array
    value_sums: Array
    best_values: Array
    children: dict[int, SearchNode | float] = field(default_factory=dict)

    @property
    def action_values(self) -> Array:
        """What each edge is expected to bring: at least the best end that was seen behind it."""
        means = np.where(
            self.visits > 0, self.value_sums / np.maximum(self.visits, 1.0), self.mean_value
        )
        return np.maximum(means, self.best_values)

    @property
    def best_end_action(self) -> int | None:
        """The action that leads to the best end seen, if the most visited one promises less."""
        result = int(self.best_values.argmax())
        promised = self.action_values[int(self.visits.argmax())]
        return self.actions[result] if self.best_values[result] > promised else None

    @property
    def mean_value(self) -> float:
        """What the guide and all simulations that came here found on average."""
        return float((self.value + self.value_sums.sum()) / (1.0 + self.visits.sum()))


@dataclass(slots=True)
class ActionValueRange:
    """The least and the greatest value that a tree has seen."""

    least: float = inf
    greatest: float = -inf

    def include(self, value: float) -> None:
        """Take note of a value."""
        self.least, self.greatest = min(self.least, value), max(self.greatest, value)

    def normalized(self, values: Array) -> Array:
        """Return values as parts of the way from the least to the greatest; all 1/2 if these agree.

        >>> ActionValueRange(1.0, 3.0).normalized(np.array([1.0, 2.5]))
        array([0.  , 0.75])
        """
        if self.greatest <= self.least:
            return np.full(values.shape, 0.5)
        array: Array = (values - self.least) / (self.greatest - self.least)
        return array


class TreeSearch:
    """Takes the action that ``simulations`` more of them from the state at hand visit most.

    What comes to an end that is known asks nobody, costs next to nothing and is not counted, up to
    four times as many; so small spaces are seen as a whole.

    Where an end has been seen that is worth more than that action is expected to bring, it takes
    the one that leads there.

    ``noise`` is the part of it in the root's priors, with ``temperature`` t an action is drawn in
    proportion to N^(1/t); both are for training and need a random generator. What an earlier step
    has found out about this episode is kept.
    """

    def __init__(
        self,
        guide: SearchGuide,
        simulations: int,
        *,
        exploration: float = 2.5,
        noise: float = 0.0,
        temperature: float = 0.0,
        rng: np.random.Generator | None = None,
    ) -> None:
        self._guide, self._simulations, self._exploration = guide, simulations, exploration
        self._noise, self._temperature = noise, temperature
        self._dice = np.random.default_rng(0) if rng is None else rng
        self._ends, self._bounds = EndRewards(), ActionValueRange()
        self._root: SearchNode | None = None

    def __call__(self, env: gymnasium.Env[Any, Any], observation: Observation) -> int:
        """Return an action; what is forced is taken without a search."""
        polygym_env = inner_env(env)
        only = forced_action(polygym_env.allowed(polygym_env.episode))
        if only is not None:
            return only
        visits = self.visit_distribution(polygym_env)
        assert self._root is not None
        sure = self._root.best_end_action if self._temperature == 0.0 else None
        return self.sample_action(visits) if sure is None else sure

    def visit_distribution(self, env: PolygymEnv) -> Array:
        """Search from the environment's state; return the part of the visits of every action."""
        mind = env.fork()
        root = self._root = self._node_of(mind)
        priors = self._with_noise(root.priors)
        new = known = 0
        while new < self._simulations and known < _REPEATS * self._simulations:
            if self._simulate(mind, root, priors):
                new += 1
            else:
                known += 1
        array1_d = np.zeros(env.action_space.n)
        array1_d[list(root.actions)] = root.visits / root.visits.sum()
        return array1_d

    def sample_action(self, visits: Array) -> int:
        """Return one of the actions by their parts of the visits, the first of equal ones."""
        if self._temperature == 0.0:
            return int(visits.argmax())
        weights = (visits / visits.max()) ** (1.0 / self._temperature)
        return int(self._dice.choice(len(visits), p=weights / weights.sum()))

    def _node_of(self, env: PolygymEnv) -> SearchNode:
        """Return the node of the environment's state, one of this tree or the first of a new."""
        known = None if self._root is None else _node_of_episode(self._root, env.episode)
        if known is not None:
            return known
        self._bounds = ActionValueRange()
        return self._new_node(env, env.episode)

    def _new_node(self, env: PolygymEnv, episode: Episode) -> SearchNode:
        priors, value = self._guide(env, episode)
        actions = tuple(place for place, may in enumerate(env.allowed(episode)) if may)
        self._bounds.include(value)
        count = len(actions)
        zeros, none = np.zeros(count), np.full(count, -inf)
        return SearchNode(episode, actions, priors[list(actions)], value, zeros, zeros.copy(), none)

    def _with_noise(self, priors: Array) -> Array:
        if self._noise == 0.0:
            return priors
        rng = self._dice.dirichlet(np.full(len(priors), _NOISE_CONCENTRATION / len(priors)))
        array: Array = (1.0 - self._noise) * priors + self._noise * rng
        return array

    def _simulate(self, env: PolygymEnv, root: SearchNode, priors: Array) -> bool:
        """Go down once, tell all edges on the way what was found, and say whether it was new."""
        node, path = root, []
        while True:
            place = self._select_edge(node, priors if node is root else node.priors)
            path.append((node, place))
            child = node.children.get(place)
            is_new = child is None
            if child is None:
                child = node.children[place] = self._expand(env, node, place)
            if isinstance(child, float) or is_new:
                break
            node = child
        is_end = isinstance(child, float)
        value = child if isinstance(child, float) else child.value
        self._bounds.include(value)
        for node, place in path:
            if is_end:
                node.best_values[place] = max(node.best_values[place], value)
            node.visits[place] += 1.0
            node.value_sums[place] += value
        return is_new

    def _select_edge(self, node: SearchNode, priors: Array) -> int:
        array = self._bounds.normalized(node.action_values)
        eager = self._exploration * sqrt(1.0 + node.visits.sum())
        return int((array + eager * priors / (1.0 + node.visits)).argmax())

    def _expand(self, env: PolygymEnv, node: SearchNode, place: int) -> SearchNode | float:
        """Return what is behind an edge, and behind all that is forced there."""
        action: int | None = node.actions[place]
        episode = node.episode
        while action is not None:
            episode = env.following(episode, action)
            if episode.is_over:
                return self._ends.scaled_reward(env, episode)
            action = forced_action(env.allowed(episode))
        return self._new_node(env, episode)


def forced_action(allowed: tuple[bool, ...]) -> int | None:
    """Return the only action that is allowed; None where there is a choice."""
    return allowed.index(True) if sum(allowed) == 1 else None


def _node_of_episode(root: SearchNode, episode: Episode) -> SearchNode | None:
    """Return the node of an episode that is the root's, or behind one of its edges."""
    for node in (root, *root.children.values()):
        if isinstance(node, SearchNode) and _is_same_state(node.episode, episode):
            return node
    return None


def _is_same_state(one: Episode, other: Episode) -> bool:
    return one.task is other.task and one.actions == other.actions
