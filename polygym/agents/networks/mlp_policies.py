"""The plain network, layers over all tables side by side, as a policy that wastes no time on zeros.

    MaskablePPO(MaskableMlpPolicy, env)

It computes what ``MultiInputPolicy`` of sb3-contrib computes, with the same layers and the same
initial weights. Tables have rows for the largest programs, so most entries of an observation are 0.
Weights of columns in which a whole batch is 0 have no effect, and are not read::

    x = (3, 0, 0, 1), w = (a, b, c, d):    w·x = 3a + d

For the actions of a rollout no distribution of PyTorch is made, whose checks take longer than the
network.

``logarithms`` shows the numbers of what remains as log2(1 + n), as the network over sets sees them:
by themselves they are a hundred times as large as all else there is.

A policy begins with equal probabilities of all allowed actions. ``coefficient_0`` has it begin with
the coefficient 0, which makes simple schedules, so many times as likely as another coefficient:
1/0.15, about 6.7, are the probabilities of ``bias_coeff_0``. The scores of an untrained network are
about 0, so it is enough to add ln(coefficient_0) to one of them; training moves it like any other
weight.
"""

from math import inf, log
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from sb3_contrib.common.maskable.policies import MaskableMultiInputActorCriticPolicy
from stable_baselines3.common.torch_layers import CombinedExtractor
from torch import Tensor, nn

from polygym.errors import InputError
from polygym.mdp.task_options import CONSTRUCTION_ACTIONS

_REMAINING = "remaining"
# What sb3-contrib has in place of the score of an action that the mask forbids.
_MASKED_SCORE = -1e8

# Makes a layer without sampling its weights; PyTorch has no types for it.
_skip_init: Any = nn.utils.skip_init

# The types of sb3-contrib's policies say nothing that a strict check could use.
_Policy: Any = MaskableMultiInputActorCriticPolicy


def initial_coefficient_score(coefficient_0: float, decides_on_coefficients: bool) -> float:
    """Return the score with which the coefficient 0 begins; 0 where it is as likely as others.

    >>> round(initial_coefficient_score(6.7, True), 2)
    1.9
    """
    is_number = isinstance(coefficient_0, int | float) and not isinstance(coefficient_0, bool)
    if not is_number or not 0 < coefficient_0 < inf:
        raise InputError(f"coefficient_0: expected more than 0, found {coefficient_0!r}")
    if coefficient_0 != 1 and not decides_on_coefficients:
        raise InputError("coefficient_0: expected an agent that decides on coefficients")
    return log(coefficient_0)


class MaskableMlpPolicy(_Policy):  # type: ignore[misc]
    """For MaskablePPO; an agent's actions are those of an episode from number ``first`` on."""

    mlp_extractor: Any
    action_net: Any

    def __init__(
        self,
        observation_space: spaces.Dict,
        action_space: spaces.Discrete,
        lr_schedule: Any,
        *,
        first: int = 0,
        logarithms: bool = False,
        coefficient_0: float = 1.0,
        **others: Any,
    ) -> None:
        if not isinstance(logarithms, bool):
            raise InputError(f"logarithms: expected true or false, found {logarithms!r}")
        end = first + int(action_space.n)
        score = initial_coefficient_score(coefficient_0, CONSTRUCTION_ACTIONS < end)
        self._coefficient_0 = CONSTRUCTION_ACTIONS - first, score
        if logarithms:
            others["features_extractor_class"] = LogExtractor
        super().__init__(observation_space, action_space, lr_schedule, **others)

    def _build(self, lr_schedule: Any) -> None:
        """Have the coefficient 0 be likelier at first."""
        super()._build(lr_schedule)
        action, score = self._coefficient_0
        if score:
            with torch.no_grad():
                self.action_net.bias[action] += score

    def _build_mlp_extractor(self) -> None:
        """Have the first layers leave out columns of zeros."""
        super()._build_mlp_extractor()
        for layers in (self.mlp_extractor.policy_net, self.mlp_extractor.value_net):
            if len(layers):
                first = layers[0]
                layers[0] = _skip_init(_SparseInputLinear, first.in_features, first.out_features)
                layers[0].load_state_dict(first.state_dict())

    def forward(
        self,
        obs: dict[str, Tensor],
        deterministic: bool = False,
        action_masks: np.ndarray[Any, Any] | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return actions, values, and the logarithms of the probabilities of the actions."""
        if not self.share_features_extractor:
            result: tuple[Tensor, Tensor, Tensor] = super().forward(
                obs, deterministic, action_masks
            )
            return result
        of_actions, of_values = self.mlp_extractor(self.extract_features(obs))
        scores = self.action_net(of_actions)
        if action_masks is not None:
            allowed = torch.as_tensor(action_masks, dtype=torch.bool).reshape(scores.shape)
            scores = scores.masked_fill(~allowed, _MASKED_SCORE)
        logarithms = torch.log_softmax(scores, -1)
        if deterministic:
            actions = logarithms.argmax(-1)
        else:
            actions = torch.multinomial(logarithms.exp(), 1, replacement=True)[:, 0]
        return actions, self.value_net(of_values), logarithms.gather(1, actions[:, None])[:, 0]


class LogExtractor(CombinedExtractor):
    """All arrays side by side, what remains as logarithms."""

    def forward(self, observations: dict[str, Tensor]) -> Tensor:
        """Return a row for every observation."""
        shown = {**observations, _REMAINING: torch.log2(1.0 + observations[_REMAINING])}
        tensor: Tensor = super().forward(shown)
        return tensor


class _SparseInputLinear(nn.Linear):
    """A layer that does not read weights for columns in which the whole batch has 0."""

    def forward(self, rows: Tensor) -> Tensor:
        used = (rows != 0).any(0).nonzero()[:, 0]
        return nn.functional.linear(rows[:, used], self.weight[:, used], self.bias)
