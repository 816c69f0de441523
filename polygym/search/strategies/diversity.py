"""Diversity among many good candidates: which of them to measure.

Of a set S of b candidates with scores f (AutoTVM, equation 3)

    L(S) = Σ f(s) + α · Σ_j |{ s_j : s ∈ S }|

is to be large, where s_j is entry number j of a candidate, a tile or a width of vectors: every
value that no other one has counts. L is submodular, for a value counts once, however many have it.
Where no score is below 0 it is monotone as well, and taking again and again the candidate that adds
most reaches (1 - 1/e) of the best there is (Nemhauser, Wolsey and Fisher 1978).

A model's scores may be below 0, as those of ranks are. What the greedy way chooses is the same with
any constant c added to all of them, which adds c to every gain; with c = -min f the condition
holds. So for scores of any sign (1 - 1/e) is promised of L(S) - b · min f, the sets being of b
candidates, and not of L itself.

Example, α = 1: of a, b, c with scores 3, 2.9, 2.5 and entries (32, on), (32, on), (8, off) the
first is a, then c, which adds 2.5 + 2, while b adds 2.9.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def select_diverse(
    scores: Mapping[Item, float],
    entries: Mapping[Item, Sequence[Hashable]],
    count: int,
    alpha: float,
) -> list[Item]:
    """Return so many, those first that add most.

    >>> entries = {"a": (32, True), "b": (32, True), "c": (8, False)}
    >>> select_diverse({"a": 3.0, "b": 2.9, "c": 2.5}, entries, 2, alpha=1.0)
    ['a', 'c']
    """
    left = dict(sorted(scores.items(), key=lambda one: -one[1]))
    have: set[tuple[int, Hashable]] = set()
    chosen: list[Item] = []

    def gain(one: Item) -> float:
        new = sum(pair not in have for pair in enumerate(entries[one]))
        return left[one] + alpha * new

    while left and len(chosen) < count:
        best = max(left, key=gain)
        del left[best]
        chosen.append(best)
        have.update(enumerate(entries[best]))
    return chosen
