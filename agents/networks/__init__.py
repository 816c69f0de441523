"""Networks that read an observation as what it is: sets of statements, dependences and choices.

``sets`` is the network, plain PyTorch: what is in a table's rows, in whatever order, it sees the
same. ``policies`` makes it the policy of stable-baselines3's and sb3-contrib's algorithms::

    model = MaskablePPO(MaskableSetPolicy, gymnasium.make("polygym:polygym/Optimize-v0"))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polygym.lazy import lazily

if TYPE_CHECKING:
    from agents.networks.policies import MaskableSetPolicy, SetExtractor, SetPolicy
    from agents.networks.sets import SetNetwork
else:
    __getattr__ = lazily(
        __name__,
        {
            "policies": ("MaskableSetPolicy", "SetExtractor", "SetPolicy"),
            "sets": ("SetNetwork",),
        },
    )

__all__ = ["MaskableSetPolicy", "SetExtractor", "SetNetwork", "SetPolicy"]
