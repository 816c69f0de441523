"""Programs in folds: what is learned from, what is asked, and where answers are kept."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from agents.lessons import Array, Lessons
from polygym.cost.candidate import NAMES
from polygym.cost.model import Samples
from polygym.cost.rows import ROW_NAMES

FOLDS = 5


def samples_of(lessons: Lessons, part: str, kept: Array) -> tuple[Samples, tuple[str, ...]]:
    """Return what one of the networks learns from, of some rows."""
    features, names = (lessons.rows, ROW_NAMES) if part == "rows" else (lessons.features, NAMES)
    own = np.flatnonzero(kept & ~np.isnan(features).any(axis=1))
    return (
        Samples(features[own].astype(np.float64), lessons.seconds[own], lessons.case[own]),
        names,
    )


def keep(found: Array, file: Path) -> None:
    """Write numbers, whole or not at all."""
    partial = file.with_suffix(".partial.npy")
    np.save(partial, found)
    os.replace(partial, file)


def asked_of(lessons: Lessons, part: str, seed: int, number: int) -> tuple[Array, Array]:
    """Return the rows of a fold that have features, and which rows are of the other folds."""
    count = int(lessons.program.max()) + 1
    fold = np.random.default_rng(seed).permutation(count)[lessons.program] % FOLDS
    features = lessons.rows if part == "rows" else lessons.features
    known = ~np.isnan(features).any(axis=1)
    return np.flatnonzero((fold == number) & known), fold != number


def fold_file(kept: Path, part: str, number: int) -> Path:
    """Return the file of what those say of a fold who have not seen it."""
    return kept.with_name(f"fold-{part}-{number}.npy")
