"""What the learned policy is taught: corpora put together, and how careful it is to be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

from polygym.agents.pretraining.boosted_trees import validation_of
from polygym.agents.pretraining.calibration import (
    ENOUGH_CASES,
    LEAST_GAIN_GRID,
    HeldOutScores,
    calibrate,
    calibrate_mappings,
    calibration_at,
    variant_calibration_at,
)
from polygym.agents.pretraining.dataset import (
    FOLD_COUNT,
    CalibrationDataset,
    _joined_columns,
    concatenate_datasets,
    held_out_rows,
)
from polygym.cost.features.candidates.candidate_vector import FEATURE_NAMES
from polygym.cost.features.schedules.schedule_vector import SCHEDULE_FEATURE_NAMES


def lessons(programs: list[str], seconds: list[list[float]]) -> CalibrationDataset:
    """Return a case of each program, whose first row is isl's; all under the default mapping."""
    counts = [len(second) for second in seconds]
    rows = sum(counts)
    names = sorted(set(programs))
    is_isl = np.concatenate([np.arange(count) == 0 for count in counts])
    return CalibrationDataset(
        np.zeros((rows, len(FEATURE_NAMES)), np.float32),
        np.zeros((rows, len(SCHEDULE_FEATURE_NAMES)), np.float32),
        np.concatenate([np.array(second) for second in seconds]),
        np.ones(rows),
        np.repeat(np.arange(len(programs)), counts),
        np.repeat([names.index(program) for program in programs], counts),
        is_isl,
        np.ones(rows, np.bool_),
        np.array(names),
        np.zeros(rows, np.int64),
        np.repeat(np.arange(len(programs)), counts),
    )


def test_corpora_are_put_together_by_names_of_programs(tmp_path: Path) -> None:
    first = lessons(["mvt", "atax", "mvt"], [[1.0, 2.0], [3.0], [4.0]])
    second = lessons(["gemm", "mvt"], [[5.0], [6.0, 7.0]])
    second.save(tmp_path / "second.npz")
    dataset = concatenate_datasets([first, CalibrationDataset.load(tmp_path / "second.npz")])
    assert dataset.names.tolist() == ["atax", "gemm", "mvt"]
    assert dataset.seconds.tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert dataset.case_index.tolist() == [0, 0, 1, 2, 3, 4, 4]
    assert dataset.variant_index.tolist() == [0, 0, 1, 2, 3, 4, 4]
    assert dataset.corpus_index.tolist() == [0, 0, 0, 0, 1, 1, 1]
    assert [dataset.names[index] for index in dataset.program_index] == [
        "mvt", "mvt", "atax", "mvt", "gemm", "mvt", "mvt"
    ]  # fmt: skip
    assert len(dataset.features) == len(dataset.rows) == len(dataset.is_isl) == 7


def test_variants_of_a_program_are_one_case() -> None:
    """They have numbers of their own beside it; what nothing is known of is no case."""

    def part(case: int, seconds: list[float]) -> dict[str, Any]:
        rows = len(seconds)
        return {
            "case": case,
            "program": f"p{case}",
            "features": np.zeros((rows, len(FEATURE_NAMES))),
            "rows": np.zeros((rows, len(SCHEDULE_FEATURE_NAMES))),
            "seconds": seconds,
            "originals": [1.0] * rows,
            "is_isl": [place == 0 for place in range(rows)],
            "is_default": [True] * rows,
        }

    dataset = _joined_columns(
        [part(0, [1.0, 2.0]), part(0, [3.0, 4.0]), part(2, []), part(3, [5.0])]
    )
    assert dataset.case_index.tolist() == [0, 0, 0, 0, 1]
    assert dataset.variant_index.tolist() == [0, 0, 1, 1, 2]
    assert dataset.is_isl.tolist() == [True, False, True, False, True]
    assert dataset.seconds.tolist() == [1, 2, 3, 4, 5]
    assert [dataset.names[index] for index in dataset.program_index] == [
        "p0",
        "p0",
        "p0",
        "p0",
        "p3",
    ]


