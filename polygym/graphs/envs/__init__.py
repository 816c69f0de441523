"""Environments of tensor graphs: ``polygym/Saturate-v0`` and ``polygym/Substitute-v0``.

========================  =========================================================================
``base``                  base of the environments of tensor graphs
``observation_tables``    observations
``policies``              fixed policies
``record_replay``         records of episodes of tensor graphs, played again
``records``               episodes of tensor graphs as JSON
``rendering``             an episode as a text, as a picture of its graph, and as a page of pixels
``rule_groups``           the groups of rules that an agent applies together
``saturate_env``          ``polygym/Saturate-v0``
``saturation_episode``    equality saturation as a process
``substitute_env``        ``polygym/Substitute-v0``: one substitution at one place, again and again
``substitution_episode``  substitution as a process
``task``                  task of an episode
========================  =========================================================================
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
