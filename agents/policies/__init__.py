"""Policies for the environments, behind one protocol.

``heuristics`` are the rules of the paper and two deterministic ones, ``search`` looks ahead with a
rule, ``networks`` wraps a trained model of stable-baselines3 or sb3-contrib, ``tree`` and ``beam``
look ahead with one as their ``guide``, and ask what ``ends`` are worth. All of them are a
:class:`EnvPolicy` of the ``protocol``, and :func:`run_episode` runs any of them::

    env = gymnasium.make("polygym:polygym/Schedule-v0", kernel="mvt", reward="static")
    ending = run_episode(env, Heuristic("bias_coeff_0", seed=1))
    print(ending.reward, ending.info["schedule"])
"""

from agents.policies.beam_search import BeamSearch
from agents.policies.env_policy import EnvPolicy, EpisodeSummary, run_episode
from agents.policies.guide import NetworkGuide
from agents.policies.heuristics import RolloutSearch, RulePolicy
from agents.policies.trained_network import TrainedPolicy
from agents.policies.tree_search import TreeSearch

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
