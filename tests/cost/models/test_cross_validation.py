"""Validation: what is left out was never learned from, and the figures are what they say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygym.cost.features.candidates.loop_tree import LoopForest, LoopTree
from polygym.cost.features.loops.nests import Floats
from polygym.cost.models.cost_model import TrainingSamples
from polygym.cost.models.cross_validation import ScoreFunction, cross_validate, spearman
from polygym.errors import InputError


def samples(cases: int = 12, each: int = 9) -> tuple[TrainingSamples, list[str]]:
    """Return rows whose first feature is the score; two cases are of one program."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(cases * each, 3))
    seconds = np.exp2(-rows[:, 0])
    return (
        TrainingSamples(rows, seconds, np.arange(cases * each) // each),
        [f"program {case // 2}" for case in range(cases)],
    )


def test_a_program_is_learned_from_or_asked_about_and_never_both() -> None:
    data, programs = samples()
    learned: list[set[str]] = []

    def fit(part: TrainingSamples) -> ScoreFunction:
        learned.append({programs[int(case)] for case in part.cases})

        def score(rows: Floats, _: LoopForest | None) -> Floats:
            asked = {
                programs[int(case)]
                for row in rows
                for case in data.cases[np.all(data.features == row, axis=1)]
            }
            assert not asked & learned[-1]
            return rows[:, 0]

        return score

    validation = cross_validate(data, programs, 3, fit)
    assert (validation.cases, validation.programs) == (12, 6)
    assert (validation.spearman, validation.share) == (1.0, 1.0)
    assert len(learned) == 3
    assert set.union(*learned) == set(programs)


def test_a_model_that_is_wrong_is_said_to_be() -> None:
    data, programs = samples()
    validation = cross_validate(data, programs, 2, lambda _: lambda rows, _: -rows[:, 0])
    assert validation.spearman == -1.0
    assert validation.share < 0.2
    constant = cross_validate(data, programs, 2, lambda _: lambda rows, _: np.zeros(len(rows)))
    assert constant.spearman == 0.0
    with pytest.raises(InputError, match="found 7 of 6"):
        cross_validate(data, programs, 7, lambda _: lambda rows, _: rows[:, 0])


def test_loops_come_with_their_candidates() -> None:
    """Models that look at loops alone are asked with those of the rows in question."""
    data, programs = samples()
    trees = [
        LoopTree(row[None, :].astype(np.float32), np.array([-1]), np.array([0]))
        for row in data.features
    ]

    def score(_: Floats, loops: LoopForest | None) -> Floats:
        assert loops is not None
        return loops.rows[:, 0].astype(np.float64)

    learned: list[int] = []

    def fit(part: TrainingSamples) -> ScoreFunction:
        assert part.loops is not None
        np.testing.assert_array_equal(part.loops.rows, part.features.astype(np.float32))
        learned.append(len(part))
        return score

    validation = cross_validate(replace(data, loops=LoopForest.of(trees)), programs, 3, fit)
    assert (validation.spearman, validation.share) == (1.0, 1.0)
    assert sum(learned) == 2 * len(data)


@given(st.lists(st.integers(-50, 50), min_size=3, max_size=12), st.data())
def test_the_rank_correlation_is_that_of_the_definition(
    values: list[int], data: st.DataObject
) -> None:
    """Without ties it is 1 - 6·Σd²/(n³ - n), whatever the values are."""
    first = np.array(sorted(set(values)), dtype=float)
    if len(first) < 3:
        return
    order = data.draw(st.permutations(range(len(first))))
    second = np.array(order, dtype=float)
    count = len(first)
    apart = np.arange(count) - second
    wanted = 1 - 6 * float(apart @ apart) / (count**3 - count)
    assert spearman(first**3, second) == pytest.approx(wanted)
