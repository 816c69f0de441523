"""Networks that read an observation as what it is: sets of statements, dependences and choices.

``sets`` is the network, plain PyTorch: what is in a table's rows, in whatever order, it sees the
same. ``policies`` makes it the policy of stable-baselines3's and sb3-contrib's algorithms::

    model = MaskablePPO(MaskableSetPolicy, gymnasium.make("polygym:polygym/Optimize-v0"))

``plain`` is the ablation: the libraries' own layers over all tables side by side, quicker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polygym.lazy import lazily

if TYPE_CHECKING:
    from agents.networks.plain import LogarithmsExtractor, MaskablePlainPolicy
    from agents.networks.policies import MaskableSetPolicy, SetExtractor, SetPolicy
    from agents.networks.sets import SetNetwork
else:
    __getattr__ = lazily(
        __name__,
        {
            "plain": ("LogarithmsExtractor", "MaskablePlainPolicy"),
            "policies": ("MaskableSetPolicy", "SetExtractor", "SetPolicy"),
            "sets": ("SetNetwork",),
        },
    )

__all__ = [
    "LogarithmsExtractor",
    "MaskablePlainPolicy",
    "MaskableSetPolicy",
    "SetExtractor",
    "SetNetwork",
    "SetPolicy",
]
