"""Small experiments, and the weights that came of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from polygym.agents.experiments.experiment import Experiment
from polygym.agents.experiments.reading import parse_experiment

SCHEDULE = "polygym/Schedule-v0"


def document(**entries: Any) -> dict[str, Any]:
    """Return a small experiment's document, some entries of it others; None leaves one out."""
    own = {
        "kernels": "mvt, trisolv",
        "steps": 192,
        "every": 64,
        "arguments": {"reward": "static", "dataset": "mini"},
        "hyperparameters": {"n_steps": 64, "batch_size": 32, "n_epochs": 1},
        "evaluation": {"kernels": "mvt", "episodes": 1},
        "network": "mlp",
        **entries,
    }
    return {SCHEDULE: {name: value for name, value in own.items() if value is not None}}


def small(**entries: Any) -> Experiment:
    """Return a small experiment, some entries of it others."""
    return parse_experiment(document(**entries), "x.yaml")


def weights(path: Path, algorithm: str = "maskable-ppo") -> dict[str, bytes]:
    """Return the weights of a model that was saved, by their names."""
    from polygym.agents.experiments.models import algorithm_class

    model = algorithm_class(algorithm).load(path, device="cpu")
    return {name: value.numpy().tobytes() for name, value in model.policy.state_dict().items()}
