"""Networks that read an observation as what it is: sets of statements, dependences and choices.

``sets`` is the network, plain PyTorch: what is in a table's rows, in whatever order, it sees the
same. ``policies`` makes it the policy of stable-baselines3's and sb3-contrib's algorithms::

    model = MaskablePPO(MaskableSetPolicy, gymnasium.make("polygym:polygym/Optimize-v0"))

``plain`` is the ablation: the libraries' own layers over all tables side by side, quicker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from agents.networks.mlp_policies import LogExtractor, MaskableMlpPolicy
    from agents.networks.set_network import SetNetwork
    from agents.networks.set_policies import MaskableSetPolicy, SetExtractor, SetPolicy
else:
    __getattr__ = lazy_attributes(__name__)

__all__ = [
    "LogExtractor",
    "MaskableMlpPolicy",
    "MaskableSetPolicy",
    "SetExtractor",
    "SetNetwork",
    "SetPolicy",
]
