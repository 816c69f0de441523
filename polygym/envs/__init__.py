"""The Gymnasium environments: Construct-v0, Explore-v0, Schedule-v0, Optimize-v0, Transform-v0.

Thin shells around :mod:`polygym.mdp`: ``base`` is their common part, ``storage_base`` that of two;
``schedule``, ``optimize`` and ``transform`` are the environments, with shared ``documentation``,
and ``registration`` names them to Gymnasium. ``render`` shows an episode with ``decision_text``,
``graph_view`` shows observations as graphs, ``text_view`` is an environment of texts, ``vector``
steps many episodes together, ``snapshots`` copies an environment. ``episode_end`` is the reward and
the ``info`` of an end, also where another machine measures it.
"""

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.envs.base import PolygymEnv
    from polygym.envs.graph_view import GraphView
    from polygym.envs.optimize import OptimizeEnv
    from polygym.envs.schedule import ConstructEnv, ExploreEnv, ScheduleEnv
    from polygym.envs.text_view import TextView
    from polygym.envs.transform import TransformEnv
else:
    __getattr__ = lazy_attributes(__name__)

__all__ = [
    "ConstructEnv",
    "ExploreEnv",
    "GraphView",
    "OptimizeEnv",
    "PolygymEnv",
    "ScheduleEnv",
    "TextView",
    "TransformEnv",
]
