"""A correction learns what another model does not know."""

from __future__ import annotations

import numpy as np
import pytest

from polygym.cost.candidate import NAMES
from polygym.cost.correction import correction
from polygym.cost.model import Samples
from polygym.cost.trees import TreeOptions, train

pytest.importorskip("lightgbm")


def test_a_correction_sees_what_the_other_model_does_not() -> None:
    """Columns beyond the features are for the own model."""
    dice = np.random.default_rng(0)
    rows = dice.normal(size=(200, len(NAMES)))
    other = train(Samples(rows, np.exp2(-rows[:, 0]), np.arange(200) // 20), TreeOptions(rounds=9))
    wide = np.hstack([rows, dice.normal(size=(200, 2))])
    samples = Samples(wide, np.exp2(-wide[:, -1]), np.zeros(200, dtype=np.int64))
    found = correction(samples, other, TreeOptions(rounds=80, least_rows=4))
    assert float(np.corrcoef(found.scores(wide)[0], wide[:, -1])[0, 1]) > 0.9


def test_a_correction_begins_with_what_another_model_knows() -> None:
    dice = np.random.default_rng(0)
    rows = dice.normal(size=(400, len(NAMES)))
    seconds = np.exp2(-rows[:, 0])
    other = train(Samples(rows, seconds, np.arange(400) // 20), TreeOptions(rounds=60))
    own = rows[:40]
    found = correction(
        Samples(own, np.exp2(-own[:, 0] - own[:, 1]), np.zeros(40, dtype=np.int64)),
        other,
        TreeOptions(rounds=60, least_rows=4, leaves=8),
    )
    fresh = dice.normal(size=(200, len(NAMES)))
    truth = fresh[:, 0] + fresh[:, 1]

    def agreement(scores: np.ndarray) -> float:
        return float(np.corrcoef(scores, truth)[0, 1])

    assert agreement(found.scores(fresh)[0]) > agreement(other.scores(fresh)[0])
    assert agreement(found.scores(fresh)[0]) > 0.75
