"""What complete episodes are worth to a search, remembered, since many ways lead to one end."""

from __future__ import annotations

from agents.policies.guide import scaled
from polygym.compiler.codegen.common.mapping import Mapping
from polygym.compiler.poly.schedule import Schedule
from polygym.envs.base import PolygymEnv
from polygym.episodes.episode import Episode, Task
from polygym.episodes.task_options import Phase
from polygym.errors import LimitError
from polygym.lru import Memory

_MOST = 1 << 14


class Ends:
    """Asks an environment for what it pays for an end, once for each schedule and mapping."""

    def __init__(self) -> None:
        self._known: Memory[tuple[Task, Schedule, Mapping | None], float] = Memory(_MOST)

    def worth(self, env: PolygymEnv, episode: Episode) -> float:
        """Return what the environment pays for an episode that is over, on the scale of values.

        Where it measures, this measures.
        """
        if episode.phase is Phase.INVALID:
            return scaled(env.worth(episode))
        try:
            key = episode.task, episode.schedule(), episode.mapping
        except LimitError:
            return scaled(env.worth(episode))
        return self._known.get(key, lambda: scaled(env.worth(episode)))
