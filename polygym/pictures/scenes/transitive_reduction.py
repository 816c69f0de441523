"""Transitive reduction: pairs of an order that do not follow from the others.

Dependences are transitive in effect: if a stays before b and b before c, then a stays before c,
whether or not the pair (a, c) is a dependence itself. A picture with all pairs hides its structure,
so the arrows are the *transitive reduction*: the fewest pairs with the same consequences. For
pairs without cycles it is unique, and it consists of the pairs (u, v) for which no other way leads
from u to v.

Example: 0 → 1, 1 → 2, 0 → 2 is drawn as 0 → 1 → 2.
"""

from collections.abc import Iterable
from typing import TypeAlias

Pair: TypeAlias = tuple[int, int]


def reduce_pairs(pairs: Iterable[Pair]) -> tuple[Pair, ...]:
    """Return the pairs that do not follow from the others, sorted.

    A pair (u, v) with u < v goes forward; only forward pairs follow from others, and only from
    forward ones, since these have no cycles. (Pairs that go backward appear where several instances
    are drawn as one dot.)

    From the last number to the first, ``reached[u]`` becomes the set of what u leads to, as the
    bits of an integer. The successors of u are met in ascending order, so all that can stand
    between u and v has been met before v: v is superfluous if it has been reached by then.

    >>> reduce_pairs([(0, 2), (0, 1), (1, 2)])
    ((0, 1), (1, 2))
    """
    successors: dict[int, set[int]] = {}
    kept: list[Pair] = []
    for u, v in pairs:
        if u < v:
            successors.setdefault(u, set()).add(v)
        elif v < u:
            kept.append((u, v))
    reached: dict[int, int] = {}
    for u in sorted(successors, reverse=True):
        seen = 0
        for v in sorted(successors[u]):
            if not seen >> v & 1:
                kept.append((u, v))
            seen |= reached.get(v, 0) | 1 << v
        reached[u] = seen
    return tuple(sorted(set(kept)))
