"""Cross-validation of a model: some programs are left out, and predicted.

Programs, not rows, are dealt into folds; a model that has learned from the others ranks the
candidates of each case that was left out. Two figures say how well, for every case:

* Spearman's rank correlation ρ of scores and speeds, 1 if the order is right;
* the *share*: how fast the candidate ranked first is, beside the fastest that was measured.

Example: with times 1, 2, 4 ms and scores 0.3, 0.9, 0.1 the second one is ranked first, share 1/2;
the ranks 2, 3, 1 stand beside 3, 2, 1, so ρ = 1 - 6·(1 + 1 + 0)/(3·8) = 1/2.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polygym.cost.features.candidates.loop_tree import LoopForest
from polygym.cost.features.loops.nests import Floats
from polygym.cost.models.cost_model import TrainingSamples
from polygym.errors import InputError

_FOLDS = 5

ScoreFunction = Callable[[Floats, LoopForest | None], Floats]
"""What gives the candidates of a case a score each, by their features, and by their loops if there
are any."""


@dataclass(frozen=True, slots=True)
class CrossValidation:
    """What came of the cases that were left out: medians, quarters, and a geometric mean."""

    cases: int
    programs: int
    spearman: float
    spearman_lower_quartile: float
    share: float
    share_lower_quartile: float


def default_folds(programs: int) -> int:
    """Return into how many folds programs are dealt if nothing is said: 0, no test, of one alone.

    >>> [default_folds(programs) for programs in (1, 2, 5, 99)]
    [0, 2, 5, 5]
    """
    return min(_FOLDS, programs) if programs > 1 else 0


def expect_programs(programs: int, folds: int) -> None:
    """Refuse more folds than programs.

    Raises:
        InputError: there are fewer programs than folds.
    """
    if programs < folds:
        raise InputError(
            f"folds: expected at most as many as programs, found {folds} of {programs}"
        )


def cross_validate(
    samples: TrainingSamples,
    programs: Sequence[str],
    folds: int,
    fit: Callable[[TrainingSamples], ScoreFunction],
    seed: int = 0,
) -> CrossValidation:
    """Return how good models are on programs that they have not learned from.

    ``programs`` names the program of every case, ``fit`` makes a model of samples.

    Raises:
        InputError: there are fewer programs than folds.
    """
    of_case = np.array(programs)
    names = sorted({programs[int(case)] for case in np.unique(samples.cases)})
    expect_programs(len(names), folds)
    order = np.random.default_rng(seed).permutation(len(names))
    fold_of = {names[int(place)]: number % folds for number, place in enumerate(order)}
    fold = np.array([fold_of.get(name, -1) for name in of_case])[samples.cases]
    correlations: list[float] = []
    shares: list[float] = []
    for number in range(folds):
        model = fit(samples.select(np.flatnonzero(fold != number)))
        for case in np.unique(samples.cases[fold == number]):
            own = np.flatnonzero(samples.cases == case)
            asked = samples.select(own)
            scores, seconds = model(asked.features, asked.loops), asked.seconds
            correlations.append(spearman(scores, -seconds))
            shares.append(float(seconds.min() / seconds[int(scores.argmax())]))
    return CrossValidation(
        len(shares),
        len(names),
        float(np.median(correlations)),
        float(np.quantile(correlations, 0.25)),
        float(np.exp(np.mean(np.log(shares)))),
        float(np.quantile(shares, 0.25)),
    )


def spearman(first: Floats, second: Floats) -> float:
    """Return the rank correlation of two columns; 0 where one of them is constant.

    >>> spearman(np.array([0.3, 0.9, 0.1]), np.array([-1.0, -2.0, -4.0]))
    0.5
    """
    array, two = _ranks(first), _ranks(second)
    if array.std() == 0 or two.std() == 0:
        return 0.0
    return float(np.round(np.corrcoef(array, two)[0, 1], 12))


def _ranks(values: Floats) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return ranks; equal values share theirs."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts - 1) / 2.0)[place], dtype=np.float64)
