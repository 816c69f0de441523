"""Learners by algorithm; each is imported on first use."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from polygym.agents.experiments.experiment import Experiment
from polygym.agents.trainers.learner_protocol import Learner

if TYPE_CHECKING:
    from polygym.envs.episode_end import RemoteEvaluator


def learner_of(
    experiment: Experiment,
    seed: int,
    checkpoint: Path,
    remote_evaluator: RemoteEvaluator | None = None,
) -> Learner:
    """Return the learner of the next interval, from a checkpoint or, without one, new.

    ``remote_evaluator`` measures the ends of episodes, if that is not done here; it is for the
    algorithms of :mod:`polygym.agents.trainers.delayed_rewards`.

    Raises:
        InputError: there is nothing to learn from.
    """
    if experiment.algorithm == "cloning":
        from polygym.agents.trainers.cloning import CloningLearner

        return CloningLearner.resume(experiment, seed, checkpoint)
    if experiment.algorithm == "expert-iteration":
        from polygym.agents.trainers.expert_iteration import ExpertIterationLearner

        return ExpertIterationLearner.resume(experiment, seed, checkpoint)
    if experiment.algorithm == "knossos":
        from polygym.agents.trainers.knossos import KnossosLearner

        return KnossosLearner.resume(experiment, seed, checkpoint)
    from polygym.agents.trainers.baselines import LibraryLearner

    return LibraryLearner.resume(experiment, seed, checkpoint, remote_evaluator)
