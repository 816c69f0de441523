"""TensorBoard logs of a training: a point for every interval, where it is installed.

    tensorboard --logdir runs/mvt

Under ``training`` stand the mean reward and length of the episodes that ended in the interval, and
the steps in a second; under ``evaluation`` the mean reward of each kernel, and its speedup where it
was measured. What an algorithm of stable-baselines3 or sb3-contrib writes of itself (losses,
entropy) stands beside it. Tables have the same, episode by episode.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from polygym.agents.trainers.training_tables import EvaluationEpisode, TrainingEpisode

_FOLDER = "tensorboard"


def tensorboard_folder(folder: Path) -> Path | None:
    """Return where TensorBoard's files of one seed are; None where it is not installed."""
    return folder / _FOLDER if find_spec("tensorboard") is not None else None


def log_interval(
    folder: Path,
    steps: int,
    speed: float,
    episodes: Sequence[TrainingEpisode],
    evaluations: Sequence[EvaluationEpisode],
    metrics: Mapping[str, float],
) -> None:
    """Write what an interval that ended after so many steps came to; rows are those of the tables.

    ``metrics`` is what the learner has to say beside them.
    """
    place = tensorboard_folder(folder)
    if place is None:
        return
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(place / "intervals")) as writer:
        for name, value in {**interval_scalars(speed, episodes, evaluations), **metrics}.items():
            writer.add_scalar(name, value, steps)


def interval_scalars(
    speed: float, episodes: Sequence[TrainingEpisode], evaluations: Sequence[EvaluationEpisode]
) -> dict[str, float]:
    """Return the numbers of an interval by their names.

    >>> episodes = [TrainingEpisode(8, "a", 0.5, 8, "ok"), TrainingEpisode(9, "a", 0.75, 12, "ok")]
    >>> interval_scalars(99.0, episodes, [])
    {'training/steps a second': 99.0, 'training/reward': 0.625, 'training/length': 10.0}
    """
    result = {"training/steps a second": speed}
    if episodes:
        result["training/reward"] = float(np.mean([row.reward for row in episodes]))
        result["training/length"] = float(np.mean([row.length for row in episodes]))
    of_kernel: dict[str, list[EvaluationEpisode]] = defaultdict(list)
    for row in evaluations:
        of_kernel[row.kernel].append(row)
    for kernel, rows in of_kernel.items():
        result[f"evaluation/{kernel}"] = float(np.mean([row.reward for row in rows]))
        measured = [row.speedup for row in rows if row.speedup]
        if measured:
            result[f"evaluation/{kernel}, speedup"] = float(np.mean(measured))
    return result
