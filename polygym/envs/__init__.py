"""The Gymnasium environments: Construct-v0, Explore-v0, Schedule-v0 and Optimize-v0 of polygym.

Thin shells around :mod:`polygym.mdp`: ``base`` is what they have in common (observation,
masks, rendering by ``render``, which takes its words from ``questions``, export), ``construct``,
``explore``, ``schedule`` and ``optimize`` are the environments, whose ``documentation`` has what
their docstrings share; ``storing`` is the part of the last two that decides where values are kept,
and ``registration`` names them to Gymnasium. ``forks`` copies an environment, ``vector`` steps many
episodes of one together, ``graph`` shows observations as graphs, ``endings`` has what the last
``info`` says, ``settling`` what an end is worth, and ``elsewhere`` is who else may measure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.envs.base import PolygymEnv
    from polygym.envs.construct import ConstructEnv
    from polygym.envs.explore import ExploreEnv
    from polygym.envs.graph_view import GraphView
    from polygym.envs.optimize import OptimizeEnv
    from polygym.envs.schedule import ScheduleEnv
else:
    __getattr__ = lazy_attributes(__name__)

__all__ = [
    "ConstructEnv",
    "ExploreEnv",
    "GraphView",
    "OptimizeEnv",
    "PolygymEnv",
    "ScheduleEnv",
]
