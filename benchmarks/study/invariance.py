"""What holds of other programs, by how a candidate is shown to a model (AutoTVM, figure 9).

Four ways to show one: its *configuration*, the numbers of its mapping as they are; the *context* of
the loops of the heaviest statement, row after row; the *relations* between columns of the context,
which do not care how many loops there are; and all *features*, of every statement, with what the
compiler knows. Trees that put pairs in order are asked about candidates

* of *other programs*: these are dealt into five folds, or as many as there are programs, so none of
  a program's has been seen;
* of the *same case*: of each case a part was seen, the others are asked about.

Each time rank correlation (the median of the cases) and share of the best, as in
:mod:`polygym.cost.validation`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

import numpy as np

from polygym.compiler.codegen.common.mapping import Mapping, parse_mapping
from polygym.cost.candidate import NAMES, Features
from polygym.cost.columns import CONTEXT, RELATIONS
from polygym.cost.configuration import configuration
from polygym.cost.model import Samples
from polygym.cost.trees import TreeOptions, train
from polygym.cost.validation import spearman, usual_folds, validated
from polygym.errors import PolygymError
from polygym.search.corpus.samples import groups, looked_at, machine_of
from polygym.search.corpus.store import open_corpus

MOST_LOOPS = 12
TREES = TreeOptions()


def flat(seen: Features) -> list[float]:
    """Return the rows of the context, one after the other, nothing where there are no more."""
    rows = seen.context[:MOST_LOOPS]
    found = np.zeros((MOST_LOOPS, len(CONTEXT)))
    found[: len(rows)] = rows
    return [float(value) for value in found.ravel()]


def relations(seen: Features) -> list[float]:
    """Return the columns of the relations."""
    return [float(seen.vector[NAMES.index(name)]) for name in RELATIONS]


SHOWN: dict[str, Callable[[Features, Mapping], list[float]]] = {
    "configuration": lambda _, mapping: [float(value) for value in configuration(mapping)],
    "context": lambda seen, _: flat(seen),
    "relations": lambda seen, _: relations(seen),
    "features": lambda seen, _: [float(value) for value in seen.vector],
}


@dataclass(frozen=True)
class Shown:
    """The candidates of a corpus in every way, with the program of every case."""

    samples: dict[str, Samples]
    programs: tuple[str, ...]


def shown(path: Path, machine: str | None, most: int | None, tell: Callable[[str], None]) -> Shown:
    """Return a corpus's candidates, those of the first ``most`` cases.

    Raises:
        PolygymError: they are of fewer than two programs.
    """
    columns: dict[str, list[list[float]]] = {name: [] for name in SHOWN}
    seconds: list[float] = []
    cases: list[int] = []
    programs: list[str] = []
    with open_corpus(path) as corpus:
        key = machine_of(corpus, machine)
        chosen = groups(corpus, key)[:most]
    _expect_two(one.visit.case.program for one in chosen)
    for number, group in enumerate(chosen, start=1):
        programs.append(group.visit.case.program)
        for row, seen in looked_at(group):
            mapping = parse_mapping(row.mapping)
            for name, show in SHOWN.items():
                columns[name].append(show(seen, mapping))
            seconds.append(row.seconds)
            cases.append(len(programs) - 1)
        tell(f"{number} of {len(chosen)} cases, {len(seconds)} rows")
    _expect_two(programs[case] for case in cases)
    times, of = np.array(seconds), np.array(cases, dtype=np.int64)
    return Shown(
        {name: Samples(np.array(rows), times, of) for name, rows in columns.items()},
        tuple(programs),
    )


def _expect_two(programs: Iterable[str]) -> None:
    """Refuse what leaves no other program to ask about."""
    if (found := len(set(programs))) < 2:
        raise PolygymError(f"invariance: expected rows of at least two programs, found {found}")


@dataclass(frozen=True)
class Holds:
    """How good a model is that is shown candidates in one way: of other programs, of the same."""

    way: str
    seeds: int
    other_spearman: float
    other_share: float
    same_spearman: float
    same_share: float


def asked(found: Shown, way: str, seeds: Sequence[int]) -> Holds:
    """Return how good models are, in the mean of the seeds."""
    samples = found.samples[way]
    folds = usual_folds(len({found.programs[int(case)] for case in samples.cases}))
    other, same = [], []
    for seed in seeds:
        options = replace(TREES, seed=seed)

        def fit(part: Samples, options: TreeOptions = options) -> Callable[..., np.ndarray]:
            model = train(part, options)
            return lambda features, _: model.scores(features).mean(axis=0)

        other.append(validated(samples, found.programs, folds, fit, seed))
        same.append(within(samples, fit, seed))
    return Holds(
        way,
        len(seeds),
        fmean(one.spearman for one in other),
        fmean(one.share for one in other),
        fmean(one for one, _ in same),
        fmean(one for _, one in same),
    )


def within(
    samples: Samples, fit: Callable[[Samples], Callable[..., np.ndarray]], seed: int
) -> tuple[float, float]:
    """Return rank correlation and share for the half of every case that was not seen.

    Raises:
        PolygymError: no case has enough rows that were not.
    """
    dice = np.random.default_rng(seed)
    is_seen = dice.random(len(samples)) < 0.5
    model = fit(samples.taken(np.flatnonzero(is_seen)))
    correlations, shares = [], []
    for case in np.unique(samples.cases):
        own = np.flatnonzero((samples.cases == case) & ~is_seen)
        if len(own) < 3:
            continue
        part = samples.taken(own)
        scores = model(part.features, None)
        correlations.append(spearman(scores, -part.seconds))
        shares.append(float(part.seconds.min() / part.seconds[int(scores.argmax())]))
    if not shares:
        raise PolygymError(
            "invariance: expected cases of which three rows are left out, found none"
        )
    return float(np.median(correlations)), float(np.exp(np.mean(np.log(shares))))


def table(rows: list[Holds]) -> str:
    """Return a table in Markdown."""
    lines = [
        "| shown | rank correlation, other programs | share | same case | share |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {one.way} | {one.other_spearman:.2f} | {one.other_share:.2f} | "
        f"{one.same_spearman:.2f} | {one.same_share:.2f} |"
        for one in rows
    ]
    return "\n".join(lines)


def keep(path: Path, rows: list[Holds], about: str) -> None:
    """Write the rows to a file."""
    path.write_text(json.dumps({"about": about, "rows": [vars(one) for one in rows]}, indent=2))
