"""Policies for the environments, behind one protocol.

``env_policy`` is the protocol. ``heuristics`` are the rules of the paper, two deterministic ones,
and a search with a rule; ``trained_network`` wraps a model of stable-baselines3 or sb3-contrib;
``tree_search`` and ``beam_search`` look ahead with one as their ``guide``::

    env = gymnasium.make("polygym:polygym/Schedule-v0", kernel="mvt", reward="static")
    ending = run_episode(env, RulePolicy("bias_coeff_0", seed=1))
    print(ending.reward, ending.info["schedule"])
"""

from polygym.agents.policies.beam_search import BeamSearch
from polygym.agents.policies.env_policy import EnvPolicy, EpisodeSummary, run_episode
from polygym.agents.policies.guide import NetworkGuide
from polygym.agents.policies.heuristics import RolloutSearch, RulePolicy
from polygym.agents.policies.trained_network import TrainedPolicy
from polygym.agents.policies.tree_search import TreeSearch

__all__ = [
    "BeamSearch",
    "EnvPolicy",
    "EpisodeSummary",
    "NetworkGuide",
    "RolloutSearch",
    "RulePolicy",
    "TrainedPolicy",
    "TreeSearch",
    "run_episode",
]
