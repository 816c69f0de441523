"""The Gymnasium environments: polygym/Construct-v0, polygym/Explore-v0, polygym/Schedule-v0.

Thin shells around :mod:`polygym.episodes`: ``base`` is what the three have in common (observation,
masks, rendering by ``render``, export), ``construct``, ``explore`` and ``schedule`` are the
environments, whose ``documentation`` has what their docstrings share, and ``registration`` names
them to Gymnasium.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polygym.lazy import lazily

if TYPE_CHECKING:
    from polygym.envs.base import PolygymEnv
    from polygym.envs.construct import ConstructEnv
    from polygym.envs.explore import ExploreEnv
    from polygym.envs.schedule import ScheduleEnv
else:
    __getattr__ = lazily(
        __name__,
        {
            "base": ("PolygymEnv",),
            "construct": ("ConstructEnv",),
            "explore": ("ExploreEnv",),
            "schedule": ("ScheduleEnv",),
        },
    )

__all__ = [
    "ConstructEnv",
    "ExploreEnv",
    "PolygymEnv",
    "ScheduleEnv",
]
