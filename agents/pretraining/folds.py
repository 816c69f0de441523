"""Programs in folds: what is learned from, what is asked, and where answers are kept."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from agents.pretraining.dataset import Array, CalibrationDataset
from polygym.cost.features.candidates.candidate_vector import FEATURE_NAMES
from polygym.cost.features.schedules.schedule_vector import SCHEDULE_FEATURE_NAMES
from polygym.cost.models.cost_model import TrainingSamples

FOLD_COUNT = 5


def fold_samples(
    dataset: CalibrationDataset, part: str, kept: Array
) -> tuple[TrainingSamples, tuple[str, ...]]:
    """Return what one of the networks learns from, of some rows."""
    features, names = (
        (dataset.rows, SCHEDULE_FEATURE_NAMES)
        if part == "rows"
        else (dataset.features, FEATURE_NAMES)
    )
    own = np.flatnonzero(kept & ~np.isnan(features).any(axis=1))
    return (
        TrainingSamples(
            features[own].astype(np.float64), dataset.seconds[own], dataset.case_index[own]
        ),
        names,
    )


def save_array(found: Array, file: Path) -> None:
    """Write numbers, whole or not at all."""
    partial = file.with_suffix(".partial.npy")
    np.save(partial, found)
    os.replace(partial, file)


def held_out_rows(
    dataset: CalibrationDataset, part: str, seed: int, number: int
) -> tuple[Array, Array]:
    """Return the rows of a fold that have features, and which rows are of the other folds."""
    count = int(dataset.program_index.max()) + 1
    fold = np.random.default_rng(seed).permutation(count)[dataset.program_index] % FOLD_COUNT
    features = dataset.rows if part == "rows" else dataset.features
    known = ~np.isnan(features).any(axis=1)
    return np.flatnonzero((fold == number) & known), fold != number


def fold_path(kept: Path, part: str, number: int) -> Path:
    """Return the file of what those say of a fold who have not seen it."""
    return kept.with_name(f"fold-{part}-{number}.npy")
