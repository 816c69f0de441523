"""Small choices at random, and every answer that they have, by trying all."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping

from polygym.rewrite.extraction.choices import ExtractionChoices

COSTS = (0.0, 0.0, 1.0, 1.0, 2.0, 3.0, 5.0, 7.5)


def random_choices(seed: int, is_cyclic: bool) -> ExtractionChoices:
    """Return up to eight classes of up to three nodes; each has one that needs only later ones."""
    rng = random.Random(seed)
    count = rng.randint(2, 8)
    costs: list[float] = []
    children: list[tuple[int, ...]] = []
    members: list[tuple[int, ...]] = []
    for name in range(count):
        nodes = []
        for place in range(rng.choice([1, 1, 2, 2, 3])):
            first = 0 if is_cyclic and place else name + 1
            others = [other for other in range(first, count) if other != name]
            needs = rng.sample(others, min(len(others), rng.choice([0, 1, 1, 2, 2, 3])))
            nodes.append(len(costs))
            costs.append(rng.choice(COSTS))
            children.append(tuple(sorted(needs)))
        members.append(tuple(nodes))
    numbers = tuple(range(len(costs)))
    return ExtractionChoices(
        numbers, tuple(costs), tuple(children), tuple(members), tuple(range(count)), {}
    )


def answers(choices: ExtractionChoices) -> Iterator[dict[int, int]]:
    """Yield every choice of a node for each class whose part below the root has no cycle."""
    for nodes in itertools.product(*choices.members):
        chosen = dict(enumerate(nodes))
        if is_acyclic(choices, chosen):
            yield chosen


def is_acyclic(choices: ExtractionChoices, chosen: Mapping[int, int]) -> bool:
    """Take away classes that need nothing which is left, until none is."""
    left = set(choices.reached(chosen))
    while left:
        free = {name for name in left if not left & set(choices.children[chosen[name]])}
        if not free:
            return False
        left -= free
    return True


def least(choices: ExtractionChoices) -> float:
    """Return what the cheapest answer costs."""
    return min(choices.cost(chosen) for chosen in answers(choices))
