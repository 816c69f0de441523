"""Agents for the environments: rules, trained networks, trainers, and their evaluation.

``policies``     one protocol for rules, trained networks and look-ahead searches
``networks``     networks over the sets of an observation
``trainers``     trainings that go on after a kill, in one loop for all algorithms
``experiments``  trainings as YAML files, and the split of kernels into training and tests
``evaluation``   results of agents: run, compared, validated, as films
``pretraining``  the weights of the pretrained policy

It needs the libraries of ``pip install 'polygym[agents]'``. ``polygym train``, ``evaluate``,
``compare``, ``validate`` and ``film`` are its commands.
"""

from importlib.util import find_spec

from polygym.errors import MissingLibraryError

__all__ = ["networks", "policies"]

for _library in ("torch", "yaml", "stable_baselines3", "sb3_contrib"):
    if find_spec(_library) is None:
        raise MissingLibraryError("polygym.agents", _library, "agents")
