"""A search along a beam: the likeliest beginnings of episodes, side by side, and the best end.

Of all children of the episodes in the beam the ``width`` with the largest sums of log priors are
kept, level by level, with the priors of a guide; a sum never grows with an action, so nothing that
was left is likelier than what is kept at its level. Those that are over leave the beam and get what
the environment pays for them, and the best of these is the plan, which is followed to its end.

No more than 2 ``width`` states are kept at a time, those of a level and of the one before: a child
is an action until it is one of the ``width``, and of the ends only the best is kept.

With a width of 1 that is the likeliest action each time. Example, a width of 2 and priors 0.6 and
0.4, then 0.5 and 0.5 behind the first, 0.9 and 0.1 behind the second: 0.4 · 0.9 = 0.36 and
0.6 · 0.5 = 0.30 are kept, and the first of the two begins with the less likely action.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Any

import gymnasium

from polygym.agents.policies.env_policy import inner_env
from polygym.agents.policies.guide import EndRewards, SearchGuide
from polygym.envs.base import PolygymEnv
from polygym.mdp.episode import Episode, Task
from polygym.mdp.observation.arrays import Observation
from polygym.search.planning.simple_searches import levels

MOST_WIDTH = 10_000
"""Of a beam: a level asks a network as often, some milliseconds each; gemm's take 60 MB."""


@dataclass(frozen=True, slots=True, eq=False)
class _BeamStep:
    """The agent's action in a state, which its episode's actions are, and the step before."""

    state: tuple[int, ...]
    action_index: int
    previous: _BeamStep | None


@dataclass(frozen=True, slots=True, eq=False)
class _BeamState:
    """A state, the step that is to be taken from it, and the sum of log priors with that.

    At the beginning there is no step.
    """

    episode: Episode
    step: _BeamStep | None = None
    log_likelihood: float = 0.0

    def next_episode(self, env: PolygymEnv) -> Episode:
        """Return the state behind the step."""
        return (
            self.episode
            if self.step is None
            else env.following(self.episode, self.step.action_index)
        )


class BeamSearch:
    """Makes a plan where an episode begins and follows it; makes another one if it has to."""

    def __init__(self, guide: SearchGuide, width: int) -> None:
        self._guide, self._width = guide, width
        self._ends = EndRewards()
        self._plan: dict[tuple[int, ...], int] = {}
        self._task: Task | None = None

    def __call__(self, env: gymnasium.Env[Any, Any], observation: Observation) -> int:
        """Return the plan's action."""
        polygym_env = inner_env(env)
        episode = polygym_env.episode
        if self._task is not episode.task or episode.actions not in self._plan:
            self._task, self._plan = episode.task, self._best_plan(polygym_env.fork())
        return self._plan[episode.actions]

    def _best_plan(self, env: PolygymEnv) -> dict[tuple[int, ...], int]:
        """Return the actions to the end that is worth most, the likeliest of equal ones."""
        best: tuple[float, float] | None = None
        last: _BeamStep | None = None

        def children(way: _BeamState) -> list[_BeamState]:
            nonlocal best, last
            episode = way.next_episode(env)
            if not episode.is_over:
                return self._children(env, episode, way)
            score = self._ends.scaled_reward(env, episode), way.log_likelihood
            if best is None or score > best:
                best, last = score, way.step
            return []

        for _ in levels(
            [_BeamState(env.episode)], children, lambda way: way.log_likelihood, self._width
        ):
            pass
        plan = {}
        while last is not None:
            plan[last.state] = last.action_index
            last = last.previous
        return plan

    def _children(self, env: PolygymEnv, episode: Episode, way: _BeamState) -> list[_BeamState]:
        allowed = [place for place, may in enumerate(env.allowed(episode)) if may]
        if len(allowed) == 1:
            priors = {allowed[0]: 1.0}
        else:
            every, _ = self._guide(env, episode)
            priors = {place: float(every[place]) for place in allowed}
        return [
            _BeamState(
                episode,
                _BeamStep(episode.actions, place, way.step),
                way.log_likelihood + log(max(prior, 1e-300)),
            )
            for place, prior in priors.items()
        ]
