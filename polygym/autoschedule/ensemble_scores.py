"""Scores of candidates by an ensemble of models, and the gain that they predict together.

With member k's scores s_k(x) of what may be chosen and s_k(d) of what there is, a network promises

    mean over k of (s_k(x) - s_k(d)), less ``caution`` times their deviation,

that is: by which power of two x is faster, on the safe side. Boosted trees
(:mod:`polygym.cost.models.pretrained`) look at planned loops as well, and err elsewhere; of what
both promise the *promise* is √(a·b) where both are above 0, else the smaller one.

Example, five members that say 0.5, 0.7, 0.6, 0.8 and 0.4: 0.6 in the mean with a deviation of 0.14;
with a caution of 1 the network promises 0.46, a third faster at least. If trees promise 0.26, it is
0.35; if they promise -0.1, it is that.
"""

from dataclasses import dataclass
from math import inf, sqrt

from polygym.cost.features.loops.nests import Floats
from polygym.cost.models.score_network import ScoreNetwork
from polygym.cost.models.tree_inference import TreeInference
from polygym.pickling import pickle_by_name


@pickle_by_name
@dataclass(frozen=True, slots=True, eq=False)
class EnsembleScores:
    """What is thought of something: a score of every member of a network, and one of trees."""

    members: Floats
    trees: float | None = None


def ensemble_scores(
    vectors: Floats, network: ScoreNetwork, trees: TreeInference | None
) -> list[EnsembleScores]:
    """Return what is thought of candidates, by the features of their planned loops."""
    members = network.scores(vectors)
    if trees is None:
        return [EnsembleScores(one) for one in members.T]
    result = trees.scores(vectors).mean(axis=0)
    return [EnsembleScores(one, float(score)) for one, score in zip(members.T, result, strict=True)]


def ensemble_gain(
    candidate: EnsembleScores | None, current: EnsembleScores | None, caution: float
) -> float:
    """Return the promise of something beside what there is now; -inf where nothing is known."""
    if candidate is None or current is None:
        return -inf
    apart = candidate.members - current.members
    promised = float(apart.mean() - caution * apart.std())
    if candidate.trees is None or current.trees is None:
        return promised
    return combined_gain(promised, candidate.trees - current.trees)


def combined_gain(first: float, second: float) -> float:
    """Return what two models promise together.

    >>> combined_gain(4.0, 1.0), combined_gain(4.0, -1.0), combined_gain(0.0, 2.0)
    (2.0, -1.0, 0.0)
    """
    if first > 0 and second > 0:
        return sqrt(first * second)
    return min(first, second)
