"""Programs that run in turn, and the clock as a cost."""

from __future__ import annotations

from math import inf
from pathlib import Path

import pytest

from polygym.errors import InputError
from polygym.poly.scheduling.strategy import ORIGINAL
from polygym.tc.measured_times import MeasuredTimes
from polygym.terms.code.kernel_build import CodeOptions
from polygym.terms.code.timing import MeasuredCost, compare_timings, sizes_for
from polygym.terms.language.parser import parse_program

QUICK = CodeOptions(schedule=ORIGINAL)
SLOW = parse_program(
    "(def f (Vec n Float) ((v : Vec n Float) (w : Vec n Integer))"
    " (build n (lam i (index i (build n (lam j (mul (index (index j w) v) 2.0)))))))"
)
FAST = parse_program(
    "(def f (Vec n Float) ((v : Vec n Float) (w : Vec n Integer))"
    " (build n (lam i (mul 2.0 (index (index i w) v)))))"
)
WRONG = parse_program(
    "(def f (Vec n Float) ((v : Vec n Float) (w : Vec n Integer))"
    " (build n (lam i (index (index i w) v))))"
)


def test_a_loop_less_is_faster_and_another_result_is_found_out() -> None:
    race = compare_timings([SLOW, FAST, WRONG], {"n": 400}, 3, QUICK)
    slow, fast, wrong = race.timings
    assert len(slow.samples) == len(fast.samples) == 3
    assert (race.speedup(1) or 0.0) > 5.0
    assert wrong.seconds is None
    assert "wrong output: result" in wrong.failure
    assert race.speedup() is None
    assert race.to_json()["sizes"] == {"n": 400}
    assert slow.schedule == "of the text"


def test_sizes_are_those_of_the_program() -> None:
    assert sizes_for(SLOW, {}) == {"n": 16}
    with pytest.raises(InputError, match="a size: expected one of n, found m"):
        sizes_for(SLOW, {"m": 3})


def test_the_clock_is_a_cost_that_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "times.sqlite"
    with MeasuredCost(SLOW, {"n": 300}, QUICK, MeasuredTimes(file, 1)) as clock:
        slow, fast = clock(SLOW.body), clock(FAST.body)
        assert slow > fast > 0.0
        assert clock.timed_now == 2
        assert clock(parse_program("(def f Float ((v : Vec n Float)) (index 999 v))").body) == inf
    with MeasuredCost(SLOW, {"n": 300}, QUICK, MeasuredTimes(file, 1)) as again:
        assert again(SLOW.body) == slow
        assert again.timed_now == 0
    with MeasuredCost(SLOW, {"n": 301}, QUICK, MeasuredTimes(file, 1)) as other:
        other(FAST.body)
        assert other.timed_now == 1
