"""Models for tests, of times that follow from one feature."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from polygym.cost.candidate import NAMES
from polygym.cost.model import Samples
from polygym.cost.trees import TreeOptions, train


def saved_trees(path: Path, feature: str = "total_cycles", rows: int = 64) -> Path:
    """Write small trees, for which a candidate with more of a feature is faster."""
    features = np.random.default_rng(0).random((rows, len(NAMES)))
    seconds = np.exp2(-4 * features[:, NAMES.index(feature)])
    cases = np.arange(rows, dtype=np.int64) // 16
    train(Samples(features, seconds, cases), TreeOptions(rounds=5, threads=1)).save(path)
    return path
