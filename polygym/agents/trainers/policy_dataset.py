"""Dataset of positions, each with a target policy and a return.

A position is an observation, the mask, a *target* for every action (a probability: 1 for the
action of a teacher, or the parts of the visits of a search), and a *return* on the scale of values
(:mod:`polygym.agents.policies.guide`), and a *weight*. Most of an observation is 0, so only the
other numbers are kept, with their places.

A network is fitted to positions: its priors to the targets, its values to the returns. The loss of
a batch is the mean over its positions of

    - weight Σ target(a) log prior(a)  +  value_weight (value - return)²,

where priors are under the mask. Example: a target of (1, 0) and priors of (1/2, 1/2) cost ln 2, and
a value that is 2 off, at a weight of 1/2, costs 2.
"""

import os
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

from polygym.agents.experiments.options import FittingOptions
from polygym.agents.policies.guide import masked_priors_and_values
from polygym.errors import InputError
from polygym.mdp.observation.arrays import Observation

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class PolicySample:
    """One position; ``indices`` and ``values`` are what is not 0 in its observation."""

    indices: Array
    values: Array
    action_mask: Array
    target: Array
    value_target: float
    weight: float = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class PolicyBatch:
    """Positions together: a row each."""

    observations: dict[str, Array]
    action_masks: Array
    targets: Array
    value_targets: Array
    weights: Array


class PolicyDataset:
    """Positions of one space of observations; with more than ``most`` the oldest are gone."""

    def __init__(self, space: spaces.Space[Any], most: int | None = None) -> None:
        assert isinstance(space, spaces.Dict)
        self._boxes = {name: box for name, box in space.items() if isinstance(box, spaces.Box)}
        self._held: deque[PolicySample] = deque(maxlen=most)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._held)

    def sample(
        self,
        observation: Observation,
        allowed: Sequence[bool],
        target: Array,
        worth: float,
        weight: float = 1.0,
    ) -> PolicySample:
        """Return a position; it is not yet among these."""
        flat = np.concatenate([observation[name].ravel() for name in self._boxes], dtype=np.float64)
        places = np.flatnonzero(flat)
        return PolicySample(
            places.astype(np.int32),
            flat[places],
            np.array(allowed, bool),
            target.astype(np.float32),
            worth,
            weight,
        )

    def extend(self, more: Sequence[PolicySample]) -> None:
        """Add positions."""
        self._held.extend(more)

    def batch(self, numbers: Sequence[int]) -> PolicyBatch:
        """Return the positions of these numbers, the oldest is 0."""
        chosen = [self._held[number] for number in numbers]
        widths = [int(np.prod(box.shape)) for box in self._boxes.values()]
        flat = np.zeros((len(chosen), sum(widths)))
        for row, sample in zip(flat, chosen, strict=True):
            row[sample.indices] = sample.values
        parts = np.split(flat, list(accumulate(widths))[:-1], axis=1)
        return PolicyBatch(
            {
                name: part.reshape(-1, *box.shape).astype(box.dtype)
                for (name, box), part in zip(self._boxes.items(), parts, strict=True)
            },
            np.stack([policy_sample.action_mask for policy_sample in chosen]),
            np.stack([position.target for position in chosen]),
            np.array([position.value_target for position in chosen], np.float32),
            np.array([position.weight for position in chosen], np.float32),
        )

    def save(self, path: Path) -> None:
        """Write all positions to a file, whole or not at all."""
        partial = path.with_name(f"{path.stem}.writing.npz")
        np.savez_compressed(
            partial,
            counts=np.array([len(sample.indices) for sample in self._held], np.int64),
            places=_concatenated([policy_sample.indices for policy_sample in self._held], np.int32),
            numbers=_concatenated([position.values for position in self._held], np.float64),
            allowed=np.array([position.action_mask for position in self._held], bool),
            targets=np.array([position.target for position in self._held], np.float32),
            worths=np.array([position.value_target for position in self._held], np.float64),
            weights=np.array([position.weight for position in self._held], np.float64),
        )
        os.replace(partial, path)

    def load(self, path: Path) -> None:
        """Read positions that :meth:`save` wrote, and add them."""
        with np.load(path, allow_pickle=False) as archive:
            read = {name: archive[name] for name in archive.files}
        if "weights" not in read:
            raise InputError(f"{path}: expected positions of this version, found older ones")
        behind = list(accumulate(read["counts"].tolist()))
        # The last part is what is behind the last position: nothing.
        columns = [np.split(read[name], behind)[:-1] for name in ("places", "numbers")]
        rest = (read[name] for name in ("allowed", "targets", "worths", "weights"))
        for places, numbers, allowed, target, worth, weight in zip(*columns, *rest, strict=True):
            self._held.append(
                PolicySample(places, numbers, allowed, target, float(worth), float(weight))
            )


def _concatenated(parts: Sequence[Array], kind: Any) -> Array:
    return np.concatenate(parts) if parts else np.zeros(0, kind)


def fit_batch(model: Any, batch: PolicyBatch, options: FittingOptions) -> tuple[float, float]:
    """Take one step of the model's optimiser; return both parts of the loss before it."""
    import torch

    policy = model.policy
    policy.set_training_mode(True)
    shown, _ = policy.obs_to_tensor(batch.observations)
    logarithms, values = masked_priors_and_values(
        policy, shown, torch.as_tensor(batch.action_masks)
    )
    likelihoods = (torch.as_tensor(batch.targets) * logarithms).sum(-1)
    of_actions = -(torch.as_tensor(batch.weights) * likelihoods).mean()
    of_values = ((values - torch.as_tensor(batch.value_targets)) ** 2).mean()
    policy.optimizer.zero_grad()
    (of_actions + options.value_weight * of_values).backward()
    torch.nn.utils.clip_grad_norm_(policy.parameters(), options.max_grad_norm)
    policy.optimizer.step()
    return float(of_actions.detach()), float(of_values.detach())
