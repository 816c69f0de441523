"""Correction of a model of others by the measurements of one program (AutoTVM, equation 4).

The score of a candidate is f(x) = f_other(x) + f_own(x), where f_own is fitted with f_other(x) as
what is there already. Example: the other model says that two candidates are alike, 1 and 1, and the
first has been measured to be twice as fast, so its scores should be half apart on either side of
their mean: the own model learns 0.5 and -0.5. Without another model the own one stands alone.

Rows may have more columns than features: the own model sees all of them, the other one those that
mean the same for every program (:mod:`polygym.cost.features.candidates.candidate_vector`).
"""

from dataclasses import dataclass
from typing import assert_never

from polygym.cost.features.candidates.candidate_vector import FEATURE_NAMES
from polygym.cost.features.candidates.loop_tree import LoopForest
from polygym.cost.features.loops.nests import Floats
from polygym.cost.models.boosted_trees import BoostedTreeOptions, train_boosted_trees
from polygym.cost.models.cost_model import CostModel, ModelCard, TrainingSamples
from polygym.cost.models.tree_gru import TreeGRUOptions, train_tree_gru

CORRECTION_KIND = "correction"
"""What its card says that it is."""


@dataclass(frozen=True, slots=True, eq=False)
class Correction:
    """A model of other programs, if there is one, and what one program's measurements add to it."""

    base_model: CostModel | None
    local: CostModel

    @property
    def card(self) -> ModelCard:
        """What the correction is made of."""
        return self.local.card

    @property
    def wants_loops(self) -> bool:
        """Whether one of the two looks at them."""
        return self.local.wants_loops or (
            self.base_model is not None and self.base_model.wants_loops
        )

    def scores(self, features: Floats, loops: LoopForest | None = None) -> Floats:
        """Return the scores of candidates, a row for every member of the correction."""
        floats = self.local.scores(features, loops)
        if self.base_model is None:
            return floats
        return floats + base_scores(self.base_model, features, loops)


def base_scores(base_model: CostModel, features: Floats, loops: LoopForest | None) -> Floats:
    """Return the scores of a model of other programs, for rows that may have more columns."""
    floats: Floats = base_model.scores(features[:, : len(FEATURE_NAMES)], loops).mean(axis=0)
    return floats


def train_correction(
    samples: TrainingSamples,
    base_model: CostModel | None,
    learner: BoostedTreeOptions | TreeGRUOptions,
) -> Correction:
    """Learn what another model leaves wrong.

    With several members each has a sample of its own, drawn with replacement.

    Raises:
        InputError: there are too few rows, or a package is missing.
    """
    base = None if base_model is None else base_scores(base_model, samples.features, samples.loops)
    card = ModelCard(CORRECTION_KIND, learner.objective.value, len(samples), 1, 1, learner.seed)
    match learner:
        case BoostedTreeOptions():
            return Correction(base_model, train_boosted_trees(samples, learner, card, base))
        case TreeGRUOptions():
            return Correction(base_model, train_tree_gru(samples, learner, card, base))
        case _:
            assert_never(learner)
