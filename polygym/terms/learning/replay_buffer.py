"""Replay buffer of searches: a term, its targets, and its number of steps.

Of each search some states are kept, half of them such from which something could be saved, as far
as there are so many: most states of a search lead nowhere. A target is known for as many steps as
the state had left.

Several searches from one start, by different rules, are looked at as one graph
(:func:`sample_examples`):
what a state could have saved counts, whichever search went there.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polygym.cost.models.array_archives import ARCHIVE_ERRORS, pack_archive, unpack_archive
from polygym.errors import InputError
from polygym.files import write_atomically
from polygym.rewrite.term import Term, postorder, term
from polygym.search.planning.search_graph import SearchGraph

_LEAST = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class ValueExample:
    """A term, what it could have saved within 1, 2 … steps, and how many of these are known."""

    term: Term
    targets: NDArray[np.float32]
    known_steps: int


class ReplayBuffer:
    """The examples of the last searches; of more than ``most`` the oldest are gone."""

    def __init__(self, most: int) -> None:
        self._held: deque[ValueExample] = deque(maxlen=most)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._held)

    def extend(self, more: Sequence[ValueExample]) -> None:
        """Add examples."""
        self._held.extend(more)

    def sample(self, count: int, rng: np.random.Generator) -> list[ValueExample]:
        """Return some of them, none twice as long as there are so many."""
        numbers = [rng.permutation(len(self._held)) for _ in range(-(-count // len(self._held)))]
        return [self._held[at] for at in np.concatenate(numbers)[:count].tolist()]

    def save(self, path: Path) -> None:
        """Write all of them to a file, whole or not at all."""
        nodes = list(postorder([example.term for example in self._held]))
        places = {node: place for place, node in enumerate(nodes)}
        children = [places[child] for node in nodes for child in node.children]
        arrays: dict[str, Any] = {
            "counts": np.array([len(node.children) for node in nodes], np.int32),
            "children": np.array(children, np.int32),
            "terms": np.array([places[example.term] for example in self._held], np.int32),
            "targets": np.array([example.targets for example in self._held], np.float32),
            "left": np.array([example.known_steps for example in self._held], np.int32),
        }
        write_atomically(path, pack_archive({"heads": [node.head for node in nodes]}, arrays))

    def load(self, path: Path) -> None:
        """Read examples that :meth:`save` wrote, and add them.

        Raises:
            InputError: the file has none.
        """
        try:
            header, arrays = unpack_archive(path)
            nodes: list[Term] = []
            ends = list(accumulate(arrays["counts"].tolist()))
            children = arrays["children"].tolist()
            for head, start, end in zip(header["heads"], [0, *ends], ends, strict=False):
                nodes.append(term(head, *(nodes[at] for at in children[start:end])))
            rows = zip(arrays["terms"], arrays["targets"], arrays["left"], strict=True)
            self._held.extend(ValueExample(nodes[at], row, int(left)) for at, row, left in rows)
        except (*ARCHIVE_ERRORS, IndexError) as error:
            raise InputError(f"{path}: expected examples, found: {error}") from None


def sample_examples(
    searches: Sequence[SearchGraph[Term]], most: int, rng: np.random.Generator
) -> list[ValueExample]:
    """Return examples of what searches from one start saw, ``most`` of them at most."""
    whole = _together(searches)
    targets, left = whole.targets()[:, 1:], np.array(whole.steps_left)
    open_ones = np.flatnonzero(left > 0)
    gains = targets[open_ones, left[open_ones] - 1]
    useful, others = open_ones[gains > _LEAST], open_ones[gains <= _LEAST]
    first = min(len(useful), max(most // 2, most - len(others)))
    chosen = [*rng.permutation(useful)[:first], *rng.permutation(others)[: most - first]]
    return [
        ValueExample(whole.states[at], targets[at].astype(np.float32), int(left[at]))
        for at in map(int, chosen)
    ]


def _together(searches: Sequence[SearchGraph[Term]]) -> SearchGraph[Term]:
    """Return one graph with the states and steps of all, each state with the most steps left."""
    first = searches[0]
    if len(searches) == 1:
        return first
    whole = SearchGraph(first.system, first.horizon)
    children: dict[int, tuple[int, ...]] = {}
    for graph in searches:
        numbers = []
        for state, left in zip(graph.states, graph.steps_left, strict=True):
            number = whole.number_of(state)
            if number is None:
                number = whole.add(state, left)
            whole.steps_left[number] = max(whole.steps_left[number], left)
            numbers.append(number)
        for at, ends in graph.children.items():
            own = numbers[at]
            children[own] = (*children.get(own, ()), *(numbers[end] for end in ends))
    whole.children = children
    return whole
