"""Models of cost: what they predict, what is said of them, and how they are written down.

A model gives every candidate of a case a *score*, and of two candidates of one case the one with
the greater score is taken to be the faster. Scores of different cases say nothing beside each
other: what ranks within a program is what a search needs. With an *ensemble* there are several
scores, one of each member, and how much they differ says how sure the model is.

A score is -log2 of a time, up to a constant of the case.

Models look at candidates in one of two ways: at a *vector* of features each, or at the *tree* of
its loops. Vectors are always there; trees are where a model wants them
(:attr:`CostModel.wants_loops`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from enum import Enum
from math import erfc, exp, pi, sqrt
from typing import Any, Protocol, assert_never, get_type_hints

import numpy as np

from polygym.cost.features.candidates.loop_tree import LoopForest
from polygym.cost.features.loops.nests import Floats
from polygym.errors import InputError
from polygym.pickling import pickle_by_name

MODEL_VERSION = 5
"""Of features and of files together: models of another version are refused."""


SCORE_NOISE = float(np.log2(1.03))
"""Scores that differ by less are of candidates of which neither is the faster."""


class ModelKind(Enum):
    """What models there are."""

    TREES = "trees"  # boosted, of vectors
    TREE_GRU = "tree-gru"  # a network that walks over the loops


class Objective(Enum):
    """What a model is fitted to."""

    RANK = "rank"  # pairs of one case in the right order: Σ log(1 + exp(-sign·(f_i - f_j)))
    REGRESSION = "regression"  # the logarithm of the time, apart from a constant of the case
    SPEEDUP = "speedup"  # the logarithm of how many times as fast as the original order


class Acquisition(Enum):
    """By what candidates are chosen where a model says how sure it is."""

    MEAN = "mean"
    EXPECTED_IMPROVEMENT = "ei"
    UPPER_CONFIDENCE_BOUND = "ucb"


@pickle_by_name
@dataclass(frozen=True, slots=True)
class ModelCard:
    """What a model is made of, for people: what it learned from, where, how, how good it is."""

    kind: str
    objective: str
    rows: int
    cases: int
    programs: int
    seed: int
    machine: str = ""
    processor: str = ""
    seconds: float = 0.0
    notes: dict[str, Any] = field(default_factory=dict)

    @staticmethod
    def from_json(data: object) -> ModelCard:
        """Return what a file says of its model.

        Raises:
            ValueError: it is no card.
        """
        if not isinstance(data, dict) or set(data) != {entry.name for entry in fields(ModelCard)}:
            raise ValueError("no card of a model")
        for name, annotation in get_type_hints(ModelCard).items():
            kinds = _CARD_TYPES[annotation]
            if not isinstance(data[name], kinds) or isinstance(data[name], bool):
                raise ValueError(f"a card with {name} = {str(data[name])[:50]}")
        return ModelCard(**data)


# Types of JSON for the annotation of a field.
_CARD_TYPES: dict[Any, tuple[type, ...]] = {
    str: (str,),
    int: (int,),
    float: (int, float),
    dict[str, Any]: (dict,),
}


@pickle_by_name
@dataclass(frozen=True, slots=True, eq=False)
class TrainingSamples:
    """What a model learns from: a row of features for each candidate, its time, and its case.

    ``loops`` are the candidates' loops, for models that want them; ``originals`` the times of the
    original order, for models of speedups.
    """

    features: Floats
    seconds: Floats
    cases: np.ndarray[tuple[int], np.dtype[np.int64]]
    loops: LoopForest | None = None
    originals: Floats | None = None

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.seconds)

    @property
    def scores(self) -> Floats:
        """What is to be predicted: -log2 of the time, 0 in the mean of every case."""
        array = -np.log2(self.seconds)
        for case in np.unique(self.cases):
            own = self.cases == case
            array[own] -= array[own].mean()
        return np.asarray(array, dtype=np.float64)

    def targets(self, objective: Objective) -> Floats:
        """Return what an objective wants to be predicted of every candidate.

        Raises:
            InputError: speedups are wanted, and nobody has said what the original order takes.
        """
        match objective:
            case Objective.RANK | Objective.REGRESSION:
                return self.scores
            case Objective.SPEEDUP:
                if self.originals is None:
                    raise InputError("speedups: expected times of the original order, found none")
                return np.asarray(np.log2(self.originals / self.seconds), dtype=np.float64)
            case _:
                assert_never(objective)

    def select(self, rows: np.ndarray[Any, np.dtype[np.int64]]) -> TrainingSamples:
        """Return some of them, any as often as it is named."""
        loops = None if self.loops is None else self.loops[rows]
        originals = None if self.originals is None else self.originals[rows]
        return TrainingSamples(
            self.features[rows], self.seconds[rows], self.cases[rows], loops, originals
        )


def bootstrap_samples(
    count: int, members: int, seed: int
) -> Iterator[np.ndarray[Any, np.dtype[np.int64]]]:
    """Yield the rows from which each member of an ensemble learns: all of them for one alone.

    For several each has a sample of its own, drawn with replacement.
    """
    if members == 1:
        yield np.arange(count)
        return
    rng = np.random.default_rng(seed)
    for _ in range(members):
        yield np.sort(rng.integers(count, size=count))


class CostModel(Protocol):
    """What gives candidates scores."""

    @property
    def card(self) -> ModelCard:
        """What it is made of."""

    @property
    def wants_loops(self) -> bool:
        """Whether scores depend on the loops of candidates, which are then to be handed in."""

    def scores(self, features: Floats, loops: LoopForest | None = None) -> Floats:
        """Return the scores of candidates of one case, a row for every member of the ensemble.

        ``features`` has a row for every candidate, ``loops`` a tree.
        """


def acquisition_values(
    scores: Floats, kind: Acquisition, best: float, exploration: float = 1.0
) -> Floats:
    """Return by what candidates are to be chosen, given the scores of an ensemble's members.

    ``best`` is the score of the best that was measured. The expected improvement of a score that is
    normal with mean μ and deviation σ is σ·(z·Φ(z) + φ(z)) with z = (μ - best)/σ; the upper bound
    is μ + ``exploration``·σ.

    >>> scores = np.array([[1.0, 3.0], [1.0, 1.0]])
    >>> acquisition_values(scores, Acquisition.UPPER_CONFIDENCE_BOUND, 0.0)
    array([1., 3.])
    """
    mean, deviation = scores.mean(axis=0), scores.std(axis=0)
    match kind:
        case Acquisition.MEAN:
            result = mean
        case Acquisition.UPPER_CONFIDENCE_BOUND:
            result = mean + exploration * deviation
        case Acquisition.EXPECTED_IMPROVEMENT:
            result = np.array(
                [_expected_improvement(m - best, s) for m, s in zip(mean, deviation, strict=True)]
            )
    return np.asarray(result, dtype=np.float64)


def _expected_improvement(margin: float, deviation: float) -> float:
    if deviation <= 1e-12:
        return max(0.0, margin)
    z = margin / deviation
    below = erfc(-z / sqrt(2)) / 2
    density = exp(-z * z / 2) / sqrt(2 * pi)
    return max(0.0, deviation * (z * below + density))
