"""What the learned policy is taught: corpora put together, and how careful it is to be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

from agents.folds import FOLDS, asked_of
from agents.judging import (
    ENOUGH,
    LEASTS,
    Opinions,
    choose,
    choose_of_mappings,
    judged,
    judged_homes,
)
from agents.lessons import Lessons, _joined, together
from agents.taught_trees import validation_of
from polygym.cost.candidate import NAMES
from polygym.cost.rows import ROW_NAMES


def lessons(programs: list[str], seconds: list[list[float]]) -> Lessons:
    """Return a case of each program, whose first row is isl's; all under the default mapping."""
    counts = [len(one) for one in seconds]
    rows = sum(counts)
    names = sorted(set(programs))
    is_isl = np.concatenate([np.arange(count) == 0 for count in counts])
    return Lessons(
        np.zeros((rows, len(NAMES)), np.float32),
        np.zeros((rows, len(ROW_NAMES)), np.float32),
        np.concatenate([np.array(one) for one in seconds]),
        np.repeat(np.arange(len(programs)), counts),
        np.repeat([names.index(one) for one in programs], counts),
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
    found = together([first, Lessons.load(tmp_path / "second.npz")])
    assert found.names.tolist() == ["atax", "gemm", "mvt"]
    assert found.seconds.tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert found.case.tolist() == [0, 0, 1, 2, 3, 4, 4]
    assert found.home.tolist() == [0, 0, 1, 2, 3, 4, 4]
    assert found.corpus.tolist() == [0, 0, 0, 0, 1, 1, 1]
    assert [found.names[one] for one in found.program] == [
        "mvt", "mvt", "atax", "mvt", "gemm", "mvt", "mvt"
    ]  # fmt: skip
    assert len(found.features) == len(found.rows) == len(found.is_isl) == 7


def test_homes_of_a_program_are_one_case() -> None:
    """They have numbers of their own beside it; what nothing is known of is no case."""

    def part(case: int, seconds: list[float]) -> dict[str, Any]:
        rows = len(seconds)
        return {
            "case": case,
            "program": f"p{case}",
            "features": np.zeros((rows, len(NAMES))),
            "rows": np.zeros((rows, len(ROW_NAMES))),
            "seconds": seconds,
            "is_isl": [place == 0 for place in range(rows)],
            "is_default": [True] * rows,
        }

    found = _joined([part(0, [1.0, 2.0]), part(0, [3.0, 4.0]), part(2, []), part(3, [5.0])])
    assert found.case.tolist() == [0, 0, 0, 0, 1]
    assert found.home.tolist() == [0, 0, 1, 1, 2]
    assert found.is_isl.tolist() == [True, False, True, False, True]
    assert found.seconds.tolist() == [1, 2, 3, 4, 5]
    assert [found.names[one] for one in found.program] == ["p0", "p0", "p0", "p0", "p3"]


def test_what_both_expect_is_taken() -> None:
    """Two cases: in one the other schedule is four times as fast, in one four times as slow."""
    given = lessons(["a", "b"], [[0.04, 0.01], [0.01, 0.04]])
    networks = np.array([[0.0, 0.0], [2.0, 2.0], [0.0, 0.0], [2.0, 2.0]])
    both = judged(given, Opinions(networks, networks, np.array([0.0, 2.0, 0.0, 2.0])), 0.0, 0.1)
    assert (both.gain, both.taken, both.slower, both.cases) == (pytest.approx(1.0), 1.0, 0.5, 2)
    warned = Opinions(networks, networks, np.array([0.0, 2.0, 0.0, -0.5]))
    one = judged(given, warned, 0.0, 0.1)
    assert (one.gain, one.taken, one.slower) == (pytest.approx(2.0), 0.5, 0.0)
    assert one.best == pytest.approx(2.0)


def in_homes() -> tuple[Lessons, Opinions]:
    """Return two programs, each in two homes; the second is 4 times as fast, and half as fast.

    A third program has no time as it was written.
    """
    given = lessons(
        ["a", "a", "b", "b", "c", "c", "c"],
        [[0.04, 0.02], [0.01, 0.05], [0.01], [0.02], [0.03], [0.01], [0.02]],
    )
    given.case[:] = [0, 0, 0, 0, 1, 1, 2, 2, 2]
    given.is_isl[6] = False
    said = np.array([0.0, 3.0, 2.0, 3.0, 0.0, 0.5, 0.0, 9.0, 9.0])
    networks = np.stack([said, said], axis=1)
    return given, Opinions(networks, networks, said)


def test_homes_are_chosen_by_what_is_promised_of_them() -> None:
    given, said = in_homes()
    both = judged_homes(given, said, 0.1)
    assert (both.cases, both.taken, both.slower) == (2, 1.0, 0.5)
    assert both.gain == pytest.approx(2**0.5)
    careful = judged_homes(given, said, 0.6)
    assert (careful.taken, careful.slower) == (0.5, 0.0)
    assert careful.gain == careful.best == pytest.approx(2.0)


def test_a_corpus_without_homes_says_nothing_of_them() -> None:
    given = lessons(["a", "b"], [[0.04, 0.01], [0.01, 0.04]])
    networks = np.zeros((4, 2))
    found = judged_homes(given, Opinions(networks, networks, networks[:, 0]), 0.3)
    assert (found.cases, found.gain, found.best, found.slower, found.taken) == (0, 1, 1, 0, 0)


def test_a_policy_chooses_within_a_home() -> None:
    """What another home would give is no schedule that it could take."""
    given, said = in_homes()
    found = judged(given, said, 0.0, 0.1)
    assert found.cases == 6
    assert found.gain == pytest.approx((2 / 5) ** (1 / 6))


def test_it_is_as_careful_as_it_has_to_be() -> None:
    """Where small promises are broken and great ones kept, only great ones are believed."""
    kept, broken = [0.04, 0.01], [0.01, 0.02]
    given = lessons([f"p{n}" for n in range(20)], [kept, broken] * 10)
    promised = np.array([0.0, 2.0, 0.0, 0.25] * 10)
    networks = np.stack([promised, promised], axis=1)
    found = choose(given, Opinions(networks, networks, promised))
    assert found.least in [one for one in LEASTS if one >= 0.25]
    assert found.slower == 0.0
    assert found.gain == pytest.approx(2.0)


def test_of_what_gains_alike_the_most_careful_is_taken() -> None:
    """Small promises gain a little more by far than they cost, and one of them is broken."""
    few = [[0.0100, 0.0050]] * 10 + [[0.0100, 0.0094]] * 9 + [[0.0100, 0.0110]]
    given = lessons([f"p{n}" for n in range(len(few) + 20)], [*few, *[[0.01, 0.02]] * 20])
    promised = np.array([0.0, 0.95] * 10 + [0.0, 0.15] * 10 + [0.0, -1.0] * 20)
    networks = np.stack([promised, promised], axis=1)
    said = Opinions(networks, networks, promised)
    bold, found = judged(given, said, 0.0, 0.1), choose(given, said)
    assert bold.gain > found.gain > bold.gain * np.exp(-bold.error)
    assert (bold.slower, found.slower) == (1 / 40, 0.0)
    assert found.least > 0.15


@pytest.mark.parametrize("cases", [ENOUGH, ENOUGH - 1])
def test_the_last_corpus_says_what_promises_are_worth(cases: int) -> None:
    """What was four times as fast once is half as fast as code is generated now."""
    before = lessons(["old"], [[0.04, 0.01]])
    now = lessons([f"p{n}" for n in range(cases)], [[0.01, 0.02]] * cases)
    given = together([before, now])
    promised = np.array([0.0, 1.0] * (cases + 1))
    networks = np.stack([promised, promised], axis=1)
    found = judged(given, Opinions(networks, networks, promised), 0.0, 0.1)
    assert found.cases == (cases if cases >= ENOUGH else cases + 1)
    assert (found.gain == pytest.approx(0.5)) == (cases >= ENOUGH)
    chosen = choose(given, Opinions(networks, networks, promised))
    assert (chosen.least, chosen.taken, chosen.gain) == (np.inf, 0.0, pytest.approx(1.0))


def test_what_takes_no_time_says_nothing() -> None:
    given = lessons(["a", "b"], [[0.04, 0.01], [1e-5, 4e-5]])
    networks = np.array([[0.0, 0.0], [2.0, 2.0], [0.0, 0.0], [2.0, 2.0]])
    found = judged(given, Opinions(networks, networks, networks[:, 0]), 0.0, 0.1)
    assert (found.cases, found.gain) == (1, pytest.approx(4.0))


def test_trees_that_were_asked_say_how_good_they_are() -> None:
    given = lessons(["a", "b"], [[1.0, 2.0, 4.0], [1.0, 2.0, 4.0]])
    said = np.array([0.9, 0.3, 0.1, 0.3, 0.9, np.nan])
    found = validation_of(given, said)
    assert (found.cases, found.programs) == (2, 2)
    assert found.share == pytest.approx(0.5**0.5)
    assert found.spearman == pytest.approx(0.0)


def test_folds_part_programs() -> None:
    given = lessons([f"p{n % 10}" for n in range(20)], [[1.0, 2.0]] * 20)
    seen: list[int] = []
    for number in range(FOLDS):
        asked, others = asked_of(given, "loops", 3, number)
        assert not set(given.program[asked]) & set(given.program[others])
        seen += asked.tolist()
    assert sorted(seen) == list(range(40))


@pytest.mark.parametrize(("seconds", "is_ever"), [(0.01, True), (0.0399, False)])
def test_mappings_are_answered_only_where_it_is_worth_it(seconds: float, is_ever: bool) -> None:
    given = lessons(["a", "b"], [[0.04, seconds], [0.04, 0.05]])
    given.is_isl[:] = True
    given.is_default[:] = [True, False, True, False]
    networks = np.array([[0.0, 0.0], [2.0, 2.0], [0.0, 0.0], [-1.0, -1.0]])
    found = choose_of_mappings(given, Opinions(networks, networks, networks[:, 0]), 1.0)
    assert (found.least < np.inf) == is_ever
    assert found.cases == 2
