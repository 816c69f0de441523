"""Environments of tensor graphs: ``polygym/Saturate-v0`` and ``polygym/Substitute-v0``.

``saturate`` and ``substitute`` are the environments: thin shells, whose common part is ``base``,
around the processes ``saturation`` and ``substitution``, which are values. A ``task`` is what an
episode is about, ``groups`` divide its rules, ``extracting`` takes a graph out of an e-graph, and
``candidates`` are the substitutions that a graph allows. ``shown`` puts graphs into flat arrays,
``render`` into text and pictures, ``records`` episodes into JSON, and ``replaying`` plays them
again. ``policies`` are those that an agent has to beat. ``numbers`` checks arguments,
``documentation`` is what docstrings share.
"""

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.graphs.envs.base import GraphEnv
    from polygym.graphs.envs.policies import SteepestDescent, Tensat
    from polygym.graphs.envs.record_replay import replay
    from polygym.graphs.envs.rule_groups import RuleGroup, rule_group
    from polygym.graphs.envs.saturate_env import SaturateEnv
    from polygym.graphs.envs.substitute_env import SubstituteEnv
else:
    __getattr__ = lazy_attributes(__name__)

__all__ = [
    "GraphEnv",
    "RuleGroup",
    "SaturateEnv",
    "SteepestDescent",
    "SubstituteEnv",
    "Tensat",
    "replay",
    "rule_group",
]
