"""Boosted trees that learn from the same lessons as the policy's networks, and are asked with them.

They are the model of cost that comes with polygym (:mod:`polygym.cost.shipped`). How good they are
is said by those that have not seen a fold's programs: the rank correlation within each case, and
how fast what they rank first is beside the best (:mod:`polygym.cost.validation`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from agents.folds import FOLDS, asked_of, fold_file, keep, samples_of
from agents.lessons import Array, Lessons
from polygym.compiler.codegen.common.machine import Machine
from polygym.cost.model import Card, Kind, Objective
from polygym.cost.shipped import learned_on
from polygym.cost.trees import TreeModel, TreeOptions, train
from polygym.cost.validation import Validation, spearman
from polygym.measure.evaluation.fingerprint import Fingerprint
from polygym.search.corpus.packed import opened


def left_out(lessons: Lessons, kept: Path, seed: int, tell: Callable[[str], None]) -> Array:
    """Return the scores of every row by trees that have not seen its program."""
    found = np.full(len(lessons.seconds), np.nan)
    for number in range(FOLDS):
        asked, others = asked_of(lessons, "loops", seed, number)
        file = fold_file(kept, "trees", number)
        if not file.exists():
            samples, _ = samples_of(lessons, "loops", others)
            model = train(samples, TreeOptions(seed=seed))
            keep(model.scores(lessons.features[asked].astype(np.float64))[0], file)
            tell(f"trees: fold {number + 1} of {FOLDS}")
        found[asked] = np.load(file)
    return found


def made(lessons: Lessons, files: Sequence[Path], said: Array, seed: int) -> TreeModel:
    """Return trees that have learned from all programs; ``said`` is what others said of theirs."""
    machines: dict[str, tuple[Fingerprint, Machine]] = {}
    for file in files:
        with opened(file) as corpus:
            planned_for = corpus.planned_for()
            machines |= {key: (one, planned_for[key]) for key, one in corpus.machines().items()}
    samples, _ = samples_of(lessons, "loops", np.ones(len(lessons.seconds), np.bool_))
    options = TreeOptions(seed=seed)
    about = Card(
        Kind.TREES.value, Objective.RANK.value, len(samples),
        len(np.unique(lessons.case)), len(np.unique(lessons.program)), seed,
        ", ".join(machines),
        "; ".join(f"{one.processor}, {one.cores} cores, LLVM {one.llvm}" for one, _ in
                  machines.values()),
        notes={
            "corpora": [file.name for file in files],
            "command": "python -m agents.teach",
            "validation": asdict(validation_of(lessons, said)),
            **learned_on(machines.values()),
        },
    )  # fmt: skip
    return train(samples, options, about)


def validation_of(lessons: Lessons, said: Array) -> Validation:
    """Return how good scores are of programs that had not been seen (nan where there are none)."""
    correlations, shares = [], []
    for case in np.unique(lessons.case[~np.isnan(said)]):
        own = np.flatnonzero((lessons.case == case) & ~np.isnan(said))
        seconds, scores = lessons.seconds[own], said[own]
        correlations.append(spearman(scores, -seconds))
        shares.append(float(seconds.min() / seconds[int(scores.argmax())]))
    return Validation(
        len(shares),
        len(np.unique(lessons.program)),
        float(np.median(correlations)),
        float(np.quantile(correlations, 0.25)),
        float(np.exp(np.mean(np.log(shares)))),
        float(np.quantile(shares, 0.25)),
    )
