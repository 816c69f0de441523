"""A correction learns what another model does not know."""

from __future__ import annotations

import numpy as np
import pytest

from polygym.cost.features.candidates.candidate_vector import FEATURE_NAMES
from polygym.cost.models.boosted_trees import BoostedTreeOptions, train_boosted_trees
from polygym.cost.models.correction import train_correction
from polygym.cost.models.cost_model import TrainingSamples

pytest.importorskip("lightgbm")


def test_a_correction_sees_what_the_other_model_does_not() -> None:
    """Columns beyond the features are for the own model."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, len(FEATURE_NAMES)))
    other = train_boosted_trees(
        TrainingSamples(rows, np.exp2(-rows[:, 0]), np.arange(200) // 20),
        BoostedTreeOptions(rounds=9),
    )
    wide = np.hstack([rows, rng.normal(size=(200, 2))])
    samples = TrainingSamples(wide, np.exp2(-wide[:, -1]), np.zeros(200, dtype=np.int64))
    correction = train_correction(
        samples, other, BoostedTreeOptions(rounds=80, min_rows_per_leaf=4)
    )
    assert float(np.corrcoef(correction.scores(wide)[0], wide[:, -1])[0, 1]) > 0.9


def test_a_correction_begins_with_what_another_model_knows() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, len(FEATURE_NAMES)))
    seconds = np.exp2(-rows[:, 0])
    other = train_boosted_trees(
        TrainingSamples(rows, seconds, np.arange(400) // 20), BoostedTreeOptions(rounds=60)
    )
    own = rows[:40]
    correction = train_correction(
        TrainingSamples(own, np.exp2(-own[:, 0] - own[:, 1]), np.zeros(40, dtype=np.int64)),
        other,
        BoostedTreeOptions(rounds=60, min_rows_per_leaf=4, leaves=8),
    )
    fresh = rng.normal(size=(200, len(FEATURE_NAMES)))
    truth = fresh[:, 0] + fresh[:, 1]

    def agreement(scores: np.ndarray) -> float:
        return float(np.corrcoef(scores, truth)[0, 1])

    assert agreement(correction.scores(fresh)[0]) > agreement(other.scores(fresh)[0])
    assert agreement(correction.scores(fresh)[0]) > 0.75
