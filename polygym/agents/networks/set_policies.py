"""The network over sets as a policy of stable-baselines3 and sb3-contrib.

    MaskablePPO(MaskableSetPolicy, env)
    PPO(SetPolicy, env)

What these call a features extractor is the whole network: its features are the context and the
scores of the actions, side by side. The action's part of the policy takes the scores as they are,
the value's part looks at the context.

``coefficient_0`` has a policy begin with the choices of ``bias_coeff_0``, as the plain network does
(:mod:`polygym.agents.networks.mlp_policies`).
"""

from typing import Any

import torch
from gymnasium import spaces
from sb3_contrib.common.maskable.policies import MaskableMultiInputActorCriticPolicy
from stable_baselines3.common.policies import MultiInputActorCriticPolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import Tensor, nn

from polygym.agents.networks.mlp_policies import initial_coefficient_score
from polygym.agents.networks.set_network import SetNetwork
from polygym.errors import InputError
from polygym.mdp.mapping_decisions import ANSWERS
from polygym.mdp.observation.arrays import MOST_STATEMENTS
from polygym.mdp.observation.episode_arrays import ROW_COLUMNS
from polygym.mdp.task_options import CONSTRUCTION_ACTIONS


class SetExtractor(BaseFeaturesExtractor):
    """Contexts and scores, as one vector.

    ``actions`` are those of an episode; an environment in which an agent has a part of them takes
    the ``first`` ones from there on.
    """

    def __init__(
        self, observation_space: spaces.Dict, actions: int, first: int = 0, width: int = 64
    ) -> None:
        super().__init__(observation_space, width + actions)
        decides, stores, transforms = (
            name in observation_space.spaces for name in ("choices", "storage_choices", "loops")
        )
        dimensions, rest = divmod(
            _size(observation_space["rows"]), MOST_STATEMENTS * len(ROW_COLUMNS)
        )
        coefficients = (
            first + actions - CONSTRUCTION_ACTIONS - (ANSWERS if decides or stores else 0)
        )
        if transforms:
            coefficients = 2
        if rest or (first + actions > CONSTRUCTION_ACTIONS and coefficients < 2):
            raise InputError(
                "a network over sets: expected the observation and the actions of one of "
                f"polygym's environments, found {actions} actions from number {first} on"
            )
        self.network = SetNetwork(
            dimensions,
            max(2, coefficients),
            decides=decides,
            stores=stores,
            transforms=transforms,
            width=width,
        )
        self.first, self.actions = first, actions

    def forward(self, observations: dict[str, Tensor]) -> Tensor:
        """Return both, side by side."""
        context, scores = self.network(observations)
        return torch.cat([context, scores[:, self.first : self.first + self.actions]], -1)


# Both kinds bring what a policy is themselves, and agree in it; their types have no common class.
_Policy: Any = object


class _VectorSlice(nn.Module):
    """A part of a vector."""

    def __init__(self, begin: int, end: int | None = None) -> None:
        super().__init__()
        self._part = slice(begin, end)

    def forward(self, vector: Tensor) -> Tensor:
        return vector[..., self._part]


class _SetPolicyMixin(_Policy):  # type: ignore[misc]
    """A policy whose scores and values are the network's."""

    action_net: Any
    value_net: Any

    def __init__(
        self,
        observation_space: spaces.Dict,
        action_space: spaces.Discrete,
        lr_schedule: Any,
        *,
        width: int = 64,
        first: int = 0,
        coefficient_0: float = 1.0,
        **others: Any,
    ) -> None:
        self._score_of_0 = initial_coefficient_score(
            coefficient_0, first <= CONSTRUCTION_ACTIONS < first + int(action_space.n)
        )
        if type(width) is not int or width < 1:
            raise InputError(f"width: expected a number from 1 on, found {width!r}")
        self._width = width
        others |= {
            "net_arch": [],
            "ortho_init": False,
            "features_extractor_class": SetExtractor,
            "features_extractor_kwargs": {
                "actions": int(action_space.n),
                "first": first,
                "width": width,
            },
        }
        super().__init__(observation_space, action_space, lr_schedule, **others)

    def _build(self, lr_schedule: Any) -> None:
        """Take scores and values from the network, and have the optimiser know of it."""
        super()._build(lr_schedule)
        network: Any = self.features_extractor
        with torch.no_grad():
            network.network.coefficients.bias[0] += self._score_of_0
        self.action_net = _VectorSlice(self._width)
        self.value_net = nn.Sequential(_VectorSlice(0, self._width), network.network.value)
        self.optimizer = self.optimizer_class(
            self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs
        )


class MaskableSetPolicy(_SetPolicyMixin, MaskableMultiInputActorCriticPolicy):
    """For MaskablePPO."""


class SetPolicy(_SetPolicyMixin, MultiInputActorCriticPolicy):
    """For PPO and A2C, which know no masks."""


def _size(box: spaces.Space[Any]) -> int:
    assert isinstance(box, spaces.Box)
    return int(box.shape[0])
