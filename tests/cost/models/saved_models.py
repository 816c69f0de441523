"""Models for tests, of times that follow from one feature."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from polygym.cost.features.candidates.candidate_vector import FEATURE_NAMES
from polygym.cost.models.boosted_trees import BoostedTreeOptions, train_boosted_trees
from polygym.cost.models.cost_model import TrainingSamples


def saved_trees(path: Path, feature: str = "total_cycles", rows: int = 64) -> Path:
    """Write small trees, for which a candidate with more of a feature is faster."""
    features = np.random.default_rng(0).random((rows, len(FEATURE_NAMES)))
    seconds = np.exp2(-4 * features[:, FEATURE_NAMES.index(feature)])
    cases = np.arange(rows, dtype=np.int64) // 16
    train_boosted_trees(
        TrainingSamples(features, seconds, cases), BoostedTreeOptions(rounds=5, threads=1)
    ).save(path)
    return path
