"""Contenders that choose rules: each takes an episode of ``polygym/Saturate-v0`` to its end.

============== ===================================================================================
contender      which rules are applied
============== ===================================================================================
all            all rules together, again and again
tensat-K       rules of several outputs in K iterations, the others until nothing changes
single-first   rules of one output until nothing changes, then those of several, and so on
backoff-M      all rules; one of more than M matches pauses, as egg's scheduler has it (M = 1000)
random         a random group that is allowed, until none is
random-8       the best of eight such episodes
mcts           the group that UCT visits, as MCTS-GEB has it: ``MCTS_BUDGET`` simulations an action,
               random rollouts of at most ``MCTS_ROLLOUT`` groups, rewards are falls of the cost
trained        the likeliest group of a trained policy, which also decides when to extract
trained-8      the best of eight samples of that policy
============== ===================================================================================

All but the trained one go on until nothing changes or a limit is reached: nodes or steps. All end
with optimal extraction. A contender is a function of an episode and a generator.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, TypeAlias

import numpy as np

from polygym.graphs.envs import Tensat
from polygym.graphs.envs.saturation_episode import (
    ALL_MULTI_SOURCE,
    ALL_SINGLE_SOURCE,
    EXTRACT_OPTIMAL,
    SaturationEpisode,
)
from polygym.rewrite.egraph import run_iteration
from polygym.rewrite.egraph.application import RuleProgram
from polygym.rewrite.egraph.matching import EGraphPattern, OperatorIndex
from polygym.rewrite.rule import Rule

__all__ = ["CONTENDERS", "SAMPLES", "Contender", "play"]

Contender: TypeAlias = Callable[[SaturationEpisode, np.random.Generator], SaturationEpisode]
_Choice: TypeAlias = Callable[[SaturationEpisode], int]

SAMPLES = 8
MCTS_BUDGET, MCTS_ROLLOUT = 16, 4
_EXPLORATION = 1.0
_BAN_LENGTH = 5
"""egg's default."""


def play(episode: SaturationEpisode, choice: _Choice) -> SaturationEpisode:
    """Return the end of an episode."""
    while not episode.is_over:
        episode = episode.after(choice(episode))
    return episode


def _groups(episode: SaturationEpisode) -> list[int]:
    """Return the single groups that are allowed."""
    return [action for action in range(ALL_SINGLE_SOURCE) if not episode.refusal(action)]


def _single_first(episode: SaturationEpisode) -> int:
    for action in (ALL_SINGLE_SOURCE, ALL_MULTI_SOURCE):
        if not episode.refusal(action):
            return action
    return EXTRACT_OPTIMAL


@dataclass(frozen=True)
class _EnvOfEpisode:
    """What a fixed policy looks at."""

    episode: SaturationEpisode

    @property
    def unwrapped(self) -> _EnvOfEpisode:
        return self


def _tensat(k_multi: int) -> Contender:
    policy: Any = Tensat(k_multi)
    return lambda start, _: play(start, lambda episode: int(policy(_EnvOfEpisode(episode))))


def _random(start: SaturationEpisode, rng: np.random.Generator) -> SaturationEpisode:
    def choice(episode: SaturationEpisode) -> int:
        groups = _groups(episode)
        return int(rng.choice(groups)) if groups else EXTRACT_OPTIMAL

    return play(start, choice)


def _best_random(start: SaturationEpisode, rng: np.random.Generator) -> SaturationEpisode:
    return min((_random(start, rng) for _ in range(SAMPLES)), key=lambda end: end.cost)


def _all_rules(start: SaturationEpisode, _: np.random.Generator) -> SaturationEpisode:
    return _iterated(start, lambda episode, rules: rules)


def _backoff(match_limit: int) -> Contender:
    def contender(start: SaturationEpisode, _: np.random.Generator) -> SaturationEpisode:
        scheduler = _BackoffScheduler(match_limit)
        return _iterated(start, scheduler.rules_of_iteration, lambda: scheduler.is_waiting)

    return contender


