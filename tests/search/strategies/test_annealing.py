"""Chains climb and go on, and the choice among what they saw is near the best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.mapping.mapping import DEFAULT_MAPPING
from polygym.poly.scheduling.strategy import ISL
from polygym.search.strategies.candidates import Candidate
from polygym.search.strategies.model_annealing import AnnealingChains, select_diverse

START = replace(DEFAULT_MAPPING, threads=2)


@given(
    st.lists(
        st.tuples(st.floats(-3, 3), st.tuples(st.integers(0, 2), st.integers(0, 2))),
        min_size=1,
        max_size=8,
    ),
    st.integers(1, 4),
    st.floats(0, 2),
)
@settings(deadline=None)
def test_the_choice_is_near_the_best_of_all_sets(
    things: list[tuple[float, tuple[int, int]]], count: int, alpha: float
) -> None:
    """At least 1 - 1/e of it, above what as many of the lowest score have where that is below 0."""
    scores = {place: score for place, (score, _) in enumerate(things)}
    entries = {place: entry for place, (_, entry) in enumerate(things)}

    def value(chosen: Sequence[int]) -> float:
        new = {pair for index in chosen for pair in enumerate(entries[index])}
        return sum(scores[index] for index in chosen) + alpha * len(new)

    count = min(count, len(things))
    selected = select_diverse(scores, entries, count, alpha)
    assert len(set(selected)) == count
    best = max(value(chosen) for chosen in combinations(scores, count))
    low = count * min(0.0, *scores.values())
    assert value(selected) - low >= (1 - 1 / np.e) * (best - low) - 1e-9


def test_chains_climb_and_go_on_where_they_ended() -> None:
    """On a hill over tile sizes they come close to its top, which random ones rarely do."""

    def at(size: int) -> Candidate:
        return Candidate(ISL, replace(START, tile=(size,)))

    def score(candidates: Sequence[Candidate]) -> np.ndarray:
        sizes = [(candidate.mapping.tile or (0,))[0] for candidate in candidates]
        return np.array([-abs(size - 300.0) if size < 600 else -np.inf for size in sizes])

    rng = np.random.default_rng(0)

    def neighbour(parent: Candidate) -> Candidate:
        assert parent.mapping.tile
        return at(max(1, parent.mapping.tile[0] + int(rng.integers(-20, 21))))

    chains = AnnealingChains([at(size) for size in (10, 50, 550, 599)], rng)
    first = max(score(chains.current))
    for _ in range(8):
        seen = chains.run(30, neighbour, score)
    assert max(score(chains.current)) > -20 > first
    assert set(chains.current) <= set(seen)


def test_chains_stop_when_nobody_wants_the_rest() -> None:
    begin = [Candidate(ISL, replace(START, tile=(size,))) for size in (8, 16)]
    left = iter([False, False, True])
    made = iter(range(100, 200))

    def neighbour(parent: Candidate) -> Candidate:
        return replace(parent, mapping=replace(START, tile=(next(made),)))

    def score(candidates: Sequence[Candidate]) -> np.ndarray:
        return np.zeros(len(candidates))

    chains = AnnealingChains(begin, np.random.default_rng(0))
    seen = chains.run(30, neighbour, score, lambda: next(left))
    assert len(seen) == 2 + 2 * 2
