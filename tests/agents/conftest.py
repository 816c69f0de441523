"""A trained experiment that tests of agents share: training one takes seconds."""

import fcntl
import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def trained_experiment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a small experiment of two seeds, trained once for all workers.

    Tests copy it before they change anything.
    """
    from polygym.agents.trainers.training import train_experiment
    from tests.agents.small_experiments import small

    base: Path = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    folder, done = base / "trained_experiment", base / "trained_experiment.done"
    with (base / "trained_experiment.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            train_experiment(small(seeds=[5, 6]), folder, lambda text: None)
            done.touch()
    return folder