def _iterated(
    start: SaturationEpisode,
    chosen: Callable[[SaturationEpisode, list[Rule]], list[Rule]],
    is_waiting: Callable[[], bool] = lambda: False,
) -> SaturationEpisode:
    """Apply rules of the whole table in iterations, without groups; then extract."""
    egraph, options = start.egraph.copy(), start.options
    rules = [rule for group in start.task.groups.values() for rule in group]
    episode = start
    for _ in range(options.max_steps):
        done = run_iteration(egraph, chosen(episode, rules), options.max_nodes)
        episode = replace(start, egraph=egraph, root=egraph.find(start.root))
        if done.stop is not None or not (done.changed or is_waiting()):
            break
    return episode.after(EXTRACT_OPTIMAL)


@dataclass
class _BackoffScheduler:
    """A rule with more than limit · 2ⁿ matches is left out of 5 · 2ⁿ iterations, n times so far."""

    match_limit: int
    iteration: int = 0
    bans: dict[str, int] = field(default_factory=dict)
    banned_until: dict[str, int] = field(default_factory=dict)

    @property
    def is_waiting(self) -> bool:
        """Whether a rule is left out that will come back."""
        return any(end > self.iteration for end in self.banned_until.values())

    def rules_of_iteration(self, episode: SaturationEpisode, rules: list[Rule]) -> list[Rule]:
        """Return the rules that are applied now."""
        self.iteration += 1
        index = OperatorIndex(episode.egraph)
        result = []
        for rule in rules:
            if self.banned_until.get(rule.name, 0) >= self.iteration:
                continue
            times = self.bans.get(rule.name, 0)
            most = self.match_limit << times
            if _match_count(episode, index, rule, most + 1) > most:
                self.bans[rule.name] = times + 1
                self.banned_until[rule.name] = self.iteration + (_BAN_LENGTH << times)
                continue
            result.append(rule)
        return result


def _match_count(episode: SaturationEpisode, index: OperatorIndex, rule: Rule, most: int) -> int:
    """Return how many matches a rule has, counted up to a number."""
    types = episode.egraph.types
    join = types.compiled(RuleProgram, rule).join
    found = [types.compiled(EGraphPattern, pattern).matches(index) for pattern in join.patterns]
    return sum(1 for _ in islice(join.rows(found), most)) if rule.is_multiple else len(found[0])


@dataclass
class _TreeNode:
    """A state, what was tried in it, and what came of it."""

    episode: SaturationEpisode
    children: dict[int, _TreeNode] = field(default_factory=dict)
    visits: int = 0
    total: float = 0.0

    def best_action(self, exploration: float) -> int:
        """Return the action of the largest upper confidence bound; the first of equals."""

        def bound(action: int) -> float:
            child = self.children[action]
            spread = exploration * math.sqrt(math.log(max(1, self.visits)) / child.visits)
            return child.total / child.visits + spread

        return max(self.children, key=bound)


def _mcts(start: SaturationEpisode, rng: np.random.Generator) -> SaturationEpisode:
    node = _TreeNode(start)
    while _groups(node.episode):
        for _ in range(MCTS_BUDGET):
            _simulate(node, rng)
        node = node.children[node.best_action(0.0)]
    return node.episode.after(EXTRACT_OPTIMAL)


def _simulate(root: _TreeNode, rng: np.random.Generator) -> None:
    """Go down by UCT, expand a state, and go on at random; rewards are falls of the cost."""
    path, node = [root], root
    while True:
        groups = _groups(node.episode)
        untried = [action for action in groups if action not in node.children]
        if not groups:
            break
        if untried:
            action = int(rng.choice(untried))
            node.children[action] = node = _TreeNode(node.episode.after(action))
            path.append(node)
            break
        node = node.children[node.best_action(_EXPLORATION)]
        path.append(node)
    episode = node.episode
    for _ in range(MCTS_ROLLOUT):
        groups = _groups(episode)
        if not groups:
            break
        episode = episode.after(int(rng.choice(groups)))
    for node in path:
        node.visits += 1
        node.total += (root.episode.cost - episode.cost) / root.episode.task.initial_cost


CONTENDERS: dict[str, Contender] = {
    "all": _all_rules,
    "tensat-1": _tensat(1),
    "tensat-2": _tensat(2),
    "single-first": lambda start, _: play(start, _single_first),
    "backoff-1000": _backoff(1000),
    "backoff-16": _backoff(16),
    "random": _random,
    f"random-{SAMPLES}": _best_random,
    "mcts": _mcts,
}
