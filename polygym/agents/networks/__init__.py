"""Networks over observations: sets of statements, dependences and choices, or plain layers.

``set_network`` is the network in PyTorch; it does not depend on the order of rows. ``set_policies``
makes it a policy of stable-baselines3's and sb3-contrib's algorithms::

    model = MaskablePPO(MaskableSetPolicy, gymnasium.make("polygym:polygym/Optimize-v0"))

``mlp_policies`` is the ablation: the libraries' own layers over all tables side by side, quicker.
"""

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.agents.networks.mlp_policies import LogExtractor, MaskableMlpPolicy
    from polygym.agents.networks.set_network import SetNetwork
    from polygym.agents.networks.set_policies import MaskableSetPolicy, SetExtractor, SetPolicy
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
