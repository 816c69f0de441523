"""Training data of the learned policy: rows of corpora with features, case by case.

A row has the features of its planned loops
(:mod:`polygym.cost.features.candidates.candidate_vector`), and, where its mapping is the default
one, those of its schedule's rows (:mod:`polygym.cost.features.schedules.schedule_vector`). Held-out
kernels, and what does the same, are left out whatever a corpus holds.

What follows from a corpus is kept in a file, since it takes some minutes: two cores share the
cases. Lessons of several corpora are put together, and programs told apart by their names.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, fields
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from polygym.cost.features.candidates.candidate_vector import FEATURE_NAMES
from polygym.cost.features.schedules.program_features import ProgramFeatures
from polygym.cost.features.schedules.schedule_vector import (
    SCHEDULE_FEATURE_NAMES,
    schedule_features,
)
from polygym.cost.models.cost_model import TrainingSamples
from polygym.cost.models.pretrained import model_file_digest
from polygym.errors import InputError, PolygymError
from polygym.mapping.mapping import parse_mapping
from polygym.mapping.sizes import scop_sizes
from polygym.poly.schedule import parse_schedule
from polygym.poly.scheduling.baselines import isl_schedule
from polygym.search.corpus.packing import open_packed
from polygym.search.corpus.samples import (
    CaseRows,
    by_variant,
    case_rows,
    featurize,
    program_of,
    without_tests,
)

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class CalibrationDataset:
    """The rows of all cases, as arrays with an entry for each.

    ``originals`` are the times of the original order. ``case_index``, ``program_index`` and
    ``corpus_index`` are numbers, and ``names`` has the programs' names. ``rows`` are nan where
    ``is_default`` says that the mapping is another one; ``is_isl`` says that the schedule is isl's
    usual one. What was measured of a program in several variants is one case, with several numbers
    in ``variant_index``, of which the least is as it was written, if that was measured.
    """

    features: Array
    rows: Array
    seconds: Array
    originals: Array
    case_index: Array
    program_index: Array
    is_isl: Array
    is_default: Array
    names: Array
    corpus_index: Array
    variant_index: Array

    def save(self, path: Path) -> None:
        """Write everything to a file, whole or not at all."""
        partial = path.with_suffix(".partial.npz")
        every: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        np.savez_compressed(partial, **every)
        os.replace(partial, path)

    @staticmethod
    def load(path: Path) -> CalibrationDataset:
        """Read a file that :meth:`save` wrote."""
        with np.load(path, allow_pickle=False) as archive:
            return CalibrationDataset(
                **{field.name: archive[field.name] for field in fields(CalibrationDataset)}
            )


def kept_dataset(
    files: Sequence[Path], folder: Path, tell: Callable[[str], None]
) -> tuple[CalibrationDataset, Path]:
    """Return the dataset of corpora, and the file of the folder that keeps it.

    Raises:
        InputError: a file is no corpus, or there is nothing in them to learn from.
    """
    if (kept := folder / "dataset.npz").exists():
        dataset = CalibrationDataset.load(kept)
    else:
        dataset = dataset_of_corpora(files, folder, tell)
        dataset.save(kept)
    tell(
        f"{len(dataset.seconds)} rows of {len(np.unique(dataset.case_index))} cases, "
        f"{len(np.unique(dataset.program_index))} programs"
    )
    return dataset, kept


def dataset_of_corpora(
    files: Sequence[Path], folder: Path, tell: Callable[[str], None]
) -> CalibrationDataset:
    """Return the dataset of corpora, packed ones or databases; keep it in a folder.

    Raises:
        InputError: a file is no corpus, or there is nothing in them to learn from.
    """
    result = []
    for file in files:
        with open_packed(file) as corpus:
            kept, left = without_tests(case_rows(corpus))
        tell(f"{file.name}: {len(kept)} cases; {left} are held out")
        if not kept:
            continue
        own = folder / f"dataset-{model_file_digest(file)}.npz"
        if not own.exists():
            _dataset_of_cases(kept, tell).save(own)
        result.append(CalibrationDataset.load(own))
    if not result:
        raise InputError("corpora: expected cases to learn from, found none")
    return concatenate_datasets(result)


def concatenate_datasets(datasets: Sequence[CalibrationDataset]) -> CalibrationDataset:
    """Return the rows of several corpora; cases stay apart, programs of one name are one.

    Which of the corpora a row is of is said by a number, 0 for the first.
    """
    names = np.unique(np.concatenate([corpus.names for corpus in datasets]))
    every: dict[str, Array] = {
        field.name: np.concatenate([getattr(part, field.name) for part in datasets])
        for field in fields(CalibrationDataset)
    }
    for name in ("case_index", "variant_index"):
        numbers = [getattr(dataset, name) for dataset in datasets]
        firsts = np.cumsum([0, *(int(number.max()) + 1 for number in numbers[:-1])])
        every[name] = np.concatenate([a + first for a, first in zip(numbers, firsts, strict=True)])
    every["program_index"] = np.concatenate(
        [np.searchsorted(names, corpus.names)[corpus.program_index] for corpus in datasets]
    )
    of_each = [len(dataset.seconds) for dataset in datasets]
    return CalibrationDataset(
        **{**every, "names": names, "corpus_index": np.repeat(np.arange(len(datasets)), of_each)}
    )


def _dataset_of_cases(
    groups: Sequence[CaseRows], tell: Callable[[str], None]
) -> CalibrationDataset:
    parts = []
    cores = len(os.sched_getaffinity(0))
    cases, own = zip(*by_variant(groups), strict=True)
    with ProcessPoolExecutor(cores, get_context("forkserver")) as pool:
        for number, part in enumerate(pool.map(_rows_of_case, own), start=1):
            parts.append({**part, "case": cases[number - 1]})
            if number % 50 == 0 or number == len(groups):
                tell(f"features of {number} of {len(groups)} cases")
    return _joined_columns(parts)


def _rows_of_case(group: CaseRows) -> dict[str, Any]:
    """Return the rows of a case; none where isl would take too long."""
    result: dict[str, list[Any]] = {
        name: [] for name in ("features", "rows", "seconds", "originals", "is_isl", "is_default")
    }
    try:
        with TemporaryDirectory() as folder:
            program = program_of(group.visit, folder)
        usual = isl_schedule(program.scop)
        ground = ProgramFeatures.of(
            program.scop, scop_sizes(program.scop, dict(program.parameters))
        )
    except PolygymError:
        return {"program": group.visit.case.program, **result}
    default = parse_mapping(f"threads={group.visit.threads}")
    for row, seen in featurize(group):
        schedule = parse_schedule(row.schedule, program.scop)
        is_default = parse_mapping(row.mapping) == default
        result["features"].append(seen.vector)
        result["rows"].append(
            schedule_features(ground, schedule).vector
            if is_default
            else np.full(len(SCHEDULE_FEATURE_NAMES), np.nan)
        )
        result["seconds"].append(row.seconds)
        result["originals"].append(group.original)
        result["is_isl"].append(schedule == usual)
        result["is_default"].append(is_default)
    return {"program": group.visit.case.program, **result}


def _joined_columns(parts: Iterable[dict[str, Any]]) -> CalibrationDataset:
    result = [part for part in parts if part["seconds"]]
    if not result:
        raise InputError("corpora: expected cases to learn from, found none")
    names = sorted({columns["program"] for columns in result})
    counts = [len(columns["seconds"]) for columns in result]
    _, cases = np.unique([columns["case"] for columns in result], return_inverse=True)

    def joined(name: str, kind: Any, *shape: int) -> Array:
        every = [np.array(columns[name], dtype=kind).reshape(-1, *shape) for columns in result]
        return np.concatenate(every)

    return CalibrationDataset(
        joined("features", np.float32, len(FEATURE_NAMES)),
        joined("rows", np.float32, len(SCHEDULE_FEATURE_NAMES)),
        joined("seconds", np.float64),
        joined("originals", np.float64),
        np.repeat(cases, counts),
        np.repeat([names.index(columns["program"]) for columns in result], counts),
        joined("is_isl", np.bool_),
        joined("is_default", np.bool_),
        np.array(names),
        np.zeros(sum(counts), np.int64),
        np.repeat(np.arange(len(result)), counts),
    )


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
            features[own].astype(np.float64),
            dataset.seconds[own],
            dataset.case_index[own],
            originals=dataset.originals[own],
        ),
        names,
    )


def save_array(values: Array, file: Path) -> None:
    """Write numbers, whole or not at all."""
    partial = file.with_suffix(".partial.npy")
    np.save(partial, values)
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
