"""A search along a beam: the likeliest beginnings of episodes, side by side, and the best end.

Of all children of the episodes in the beam the ``width`` with the largest sums of log priors are
kept, level by level, with the priors of a guide; a sum never grows with an action, so nothing that
was left is likelier than what is kept at its level. Those that are over leave the beam and get what
the environment pays for them, and the best of these is the plan, which is followed to its end.

With a width of 1 that is the likeliest action each time. Example, a width of 2 and priors 0.6 and
0.4, then 0.5 and 0.5 behind the first, 0.9 and 0.1 behind the second: 0.4 · 0.9 = 0.36 and
0.6 · 0.5 = 0.30 are kept, and the first of the two begins with the less likely action.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Any

import gymnasium

from agents.policies.ends import Ends
from agents.policies.guide import Guide
from agents.policies.protocol import inner
from polygym.envs.base import PolygymEnv
from polygym.episodes.episode import Episode, Task
from polygym.episodes.tables import Observation
from polygym.search.planning.beam import levels


@dataclass(frozen=True, slots=True)
class _Way:
    """An episode, the agent's actions and the states before them, and the sum of log priors."""

    episode: Episode
    steps: tuple[tuple[tuple[int, ...], int], ...] = ()
    likelihood: float = 0.0


class BeamSearch:
    """Makes a plan where an episode begins and follows it; makes another one if it has to."""

    def __init__(self, guide: Guide, width: int) -> None:
        self._guide, self._width = guide, width
        self._ends = Ends()
        self._plan: dict[tuple[int, ...], int] = {}
        self._task: Task | None = None

    def __call__(self, env: gymnasium.Env[Any, Any], observation: Observation) -> int:
        """Return the plan's action."""
        found = inner(env)
        episode = found.episode
        if self._task is not episode.task or episode.actions not in self._plan:
            self._task, self._plan = episode.task, dict(self._best(found.fork()).steps)
        return self._plan[episode.actions]

    def _best(self, env: PolygymEnv) -> _Way:
        """Return the way to the end that is worth most, the likeliest of equal ones."""
        kept = levels(
            [_Way(env.episode)],
            lambda way: [] if way.episode.is_over else self._children(env, way),
            lambda way: way.likelihood,
            self._width,
        )
        ends = [way for level in kept for way in level if way.episode.is_over]
        ends.sort(key=lambda way: -way.likelihood)
        return max(ends, key=lambda way: self._ends.worth(env, way.episode))

    def _children(self, env: PolygymEnv, way: _Way) -> list[_Way]:
        episode = way.episode
        allowed = [place for place, may in enumerate(env.allowed(episode)) if may]
        if len(allowed) == 1:
            priors = {allowed[0]: 1.0}
        else:
            every, _ = self._guide(env, episode)
            priors = {place: float(every[place]) for place in allowed}
        return [
            _Way(
                env.following(episode, place),
                (*way.steps, (episode.actions, place)),
                way.likelihood + log(max(prior, 1e-300)),
            )
            for place, prior in priors.items()
        ]
