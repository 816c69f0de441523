"""Who searches: dice, genes, and models that learn in different ways and know different things."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np

from polygym.cost.model import Acquisition, Kind, Model, Objective
from polygym.search.tune.by_model import ByModel, Filtered
from polygym.search.tune.candidates import Candidate, Genes
from polygym.search.tune.dice import Random
from polygym.search.tune.learning import USUAL as USUAL_LEARNING
from polygym.search.tune.learning import Learning
from polygym.search.tune.looked_at import LookedAt
from polygym.search.tune.searches import Genetic


@dataclass(frozen=True)
class Contender:
    """A search; ``knows`` says from which other programs a model has learned before it begins."""

    by: type[Random]
    says: str
    learning: Learning = USUAL_LEARNING
    knows: str = ""

    def search(
        self,
        genes: Genes,
        begin: Sequence[Candidate],
        dice: np.random.Generator,
        looked_at: Callable[[bool], LookedAt],
        known: tuple[Model, bool] | None,
    ) -> Random:
        """Return the search; ``known`` is what it knows, and whether that is of this machine."""
        if not issubclass(self.by, ByModel):
            return self.by(genes, begin, dice)
        other, is_of_here = known or (None, True)
        seen = looked_at(self.learning.wants_loops(other))
        return self.by(genes, begin, dice, seen, other, is_of_here, self.learning)


SHIPPED, OF_RANDOM, OF_LAYERS = "shipped", "random programs", "C1 to C6"

CONTENDERS = {
    "random": Contender(Random, "dice"),
    "genetic": Contender(Genetic, "genes"),
    "trees": Contender(ByModel, "trees, pairs"),
    "tree-gru": Contender(ByModel, "TreeGRU, pairs", Learning(Kind.TREE_GRU)),
    "times": Contender(ByModel, "trees, times", Learning(objective=Objective.REGRESSION)),
    "tree-gru-times": Contender(
        ByModel, "TreeGRU, times", Learning(Kind.TREE_GRU, Objective.REGRESSION)
    ),
    "diversity-0": Contender(ByModel, "no diversity", Learning(diversity=0.0)),
    "diversity-0.5": Contender(ByModel, "half the diversity", Learning(diversity=0.5)),
    "diversity-2": Contender(ByModel, "twice the diversity", Learning(diversity=2.0)),
    "ei": Contender(
        ByModel, "expected improvement", Learning(acquisition=Acquisition.EXPECTED_IMPROVEMENT)
    ),
    "ucb": Contender(
        ByModel, "upper bound", Learning(acquisition=Acquisition.UPPER_CONFIDENCE_BOUND)
    ),
    "filter": Contender(Filtered, "dice, filtered", knows=SHIPPED),
    "transfer": Contender(ByModel, "trees that know the corpus", knows=SHIPPED),
    "of-random": Contender(ByModel, "trees that know random programs", knows=OF_RANDOM),
    "of-layers": Contender(ByModel, "trees that know C1 to C6", knows=OF_LAYERS),
}

FIGURES = {
    "searches": ("Searches that begin with nothing", ("random", "genetic", "trees", "tree-gru")),
    "objectives": (
        "Pairs or times",
        ("random", "trees", "times", "tree-gru", "tree-gru-times"),
    ),
    "diversity": (
        "How much diversity is worth",
        ("random", "diversity-0", "trees", "diversity-0.5", "diversity-2"),
    ),
    "doubt": ("What a model is not sure of", ("random", "trees", "ei", "ucb")),
    "knowledge": (
        "What is known of other programs",
        ("random", "trees", "filter", "transfer", "of-random", "of-layers"),
    ),
}
"""The pictures of the study: what each asks, and who answers."""

USUAL = ("random", "genetic", "trees", "transfer")


def telling(there: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the figures that can be drawn of some contenders, and who is in each.

    One whose contenders are all in another figure would say nothing of its own.

    >>> telling({"random", "trees", "transfer"})
    {'knowledge': ('random', 'trees', 'transfer')}
    >>> list(telling({"random", "trees"}))
    ['searches']
    """
    found = {
        name: tuple(one for one in wanted if one in there) for name, (_, wanted) in FIGURES.items()
    }
    told: dict[str, tuple[str, ...]] = {}
    for name, own in found.items():
        is_part = any(set(own) < set(other) for other in found.values())
        is_again = any(set(own) == set(other) for other in told.values())
        if len(own) > 1 and not is_part and not is_again:
            told[name] = own
    return told


def expanded(names: Sequence[str]) -> list[str]:
    """Return the contenders of figures, and those that are named, each once.

    Raises:
        ValueError: there is none of that name.
    """
    found: dict[str, None] = {}
    for name in names:
        if name not in CONTENDERS and name not in FIGURES:
            known = ", ".join((*FIGURES, *CONTENDERS))
            raise ValueError(f"contenders: expected some of {known}, found {name}")
        found.update(dict.fromkeys(FIGURES[name][1] if name in FIGURES else (name,)))
    return list(found)
