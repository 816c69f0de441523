"""How a search learns from its own measurements, and how it chooses by what it has learned.

Its models are small, since a program has tens or hundreds of measurements, and are made again after
every few: trees in a tenth of a second, a TreeGRU in one or two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from polygym.cost.correction import Correction, correction
from polygym.cost.model import Acquisition, Kind, Model, Objective, Samples
from polygym.cost.tree_gru import GRUOptions
from polygym.cost.trees import TreeOptions

_MEMBERS = 5  # that differ where the model is not sure
_HALF_AT = 16


@dataclass(frozen=True, slots=True)
class Learning:
    """Which model learns, to what it is fitted, and by what candidates are chosen.

    ``diversity`` is what an entry of a mapping that no one else in the batch has is worth before
    anything is measured, in deviations of the scores (:mod:`polygym.search.tune.diversity`). With
    measurements it is worth less and less: what a model does not know it can learn from others at
    first, and later from candidates that it trusts.
    """

    kind: Kind = Kind.TREES
    objective: Objective = Objective.RANK
    acquisition: Acquisition = Acquisition.MEAN
    diversity: float = 1.0

    def wants_loops(self, other: Model | None) -> bool:
        """Whether what it learns, or what is there already, looks at candidates' loops."""
        return self.kind is Kind.TREE_GRU or (other is not None and other.wants_loops)

    def worth_of_entry(self, measured: int) -> float:
        """Return what a new entry is worth after so many measurements: after 48 a quarter."""
        return self.diversity * _HALF_AT / (_HALF_AT + measured)

    def corrected(self, samples: Samples, other: Model | None) -> Correction:
        """Return another model, if there is one, with what the samples of one program add."""
        return correction(samples, other, self._learner)

    @property
    def _learner(self) -> TreeOptions | GRUOptions:
        # Without doubt to be taken into account one model is enough.
        members = 1 if self.acquisition is Acquisition.MEAN else _MEMBERS
        match self.kind:
            case Kind.TREES:
                return TreeOptions(
                    self.objective, rounds=80, leaves=12, rate=0.1, least_rows=4, columns=0.6,
                    members=members, threads=1, top=1.0, extra=True,
                )  # fmt: skip
            case Kind.TREE_GRU:
                # One case is one batch, so an epoch is a step.
                return GRUOptions(self.objective, epochs=120, cases=1, members=members)
            case _:
                assert_never(self.kind)


USUAL = Learning()
"""Trees that put pairs in order, the mean of their scores, and diverse batches at first."""
