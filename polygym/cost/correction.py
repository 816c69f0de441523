"""What the measurements of one program add to a model of others (AutoTVM, equation 4).

The score of a candidate is f(x) = f_other(x) + f_own(x), where f_own is fitted with f_other(x) as
what is there already. Example: the other model says that two candidates are alike, 1 and 1, and the
first has been measured to be twice as fast, so its scores should be half apart on either side of
their mean: the own model learns 0.5 and -0.5. Without another model the own one stands alone.

Rows may have more columns than features: the own model sees all of them, the other one those that
mean the same for every program (:mod:`polygym.cost.configuration`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from polygym.cost.candidate import NAMES
from polygym.cost.loop_tree import Forest
from polygym.cost.model import Card, Model, Samples
from polygym.cost.nests import Floats
from polygym.cost.tree_gru import GRUOptions, fit
from polygym.cost.trees import TreeOptions, train

KIND = "correction"
"""What its card says that it is."""


@dataclass(frozen=True, slots=True, eq=False)
class Correction:
    """A model of other programs, if there is one, and what one program's measurements add to it."""

    other: Model | None
    own: Model

    @property
    def card(self) -> Card:
        """What the correction is made of."""
        return self.own.card

    @property
    def wants_loops(self) -> bool:
        """Whether one of the two looks at them."""
        return self.own.wants_loops or (self.other is not None and self.other.wants_loops)

    def scores(self, features: Floats, loops: Forest | None = None) -> Floats:
        """Return the scores of candidates, a row for every member of the correction."""
        found = self.own.scores(features, loops)
        if self.other is None:
            return found
        return found + expected(self.other, features, loops)


def expected(other: Model, features: Floats, loops: Forest | None) -> Floats:
    """Return the scores of a model of other programs, for rows that may have more columns."""
    found: Floats = other.scores(features[:, : len(NAMES)], loops).mean(axis=0)
    return found


def correction(
    samples: Samples, other: Model | None, learner: TreeOptions | GRUOptions
) -> Correction:
    """Learn what another model leaves wrong.

    With several members each has a sample of its own, drawn with replacement.

    Raises:
        InputError: there are too few rows, or a package is missing.
    """
    base = None if other is None else expected(other, samples.features, samples.loops)
    card = Card(KIND, learner.objective.value, len(samples), 1, 1, learner.seed)
    match learner:
        case TreeOptions():
            return Correction(other, train(samples, learner, card, base))
        case GRUOptions():
            return Correction(other, fit(samples, learner, card, base))
        case _:
            assert_never(learner)
