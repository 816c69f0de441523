"""Behaviour cloning: a network learns to decide as a teacher did.

A step is one decision that is learned from. Within an interval the decisions come in a random
order, all of them before any comes again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from polygym.agents.experiments.experiment import Experiment
from polygym.agents.experiments.options import CloningOptions
from polygym.agents.trainers.demonstrations import load_demonstrations
from polygym.agents.trainers.policy_dataset import PolicyDataset, fit_batch
from polygym.agents.trainers.trainer_state import load_trainer_state, steps_of_interval
from polygym.agents.trainers.training_tables import TrainingEpisode


@dataclass(slots=True)
class CloningLearner:
    """Fits a network to demonstrations, which are gathered once for all seeds."""

    experiment: Experiment
    model: Any
    demonstrations: PolicyDataset
    seed: int
    replay_suffix: str = ""
    metrics: dict[str, float] = field(default_factory=dict)

    @staticmethod
    def resume(experiment: Experiment, seed: int, checkpoint: Path) -> CloningLearner:
        """Return the learner of the interval behind a checkpoint.

        Raises:
            InputError: the teacher has nothing to show.
        """
        state = load_trainer_state(experiment, seed, checkpoint)
        shown = load_demonstrations(experiment, checkpoint.parent.parent)
        return CloningLearner(experiment, state.model, shown, state.seed)

    def save_replay(self, file: Path) -> None:
        """Write nothing: demonstrations do not change."""

    def train_interval(self) -> list[TrainingEpisode]:
        """Learn from so many decisions; no episodes are played."""
        options = CloningOptions(**self.experiment.hyperparameters)
        left = steps_of_interval(self.experiment, self.model)
        numbers = _shuffled_passes(len(self.demonstrations), np.random.default_rng(self.seed))
        while left > 0:
            size = min(options.batch_size, left)
            fit_batch(
                self.model, self.demonstrations.batch([next(numbers) for _ in range(size)]), options
            )
            self.model.num_timesteps += size
            left -= size
        return []


def _shuffled_passes(count: int, rng: np.random.Generator) -> Iterator[int]:
    """Yield the numbers below a count in a random order, then in another one, and so on."""
    while True:
        yield from rng.permutation(count).tolist()
