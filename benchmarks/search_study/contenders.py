"""Contenders of the study: random, genetic, and models with different training and priors."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np

from polygym.cost.models.cost_model import Acquisition, CostModel, ModelKind, Objective
from polygym.search.strategies.candidates import Candidate, SearchSpace
from polygym.search.strategies.feature_cache import FeatureCache
from polygym.search.strategies.model_annealing import ModelAnnealing, ModelFilter
from polygym.search.strategies.model_options import DEFAULT_LEARNING as USUAL_LEARNING
from polygym.search.strategies.model_options import LearningOptions
from polygym.search.strategies.random_search import GeneticSearch, RandomSearch


@dataclass(frozen=True)
class Contender:
    """A search; ``prior`` says from which other programs a model has learned before it begins."""

    strategy: type[RandomSearch]
    description: str
    learning: LearningOptions = USUAL_LEARNING
    prior: str = ""

    def search(
        self,
        genes: SearchSpace,
        initial: Sequence[Candidate],
        rng: np.random.Generator,
        feature_cache: Callable[[bool], FeatureCache],
        prior_model: tuple[CostModel, bool] | None,
    ) -> RandomSearch:
        """Return the search; ``prior_model`` is a model and whether it is of this machine."""
        if not issubclass(self.strategy, ModelAnnealing):
            return self.strategy(genes, initial, rng)
        other, is_of_here = prior_model or (None, True)
        seen = feature_cache(self.learning.wants_loops(other))
        return self.strategy(genes, initial, rng, seen, other, is_of_here, self.learning)


SHIPPED, OF_RANDOM, OF_LAYERS = "shipped", "random programs", "C1 to C6"

CONTENDERS = {
    "random": Contender(RandomSearch, "random search"),
    "genetic": Contender(GeneticSearch, "genes"),
    "trees": Contender(ModelAnnealing, "trees, pairs"),
    "tree-gru": Contender(ModelAnnealing, "TreeGRU, pairs", LearningOptions(ModelKind.TREE_GRU)),
    "times": Contender(
        ModelAnnealing, "trees, times", LearningOptions(objective=Objective.REGRESSION)
    ),
    "tree-gru-times": Contender(
        ModelAnnealing, "TreeGRU, times", LearningOptions(ModelKind.TREE_GRU, Objective.REGRESSION)
    ),
    "diversity-0": Contender(ModelAnnealing, "no diversity", LearningOptions(diversity=0.0)),
    "diversity-0.5": Contender(
        ModelAnnealing, "half the diversity", LearningOptions(diversity=0.5)
    ),
    "diversity-2": Contender(ModelAnnealing, "twice the diversity", LearningOptions(diversity=2.0)),
    "ei": Contender(
        ModelAnnealing,
        "expected improvement",
        LearningOptions(acquisition=Acquisition.EXPECTED_IMPROVEMENT),
    ),
    "ucb": Contender(
        ModelAnnealing,
        "upper bound",
        LearningOptions(acquisition=Acquisition.UPPER_CONFIDENCE_BOUND),
    ),
    "filter": Contender(ModelFilter, "random search, filtered", prior=SHIPPED),
    "transfer": Contender(ModelAnnealing, "trees that know the corpus", prior=SHIPPED),
    "of-random": Contender(ModelAnnealing, "trees that know random programs", prior=OF_RANDOM),
    "of-layers": Contender(ModelAnnealing, "trees that know C1 to C6", prior=OF_LAYERS),
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

DEFAULT_CONTENDERS = ("random", "genetic", "trees", "transfer")


def drawable_figures(there: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the figures that can be drawn of some contenders, and who is in each.

    One whose contenders are all in another figure would say nothing of its own.

    >>> telling({"random", "trees", "transfer"})
    {'knowledge': ('random', 'trees', 'transfer')}
    >>> list(telling({"random", "trees"}))
    ['searches']
    """
    figures = {
        name: tuple(who for who in wanted if who in there) for name, (_, wanted) in FIGURES.items()
    }
    told: dict[str, tuple[str, ...]] = {}
    for name, own in figures.items():
        is_part = any(set(own) < set(other) for other in figures.values())
        is_again = any(set(own) == set(other) for other in told.values())
        if len(own) > 1 and not is_part and not is_again:
            told[name] = own
    return told


def expand_names(names: Sequence[str]) -> list[str]:
    """Return the contenders of figures, and those that are named, each once.

    Raises:
        ValueError: there is none of that name.
    """
    result: dict[str, None] = {}
    for name in names:
        if name not in CONTENDERS and name not in FIGURES:
            known = ", ".join((*FIGURES, *CONTENDERS))
            raise ValueError(f"contenders: expected some of {known}, found {name}")
        result.update(dict.fromkeys(FIGURES[name][1] if name in FIGURES else (name,)))
    return list(result)
