"""Who does the legs of a training, behind one protocol, whatever the algorithm.

A *leg* is so many steps, from one checkpoint to the next (:mod:`agents.training`); a *learner* does
one. ``protocol`` says what that is, ``beginning`` loads what every leg begins with, ``baselines``
are the algorithms of stable-baselines3 and sb3-contrib as they are, ``cloning`` learns to do what a
teacher did in ``demonstrations``, and ``iteration`` what a search finds that the network itself
guides. The last two keep ``positions``, and share how a network is ``fitting`` them; ``options``
are their hyperparameters.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from agents.legs.protocol import Learner

if TYPE_CHECKING:
    from agents.experiments import Experiment


def learner_of(experiment: Experiment, seed: int, checkpoint: Path) -> Learner:
    """Return who does the next leg: what is in the checkpoint, or a beginner where there is none.

    Raises:
        InputError: there is nothing to learn from.
    """
    if experiment.algorithm == "cloning":
        from agents.legs.cloning import Cloning

        return Cloning.begun(experiment, seed, checkpoint)
    if experiment.algorithm == "expert-iteration":
        from agents.legs.iteration import ExpertIteration

        return ExpertIteration.begun(experiment, seed, checkpoint)
    from agents.legs.baselines import Baseline

    return Baseline.begun(experiment, seed, checkpoint)


__all__ = ["Learner", "learner_of"]
