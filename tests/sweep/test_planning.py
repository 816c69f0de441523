"""Cores, shares of time, and code that is generated ahead: decided without a clock."""

import os
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygym.sweep.ahead import AheadCompiler
from polygym.sweep.cores import plan_cores, usable_cores
from polygym.sweep.shares import is_due, limit_of


@given(st.integers(1, 64), st.integers(1, 40), st.integers(1, 70), st.booleans())
def test_places_do_not_disturb_each_other(cores: int, jobs: int, threads: int, ahead: bool) -> None:
    plan = plan_cores(range(cores), jobs, threads, ahead)
    measuring = [core for place in plan.places for core in place.measuring]
    assert len(measuring) == len(set(measuring))
    assert 1 <= len(plan.places) <= max(1, min(jobs, cores // threads))
    assert bool(plan.remark) == (jobs * threads > cores)
    for place in plan.places:
        assert len(place.measuring) == min(threads, cores)
        if place.ahead:
            assert ahead
            assert not set(place.compiling) & set(measuring)
        else:
            assert place.compiling == place.measuring


@pytest.mark.parametrize(
    ("cores", "jobs", "threads", "remark"),
    [
        (8, 4, 2, ""),
        (8, 6, 2, "6 jobs of 2 threads need 12 cores, and there are 8: 4 jobs at a time"),
        (2, 3, 2, "3 jobs of 2 threads need 6 cores, and there are 2: one job at a time"),
        (
            1,
            1,
            4,
            "1 job of 4 threads needs 4 cores, and there is 1: the threads share them, "
            "one job at a time",
        ),
    ],
)
def test_more_than_fits_is_said(cores: int, jobs: int, threads: int, remark: str) -> None:
    assert plan_cores(range(cores), jobs, threads).remark == remark


def test_cores_are_those_of_this_process() -> None:
    assert set(usable_cores()) <= os.sched_getaffinity(0)
    pairs = {core: str(core // 2) for core in os.sched_getaffinity(0)}
    chosen = usable_cores(lambda core: pairs[core])
    assert len(chosen) == len(set(pairs.values()))


@given(
    st.lists(st.floats(0, 100), min_size=1, max_size=8),
    st.floats(0.1, 1000),
    st.data(),
)
def test_shares_add_up(used: list[float], total: float, data: st.DataObject) -> None:
    names = [str(number) for number in range(len(used))]
    spent = dict(zip(names, used, strict=True))
    finished = set(data.draw(st.lists(st.sampled_from(names), max_size=len(names) - 1)))
    rest = [name for name in names if name not in finished]
    limits = {name: limit_of(name, total, spent, finished) for name in rest}
    assert sum(limits.values()) == pytest.approx(total - sum(used), abs=1e-6)
    shares = [limits[name] + spent[name] for name in rest]
    assert max(shares) - min(shares) == pytest.approx(0, abs=1e-6)


def test_everyone_is_due_once() -> None:
    assert is_due("a", 0.001, {"a": 0.0, "b": 0.0}, set())
    assert not is_due("a", 10.0, {"a": 4.0, "b": 0.0}, set())
    assert is_due("a", 10.0, {"a": 4.0, "b": 0.5}, {"b"})


@pytest.mark.parametrize("ahead", [False, True])
def test_working_ahead_keeps_the_order(ahead: bool) -> None:
    compiler = AheadCompiler(5.0, (), ahead)
    begun: list[int] = []
    threads = set()

    def work(item: int) -> int:
        begun.append(item)
        threads.add(threading.get_ident())
        return -item

    seen = []
    for result in compiler.each(range(10), work):
        seen.append(result)
        if not ahead:
            assert len(begun) == len(seen)
    assert seen == [-item for item in range(10)]
    assert begun == list(range(10))
    assert len(threads) == 1
    assert threading.get_ident() not in threads
    compiler.close()


def test_an_error_comes_where_its_item_would() -> None:
    compiler = AheadCompiler(5.0)
    results = compiler.each([2, 1, 0], lambda item: 1 // item)
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(ZeroDivisionError):
        next(results)
    compiler.close()
