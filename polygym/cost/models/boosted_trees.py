"""Gradient-boosted trees: the model that is trained in seconds and asked a thousand times a second.

Trees are grown by LightGBM one after the other, each along the gradient of the objective at what
those before it predict. For the rank objective (AutoTVM, equation 2) that is, over all pairs i, j
of one case in which i is faster by more than noise,

    L = Σ log(1 + exp(f_j - f_i)),      ∂L/∂f_i = -Σ_j σ(f_j - f_i),      σ(x) = 1/(1 + exp(-x)),

with the second derivative Σ σ·(1 - σ). Pairs far apart weigh as much as those that are close; with
``top_weight`` = t pairs of slow ones weigh less, 2^(t·(s - best)) where s is the score of the
faster one:
with t = 1 a pair whose faster one has half of the best's speed counts half.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from polygym.cost.features.candidates.candidate_vector import FEATURE_NAMES
from polygym.cost.features.candidates.loop_tree import LoopForest
from polygym.cost.features.loops.nests import Floats
from polygym.cost.models import cost_model
from polygym.cost.models.tree_inference import BoostedTreeFile
from polygym.errors import InputError, MissingLibraryError
from polygym.pickling import pickle_by_name

# With fewer rows threads wait for each other, busily, for longer than they compute: beside other
# work two of them took 9 seconds of the processor for 3,000 rows, and one took 0.1.
_ROWS_PER_THREAD = 10_000


@pickle_by_name
@dataclass(frozen=True, slots=True)
class BoostedTreeOptions:
    """How trees are grown; ``members`` is the size of the ensemble, each on a bootstrap sample.

    Where there are rows enough for so many, ``threads`` grow them; their number changes no bit.

    With ``random_splits`` splits are drawn at random, of which the best is taken: trees that differ
    more, and together are smoother where there are few rows.
    """

    objective: cost_model.Objective = cost_model.Objective.RANK
    rounds: int = 300
    leaves: int = 31
    learning_rate: float = 0.06
    min_rows_per_leaf: int = 12
    column_fraction: float = 0.5
    row_fraction: float = 0.8
    members: int = 1
    seed: int = 0
    threads: int = 2
    top_weight: float = 0.0
    random_splits: bool = False


@pickle_by_name
@dataclass(frozen=True, slots=True, eq=False)
class BoostedTrees:
    """An ensemble of boosted trees."""

    members: tuple[Any, ...]
    model_card: cost_model.ModelCard
    feature_names: tuple[str, ...] = FEATURE_NAMES

    @property
    def card(self) -> cost_model.ModelCard:
        """What it is made of."""
        return self.model_card

    @property
    def wants_loops(self) -> bool:
        """Vectors are all that it looks at."""
        return False

    def scores(self, features: Floats, loops: LoopForest | None = None) -> Floats:
        """Return the scores of candidates, a row for every member."""
        result = [member.predict(features, num_threads=1) for member in self.members]
        return np.asarray(result, dtype=np.float64)

    def save(self, path: Path) -> None:
        """Write the model to one file."""
        texts = tuple(member.model_to_string() for member in self.members)
        BoostedTreeFile(texts, self.model_card, self.feature_names).write(path)

    @staticmethod
    def load(path: Path) -> BoostedTrees:
        """Read a model.

        Raises:
            InputError: the file is no model, or one of another version of features.
        """
        expect_lightgbm()
        import lightgbm

        file = BoostedTreeFile.read(path)
        try:
            members = tuple(map(_booster, file.texts))
        except (ValueError, lightgbm.basic.LightGBMError) as error:
            raise InputError(f"{path}: expected a model of trees, found: {error}") from None
        return BoostedTrees(members, file.card, file.feature_names)


def _booster(text: str) -> Any:
    """Return trees from their text.

    Raises:
        ValueError: they are of other columns, or give more than one number.
    """
    import lightgbm

    booster = lightgbm.Booster(model_str=text)
    if booster.num_feature() != len(FEATURE_NAMES) or booster.num_model_per_iteration() != 1:
        raise ValueError(f"trees of {booster.num_feature()} columns")
    return booster


def train_boosted_trees(
    samples: cost_model.TrainingSamples,
    options: BoostedTreeOptions = BoostedTreeOptions(),
    card: cost_model.ModelCard | None = None,
    base_scores: Floats | None = None,
) -> BoostedTrees:
    """Grow trees; on top of ``base_scores`` where other scores are to be corrected.

    Raises:
        InputError: there are too few rows, or LightGBM is not there.
    """
    if len(samples) < 4:
        raise InputError(f"training: expected at least 4 rows, found {len(samples)}")
    started = time.monotonic()
    members = _grow_ensemble(samples, options, base_scores)
    about = card or cost_model.ModelCard(
        cost_model.ModelKind.TREES.value, options.objective.value, len(samples), 0, 0, options.seed
    )
    return BoostedTrees(members, replace(about, seconds=time.monotonic() - started))


def expect_lightgbm() -> None:
    """Refuse to go on without LightGBM.

    Raises:
        InputError: it is not there.
    """
    if find_spec("lightgbm") is None:
        raise MissingLibraryError("models of cost", "lightgbm", "cost")


def _grow_ensemble(
    samples: cost_model.TrainingSamples, options: BoostedTreeOptions, base: Floats | None
) -> tuple[Any, ...]:
    """Return the members, each grown on a bootstrap sample where there are several."""
    result = []
    for member, rows in enumerate(
        cost_model.bootstrap_samples(len(samples), options.members, options.seed)
    ):
        begin = None if base is None else base[rows]
        own = replace(options, seed=options.seed + member)
        result.append(_grow_trees(samples.select(rows), own, begin))
    return tuple(result)


def _grow_trees(
    samples: cost_model.TrainingSamples, options: BoostedTreeOptions, base: Floats | None = None
) -> Any:
    """Return trees that add up to the scores, from ``base_scores`` on."""
    expect_lightgbm()
    import lightgbm

    scores = samples.targets(options.objective)
    parameters: dict[str, Any] = {
        "num_leaves": options.leaves,
        "learning_rate": options.learning_rate,
        "min_data_in_leaf": min(options.min_rows_per_leaf, max(1, len(samples) // 8)),
        "feature_fraction": options.column_fraction,
        "bagging_fraction": options.row_fraction,
        "bagging_freq": 1,
        "lambda_l2": 1.0,
        "extra_trees": options.random_splits,
        "seed": options.seed,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": min(options.threads, 1 + len(samples) // _ROWS_PER_THREAD),
        "verbosity": -1,
    }
    match options.objective:
        case cost_model.Objective.REGRESSION | cost_model.Objective.SPEEDUP:
            parameters["objective"] = "huber"
        case cost_model.Objective.RANK:
            parameters["objective"] = _PairGradient(scores, samples.cases, options.top_weight)
    data = lightgbm.Dataset(samples.features, scores, init_score=base, free_raw_data=False)
    return lightgbm.train(parameters, data, options.rounds)


class _PairGradient:
    """The gradient of the rank objective; pairs stand within cases, which are small."""

    def __init__(
        self, scores: Floats, cases: np.ndarray[Any, np.dtype[np.int64]], top: float
    ) -> None:
        order = np.argsort(cases, kind="stable")
        ends = np.flatnonzero(np.diff(cases[order])) + 1
        self._groups = [group for group in np.split(order, ends) if len(group) > 1]
        self._faster = [_pair_weights(scores[group], top) for group in self._groups]

    def __call__(self, predicted: Floats, _: Any) -> tuple[Floats, Floats]:
        gradient, curvature = np.zeros_like(predicted), np.full_like(predicted, 1e-6)
        for group, faster in zip(self._groups, self._faster, strict=True):
            own = predicted[group]
            chance = 1.0 / (1.0 + np.exp(own[:, None] - own[None, :]))
            wrong = faster * chance
            bend = wrong * (1.0 - chance)
            scale = 1.0 / len(group)
            gradient[group] = scale * (wrong.sum(axis=0) - wrong.sum(axis=1))
            curvature[group] += scale * (bend.sum(axis=0) + bend.sum(axis=1))
        return gradient, curvature


def _pair_weights(scores: Floats, top: float) -> Floats:
    """Return what the pairs of a case weigh, the faster one by rows; on average 1."""
    faster = (scores[:, None] - scores[None, :]) > cost_model.SCORE_NOISE
    floats: Floats = faster * np.exp2(top * (scores - scores.max()))[:, None]
    floats *= faster.sum() / max(1e-9, float(floats.sum()))
    return floats


def feature_importances(model: BoostedTrees, limit: int = 20) -> Sequence[tuple[str, float]]:
    """Return the columns that decide most, with their shares of all gains."""
    gains = np.sum([member.feature_importance("gain") for member in model.members], axis=0)
    total = max(1e-12, float(gains.sum()))
    order = np.argsort(-gains)[:limit]
    return [(model.feature_names[k], float(gains[k]) / total) for k in order]
