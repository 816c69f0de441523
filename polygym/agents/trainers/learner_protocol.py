"""Protocol of learners: train one interval, and keep the data that the next one needs."""

from pathlib import Path
from typing import Any, Protocol

from polygym.agents.trainers.training_tables import TrainingEpisode
from polygym.errors import InputError


class Learner(Protocol):
    """Trains one interval, which depends on a checkpoint and the files beside it alone."""

    model: Any
    """What is evaluated and kept, and how many steps were taken (``num_timesteps``): a model of
    stable-baselines3 or sb3-contrib, or one that says itself how it is ``judged``."""

    replay_suffix: str
    """How the file ends that is kept beside the checkpoint; "" where none is."""

    metrics: dict[str, float]
    """Numbers of the last interval for TensorBoard, beside those of the tables, by their names."""

    def train_interval(self) -> list[TrainingEpisode]:
        """Learn up to the next checkpoint; return the episodes that ended meanwhile."""
        ...

    def save_replay(self, file: Path) -> None:
        """Write the data the next interval needs, if :attr:`replay_suffix` is set."""
        ...


def replay_file_of(checkpoint: Path, steps: int, ending: str) -> Path:
    """Return the file beside a checkpoint that belongs to it."""
    return checkpoint.with_name(f"replay-{steps}{ending}")


def existing_replay_file(checkpoint: Path, steps: int, ending: str) -> Path:
    """Return that file of a checkpoint that is there.

    Raises:
        InputError: it is missing; what goes on without it is another training.
    """
    kept = replay_file_of(checkpoint, steps, ending)
    if not kept.exists():
        raise InputError(f"{kept}: expected what the checkpoint has learned from, found none")
    return kept