def test_what_both_expect_is_taken() -> None:
    """Two cases: in one the other schedule is four times as fast, in one four times as slow."""
    given = lessons(["a", "b"], [[0.04, 0.01], [0.01, 0.04]])
    networks = np.array([[0.0, 0.0], [2.0, 2.0], [0.0, 0.0], [2.0, 2.0]])
    both = calibration_at(
        given, HeldOutScores(networks, networks, np.array([0.0, 2.0, 0.0, 2.0])), 0.0, 0.1
    )
    assert (both.gain, both.taken_share, both.slower_share, both.cases) == (
        pytest.approx(1.0),
        1.0,
        0.5,
        2,
    )
    warned = HeldOutScores(networks, networks, np.array([0.0, 2.0, 0.0, -0.5]))
    calibration = calibration_at(given, warned, 0.0, 0.1)
    assert (calibration.gain, calibration.taken_share, calibration.slower_share) == (
        pytest.approx(2.0),
        0.5,
        0.0,
    )
    assert calibration.best_gain == pytest.approx(2.0)


def in_variants() -> tuple[CalibrationDataset, HeldOutScores]:
    """Return two programs, each in two variants; the second is 4 times as fast, and half as fast.

    A third program has no time as it was written.
    """
    given = lessons(
        ["a", "a", "b", "b", "c", "c", "c"],
        [[0.04, 0.02], [0.01, 0.05], [0.01], [0.02], [0.03], [0.01], [0.02]],
    )
    given.case_index[:] = [0, 0, 0, 0, 1, 1, 2, 2, 2]
    given.is_isl[6] = False
    said = np.array([0.0, 3.0, 2.0, 3.0, 0.0, 0.5, 0.0, 9.0, 9.0])
    networks = np.stack([said, said], axis=1)
    return given, HeldOutScores(networks, networks, said)


def test_variants_are_chosen_by_what_is_promised_of_them() -> None:
    given, said = in_variants()
    both = variant_calibration_at(given, said, 0.1)
    assert (both.cases, both.taken_share, both.slower_share) == (2, 1.0, 0.5)
    assert both.gain == pytest.approx(2**0.5)
    careful = variant_calibration_at(given, said, 0.6)
    assert (careful.taken_share, careful.slower_share) == (0.5, 0.0)
    assert careful.gain == careful.best_gain == pytest.approx(2.0)


def test_a_corpus_without_variants_says_nothing_of_them() -> None:
    given = lessons(["a", "b"], [[0.04, 0.01], [0.01, 0.04]])
    networks = np.zeros((4, 2))
    calibration = variant_calibration_at(
        given, HeldOutScores(networks, networks, networks[:, 0]), 0.3
    )
    assert (
        calibration.cases,
        calibration.gain,
        calibration.best_gain,
        calibration.slower_share,
        calibration.taken_share,
    ) == (
        0,
        1,
        1,
        0,
        0,
    )


def test_a_policy_chooses_within_a_home() -> None:
    """What another variant would give is no schedule that it could take."""
    given, said = in_variants()
    calibration = calibration_at(given, said, 0.0, 0.1)
    assert calibration.cases == 6
    assert calibration.gain == pytest.approx((2 / 5) ** (1 / 6))


def test_it_is_as_careful_as_it_has_to_be() -> None:
    """Where small promises are broken and great ones kept, only great ones are believed."""
    kept, broken = [0.04, 0.01], [0.01, 0.02]
    given = lessons([f"p{n}" for n in range(20)], [kept, broken] * 10)
    promised = np.array([0.0, 2.0, 0.0, 0.25] * 10)
    networks = np.stack([promised, promised], axis=1)
    calibration = calibrate(given, HeldOutScores(networks, networks, promised))
    assert calibration.least_gain in [gain for gain in LEAST_GAIN_GRID if gain >= 0.25]
    assert calibration.slower_share == 0.0
    assert calibration.gain == pytest.approx(2.0)


