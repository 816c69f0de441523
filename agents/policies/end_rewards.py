"""What complete episodes are worth to a search, remembered, since many ways lead to one end."""

from __future__ import annotations

from agents.policies.guide import scaled_value
from polygym.envs.base import PolygymEnv
from polygym.errors import LimitError
from polygym.lru_cache import LruCache
from polygym.mapping.mapping import Mapping
from polygym.mdp.episode import Episode, Task
from polygym.mdp.task_options import Phase
from polygym.poly.schedule import Schedule

_MEMO_SIZE = 1 << 14


class EndRewards:
    """Asks an environment for what it pays for an end, once for each schedule and mapping."""

    def __init__(self) -> None:
        self._known: LruCache[tuple[Task, Schedule, Mapping | None], float] = LruCache(_MEMO_SIZE)

    def scaled_reward(self, env: PolygymEnv, episode: Episode) -> float:
        """Return what the environment pays for an episode that is over, on the scale of values.

        Where it measures, this measures.
        """
        if episode.phase is Phase.INVALID:
            return scaled_value(env.worth(episode))
        try:
            key = episode.task, episode.schedule(), episode.mapping
        except LimitError:
            return scaled_value(env.worth(episode))
        return self._known.get(key, lambda: scaled_value(env.worth(episode)))
