"""Boosted trees that learn from the same dataset as the policy's networks, and are asked with them.

They are the models of cost that come with polygym (:mod:`polygym.cost.models.pretrained`): one that
ranks candidates, and one of speedups, which rewards episodes. How good they are is said by those
that have not seen a fold's programs: the rank correlation within each case, and how fast what they
rank first is beside the best (:mod:`polygym.cost.models.cross_validation`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from polygym.agents.pretraining.dataset import (
    FOLD_COUNT,
    Array,
    CalibrationDataset,
    fold_path,
    fold_samples,
    held_out_rows,
    save_array,
)
from polygym.cost.models.boosted_trees import BoostedTreeOptions, BoostedTrees, train_boosted_trees
from polygym.cost.models.cost_model import ModelCard, ModelKind
from polygym.cost.models.cross_validation import CrossValidation, spearman
from polygym.cost.models.pretrained import training_machines
from polygym.mapping.machine import Machine
from polygym.runtime.evaluation.fingerprint import MachineFingerprint
from polygym.search.corpus.packing import open_packed


def held_out_tree_scores(
    dataset: CalibrationDataset,
    kept: Path,
    options: BoostedTreeOptions,
    tell: Callable[[str], None],
) -> Array:
    """Return the scores of every row by trees that have not seen its program."""
    array = np.full(len(dataset.seconds), np.nan)
    for number in range(FOLD_COUNT):
        asked, others = held_out_rows(dataset, "loops", options.seed, number)
        file = fold_path(kept, "trees", number)
        if not file.exists():
            samples, _ = fold_samples(dataset, "loops", others)
            model = train_boosted_trees(samples, options)
            scores = model.scores(dataset.features[asked].astype(np.float64)).mean(axis=0)
            save_array(scores, file)
            tell(f"trees: fold {number + 1} of {FOLD_COUNT}")
        array[asked] = np.load(file)
    return array


def fit_trees(
    dataset: CalibrationDataset,
    files: Sequence[Path],
    said: Array,
    options: BoostedTreeOptions,
    command: str,
    notes: Mapping[str, Any] = MappingProxyType({}),
) -> BoostedTrees:
    """Return trees that have learned from all programs; ``said`` is what others said of theirs.

    Their card has the command, how good the others are, and ``notes``.
    """
    machines: dict[str, tuple[MachineFingerprint, Machine]] = {}
    for file in files:
        with open_packed(file) as corpus:
            planned_for = corpus.planned_for()
            machines |= {
                key: (fingerprint, planned_for[key])
                for key, fingerprint in corpus.machines().items()
            }
    samples, _ = fold_samples(dataset, "loops", np.ones(len(dataset.seconds), np.bool_))
    about = ModelCard(
        ModelKind.TREES.value, options.objective.value, len(samples),
        len(np.unique(dataset.case_index)), len(np.unique(dataset.program_index)), options.seed,
        ", ".join(machines),
        "; ".join(f"{known.processor}, {known.cores} cores, LLVM {known.llvm}"
                  for known, _ in machines.values()),
        notes={
            "corpora": [file.name for file in files],
            "command": command,
            "validation": asdict(validation_of(dataset, said)),
            **notes,
            **training_machines(machines.values()),
        },
    )  # fmt: skip
    return train_boosted_trees(samples, options, about)


def validation_of(dataset: CalibrationDataset, said: Array) -> CrossValidation:
    """Return how good scores are of programs that had not been seen (nan where there are none)."""
    correlations, shares = [], []
    for case in np.unique(dataset.case_index[~np.isnan(said)]):
        own = np.flatnonzero((dataset.case_index == case) & ~np.isnan(said))
        seconds, scores = dataset.seconds[own], said[own]
        correlations.append(spearman(scores, -seconds))
        shares.append(float(seconds.min() / seconds[int(scores.argmax())]))
    return CrossValidation(
        len(shares),
        len(np.unique(dataset.program_index)),
        float(np.median(correlations)),
        float(np.quantile(correlations, 0.25)),
        float(np.exp(np.mean(np.log(shares)))),
        float(np.quantile(shares, 0.25)),
    )
