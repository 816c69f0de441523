"""How a network is fitted to positions: its priors to the targets, its values to the returns.

The loss of a batch is the mean over its positions of

    - Σ target(a) log prior(a)  +  value_weight (value - return)²,

where priors are under the mask, so that what is not allowed costs nothing and is not learned.
Example: a target of (1, 0) and priors of (1/2, 1/2) cost ln 2, and a value that is 2 off, at a
weight of 1/2, costs 2.
"""

from __future__ import annotations

from typing import Any

from agents.experiments.options import FittingOptions
from agents.policies.guide import masked_priors_and_values
from agents.trainers.policy_dataset import PolicyBatch


def fit_batch(model: Any, batch: PolicyBatch, options: FittingOptions) -> tuple[float, float]:
    """Take one step of the model's optimiser; return both parts of the loss before it."""
    import torch

    policy = model.policy
    policy.set_training_mode(True)
    shown, _ = policy.obs_to_tensor(batch.observations)
    logarithms, values = masked_priors_and_values(
        policy, shown, torch.as_tensor(batch.action_masks)
    )
    of_actions = -(torch.as_tensor(batch.targets) * logarithms).sum(-1).mean()
    of_values = ((values - torch.as_tensor(batch.value_targets)) ** 2).mean()
    policy.optimizer.zero_grad()
    (of_actions + options.value_weight * of_values).backward()
    torch.nn.utils.clip_grad_norm_(policy.parameters(), options.max_grad_norm)
    policy.optimizer.step()
    return float(of_actions.detach()), float(of_values.detach())
