"""Transfer to other programs, by the representation of a candidate (AutoTVM, figure 9).

Four ways to show one: its *configuration*, the numbers of its mapping as they are; the *context* of
the loops of the heaviest statement, row after row; the *relations* between columns of the context,
which do not care how many loops there are; and all *features*, of every statement, with what the
compiler knows. Trees that put pairs in order are asked about candidates

* of *other programs*: these are dealt into five folds, or as many as there are programs, so none of
  a program's has been seen;
* of the *same case*: of each case a part was seen, the others are asked about.

Each time rank correlation (the median of the cases) and share of the best, as in
:mod:`polygym.cost.models.cross_validation`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

import numpy as np

from polygym.cost.features.candidates.candidate_vector import (
    FEATURE_NAMES,
    CandidateFeatures,
    mapping_vector,
)
from polygym.cost.features.loops.column_names import CONTEXT_COLUMNS, RELATION_COLUMNS
from polygym.cost.models.boosted_trees import BoostedTreeOptions, train_boosted_trees
from polygym.cost.models.cost_model import TrainingSamples
from polygym.cost.models.cross_validation import cross_validate, default_folds, spearman
from polygym.errors import PolygymError
from polygym.mapping.mapping import Mapping, parse_mapping
from polygym.search.corpus.samples import case_rows, featurize, machine_of
from polygym.search.corpus.store import open_corpus

MAX_LOOPS = 12
TREES = BoostedTreeOptions()


def flat_context(features: CandidateFeatures) -> list[float]:
    """Return the rows of the context, one after the other, nothing where there are no more."""
    rows = features.context[:MAX_LOOPS]
    array = np.zeros((MAX_LOOPS, len(CONTEXT_COLUMNS)))
    array[: len(rows)] = rows
    return [float(value) for value in array.ravel()]


def relations(features: CandidateFeatures) -> list[float]:
    """Return the columns of the relations."""
    return [float(features.vector[FEATURE_NAMES.index(name)]) for name in RELATION_COLUMNS]


ENCODINGS: dict[str, Callable[[CandidateFeatures, Mapping], list[float]]] = {
    "configuration": lambda _, mapping: [float(value) for value in mapping_vector(mapping)],
    "context": lambda seen, _: flat_context(seen),
    "relations": lambda seen, _: relations(seen),
    "features": lambda seen, _: [float(value) for value in seen.vector],
}


@dataclass(frozen=True)
class EncodedCandidates:
    """The candidates of a corpus in every way, with the program of every case."""

    samples: dict[str, TrainingSamples]
    programs: tuple[str, ...]


def encode_corpus(
    path: Path, machine: str | None, max_cases: int | None, report_progress: Callable[[str], None]
) -> EncodedCandidates:
    """Return a corpus's candidates, those of the first ``max_cases`` cases.

    Raises:
        PolygymError: they are of fewer than two programs.
    """
    columns: dict[str, list[list[float]]] = {name: [] for name in ENCODINGS}
    seconds: list[float] = []
    cases: list[int] = []
    programs: list[str] = []
    with open_corpus(path) as corpus:
        key = machine_of(corpus, machine)
        chosen = case_rows(corpus, key)[:max_cases]
    _check_two_programs(case_row.visit.case.program for case_row in chosen)
    for number, group in enumerate(chosen, start=1):
        programs.append(group.visit.case.program)
        for row, seen in featurize(group):
            mapping = parse_mapping(row.mapping)
            for name, show in ENCODINGS.items():
                columns[name].append(show(seen, mapping))
            seconds.append(row.seconds)
            cases.append(len(programs) - 1)
        report_progress(f"{number} of {len(chosen)} cases, {len(seconds)} rows")
    _check_two_programs(programs[case] for case in cases)
    times, of = np.array(seconds), np.array(cases, dtype=np.int64)
    return EncodedCandidates(
        {name: TrainingSamples(np.array(rows), times, of) for name, rows in columns.items()},
        tuple(programs),
    )


def _check_two_programs(programs: Iterable[str]) -> None:
    """Refuse what leaves no other program to ask about."""
    if (count := len(set(programs))) < 2:
        raise PolygymError(f"invariance: expected rows of at least two programs, found {count}")


@dataclass(frozen=True)
class TransferQuality:
    """How good a model is that is shown candidates in one way: of other programs, of the same."""

    encoding: str
    seeds: int
    other_spearman: float
    other_share: float
    same_spearman: float
    same_share: float


def evaluate_encoding(
    candidates: EncodedCandidates, encoding: str, seeds: Sequence[int]
) -> TransferQuality:
    """Return how good models are, in the mean of the seeds."""
    samples = candidates.samples[encoding]
    folds = default_folds(len({candidates.programs[int(case)] for case in samples.cases}))
    other, same = [], []
    for seed in seeds:
        options = replace(TREES, seed=seed)

        def fit(
            part: TrainingSamples, options: BoostedTreeOptions = options
        ) -> Callable[..., np.ndarray]:
            model = train_boosted_trees(part, options)
            return lambda features, _: model.scores(features).mean(axis=0)

        other.append(cross_validate(samples, candidates.programs, folds, fit, seed))
        same.append(same_case_quality(samples, fit, seed))
    return TransferQuality(
        encoding,
        len(seeds),
        fmean(quality.spearman for quality in other),
        fmean(quality.share for quality in other),
        fmean(correlation for correlation, _ in same),
        fmean(share for _, share in same),
    )


def same_case_quality(
    samples: TrainingSamples, fit: Callable[[TrainingSamples], Callable[..., np.ndarray]], seed: int
) -> tuple[float, float]:
    """Return rank correlation and share for the half of every case that was not seen.

    Raises:
        PolygymError: no case has enough rows that were not.
    """
    rng = np.random.default_rng(seed)
    is_seen = rng.random(len(samples)) < 0.5
    model = fit(samples.select(np.flatnonzero(is_seen)))
    correlations, shares = [], []
    for case in np.unique(samples.cases):
        own = np.flatnonzero((samples.cases == case) & ~is_seen)
        if len(own) < 3:
            continue
        part = samples.select(own)
        scores = model(part.features, None)
        correlations.append(spearman(scores, -part.seconds))
        shares.append(float(part.seconds.min() / part.seconds[int(scores.argmax())]))
    if not shares:
        raise PolygymError(
            "invariance: expected cases of which three rows are left out, found none"
        )
    return float(np.median(correlations)), float(np.exp(np.mean(np.log(shares))))


def invariance_table(rows: list[TransferQuality]) -> str:
    """Return a table in Markdown."""
    lines = [
        "| shown | rank correlation, other programs | share | same case | share |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {quality.encoding} | {quality.other_spearman:.2f} | {quality.other_share:.2f} | "
        f"{quality.same_spearman:.2f} | {quality.same_share:.2f} |"
        for quality in rows
    ]
    return "\n".join(lines)


def write_rows(path: Path, rows: list[TransferQuality], about: str) -> None:
    """Write the rows to a file."""
    path.write_text(
        json.dumps({"about": about, "rows": [vars(quality) for quality in rows]}, indent=2)
    )
