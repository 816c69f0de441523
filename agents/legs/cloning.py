"""Behaviour cloning: a network learns to decide as a teacher did.

A step is one decision that is learned from. Within a leg the decisions come in an order by dice,
all of them before any comes again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from agents.legs.beginning import begun, steps_of_leg
from agents.legs.demonstrations import demonstrations
from agents.legs.fitting import fit
from agents.legs.options import CloningOptions
from agents.legs.positions import Positions
from agents.tables import Played

if TYPE_CHECKING:
    from agents.experiments import Experiment


@dataclass(slots=True)
class Cloning:
    """Fits a network to demonstrations, which are gathered once for all seeds."""

    experiment: Experiment
    model: Any
    shown: Positions
    seed: int
    memory: str = ""
    told: dict[str, float] = field(default_factory=dict)

    @staticmethod
    def begun(experiment: Experiment, seed: int, checkpoint: Path) -> Cloning:
        """Return the learner of the leg behind a checkpoint.

        Raises:
            InputError: the teacher has nothing to show.
        """
        found = begun(experiment, seed, checkpoint)
        shown = demonstrations(experiment, checkpoint.parent.parent)
        return Cloning(experiment, found.model, shown, found.seed)

    def keep(self, file: Path) -> None:
        """Write nothing: demonstrations do not change."""

    def leg(self) -> list[Played]:
        """Learn from so many decisions; no episodes are played."""
        options = CloningOptions(**self.experiment.hyperparameters)
        left = steps_of_leg(self.experiment, self.model)
        numbers = _in_turn(len(self.shown), np.random.default_rng(self.seed))
        while left > 0:
            size = min(options.batch_size, left)
            fit(self.model, self.shown.batch([next(numbers) for _ in range(size)]), options)
            self.model.num_timesteps += size
            left -= size
        return []


def _in_turn(count: int, dice: np.random.Generator) -> Iterator[int]:
    """Yield the numbers below a count in an order by dice, then in another one, and so on."""
    while True:
        yield from dice.permutation(count).tolist()