def test_of_what_gains_alike_the_most_careful_is_taken() -> None:
    """Small promises gain a little more by far than they cost, and one of them is broken."""
    few = [[0.0100, 0.0050]] * 10 + [[0.0100, 0.0094]] * 9 + [[0.0100, 0.0110]]
    given = lessons([f"p{n}" for n in range(len(few) + 20)], [*few, *[[0.01, 0.02]] * 20])
    promised = np.array([0.0, 0.95] * 10 + [0.0, 0.15] * 10 + [0.0, -1.0] * 20)
    networks = np.stack([promised, promised], axis=1)
    said = HeldOutScores(networks, networks, promised)
    bold, calibration = calibration_at(given, said, 0.0, 0.1), calibrate(given, said)
    assert bold.gain > calibration.gain > bold.gain * np.exp(-bold.standard_error)
    assert (bold.slower_share, calibration.slower_share) == (1 / 40, 0.0)
    assert calibration.least_gain > 0.15


@pytest.mark.parametrize("cases", [ENOUGH_CASES, ENOUGH_CASES - 1])
def test_the_last_corpus_says_what_promises_are_worth(cases: int) -> None:
    """What was four times as fast once is half as fast as code is generated now."""
    before = lessons(["old"], [[0.04, 0.01]])
    now = lessons([f"p{n}" for n in range(cases)], [[0.01, 0.02]] * cases)
    given = concatenate_datasets([before, now])
    promised = np.array([0.0, 1.0] * (cases + 1))
    networks = np.stack([promised, promised], axis=1)
    calibration = calibration_at(given, HeldOutScores(networks, networks, promised), 0.0, 0.1)
    assert calibration.cases == (cases if cases >= ENOUGH_CASES else cases + 1)
    assert (calibration.gain == pytest.approx(0.5)) == (cases >= ENOUGH_CASES)
    chosen = calibrate(given, HeldOutScores(networks, networks, promised))
    assert (chosen.least_gain, chosen.taken_share, chosen.gain) == (np.inf, 0.0, pytest.approx(1.0))


def test_what_takes_no_time_says_nothing() -> None:
    given = lessons(["a", "b"], [[0.04, 0.01], [1e-5, 4e-5]])
    networks = np.array([[0.0, 0.0], [2.0, 2.0], [0.0, 0.0], [2.0, 2.0]])
    calibration = calibration_at(given, HeldOutScores(networks, networks, networks[:, 0]), 0.0, 0.1)
    assert (calibration.cases, calibration.gain) == (1, pytest.approx(4.0))


def test_trees_that_were_asked_say_how_good_they_are() -> None:
    given = lessons(["a", "b"], [[1.0, 2.0, 4.0], [1.0, 2.0, 4.0]])
    said = np.array([0.9, 0.3, 0.1, 0.3, 0.9, np.nan])
    validation = validation_of(given, said)
    assert (validation.cases, validation.programs) == (2, 2)
    assert validation.share == pytest.approx(0.5**0.5)
    assert validation.spearman == pytest.approx(0.0)


def test_folds_part_programs() -> None:
    given = lessons([f"p{n % 10}" for n in range(20)], [[1.0, 2.0]] * 20)
    seen: list[int] = []
    for number in range(FOLD_COUNT):
        asked, others = held_out_rows(given, "loops", 3, number)
        assert not set(given.program_index[asked]) & set(given.program_index[others])
        seen += asked.tolist()
    assert sorted(seen) == list(range(40))


@pytest.mark.parametrize(("seconds", "is_ever"), [(0.01, True), (0.0399, False)])
def test_mappings_are_answered_only_where_it_is_worth_it(seconds: float, is_ever: bool) -> None:
    given = lessons(["a", "b"], [[0.04, seconds], [0.04, 0.05]])
    given.is_isl[:] = True
    given.is_default[:] = [True, False, True, False]
    networks = np.array([[0.0, 0.0], [2.0, 2.0], [0.0, 0.0], [-1.0, -1.0]])
    calibration = calibrate_mappings(given, HeldOutScores(networks, networks, networks[:, 0]), 1.0)
    assert (calibration.least_gain < np.inf) == is_ever
    assert calibration.cases == 2
