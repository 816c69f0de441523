"""Policies for the environments, behind one protocol.

``heuristics`` are the rules of the paper and two deterministic ones, ``search`` looks ahead in
copies of the environment, ``networks`` wraps a trained model of stable-baselines3 or sb3-contrib;
all of
them are a :class:`Policy`, and :func:`run_episode` runs any of them::

    env = gymnasium.make("polygym:polygym/Schedule-v0", kernel="mvt", reward="static")
    ending = run_episode(env, Heuristic("bias_coeff_0", seed=1))
    print(ending.reward, ending.info["schedule"])
"""

from agents.policies.heuristics import Heuristic
from agents.policies.networks import Network
from agents.policies.protocol import Ending, Policy, run_episode
from agents.policies.search import RolloutSearch

__all__ = ["Ending", "Heuristic", "Network", "Policy", "RolloutSearch", "run_episode"]
