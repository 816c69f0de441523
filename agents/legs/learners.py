"""Which learner does the legs of an algorithm; each is imported when it is needed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from agents.legs.protocol import Learner

if TYPE_CHECKING:
    from agents.experiments import Experiment
    from polygym.envs.elsewhere import Elsewhere


def learner_of(
    experiment: Experiment, seed: int, checkpoint: Path, elsewhere: Elsewhere | None = None
) -> Learner:
    """Return who does the next leg: what is in the checkpoint, or a beginner where there is none.

    ``elsewhere`` is who measures the ends of episodes, if that is not done here; it is for the
    algorithms of :mod:`agents.late`.

    Raises:
        InputError: there is nothing to learn from.
    """
    if experiment.algorithm == "cloning":
        from agents.legs.cloning import Cloning

        return Cloning.begun(experiment, seed, checkpoint)
    if experiment.algorithm == "expert-iteration":
        from agents.legs.iteration import ExpertIteration

        return ExpertIteration.begun(experiment, seed, checkpoint)
    if experiment.algorithm == "knossos":
        from agents.legs.knossos import Knossos

        return Knossos.begun(experiment, seed, checkpoint)
    from agents.legs.baselines import Baseline

    return Baseline.begun(experiment, seed, checkpoint, elsewhere)
