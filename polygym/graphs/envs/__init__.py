"""Environments of tensor graphs: ``polygym/Saturate-v0`` and ``polygym/Substitute-v0``.

The environments are thin shells, whose common part is ``base``, around the episodes, which are
values. A ``task`` is what an episode is about, ``rule_groups`` divide its rules.
``observation_tables`` have graphs in flat arrays, ``rendering`` texts and pictures, ``records``
episodes as JSON, which ``record_replay`` plays again, ``policies`` those that agents have to beat.
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
