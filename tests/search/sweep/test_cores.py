"""Cores, shares of time, and code that is generated in batches: decided without a clock."""

import os
import time
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polybench import Dataset
from polygym.mapping.mapping import DEFAULT_MAPPING
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.runtime.evaluation.compiler import CompilerPool
from polygym.runtime.worker.problem import CompiledProgram
from polygym.search.sweep.cores import plan_cores, usable_cores
from polygym.search.sweep.settings import SweepSetting
from polygym.search.sweep.workload import is_due, limit_of


@given(st.integers(1, 64), st.integers(1, 40), st.integers(1, 70))
def test_places_do_not_disturb_each_other(cores: int, jobs: int, threads: int) -> None:
    plan = plan_cores(range(cores), jobs, threads)
    used = [core for place in plan.places for core in place.compiling]
    assert len(used) == len(set(used))
    assert set(used) <= set(range(cores))
    assert 1 <= len(plan.places) <= max(1, min(jobs, cores // threads))
    assert bool(plan.remark) == (jobs * threads > cores)
    for place in plan.places:
        assert len(place.measuring) == min(threads, cores)
        assert set(place.measuring) <= set(place.compiling)
    assert len(used) == cores or len(plan.places) * threads == cores


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
    chosen = usable_cores(1, lambda core: pairs[core])
    assert len(chosen) == len(set(pairs.values()))


def test_two_threads_of_one_core_are_better_than_one_for_both() -> None:
    available = sorted(os.sched_getaffinity(0))
    for least in (1, 2, 100):
        assert usable_cores(least, lambda _: "0-1023") == tuple(available[:least])


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


def test_a_batch_is_compiled_once_on_all_cores() -> None:
    subject = SweepSetting().subject("mvt", Dataset.MINI)
    program, schedule = subject.program, original_schedule(subject.program.scop)
    with closing(CompilerPool(5.0, (0, 0))) as compilers:
        assert compilers.compile_all(program, [(schedule, DEFAULT_MAPPING)] * 2)
        processes = compilers.processes
        assert len(processes) == 1
        ready = compilers.compile_schedule(program, schedule, DEFAULT_MAPPING)
        assert isinstance(ready, CompiledProgram)
        again = compilers.compile_schedule(program, schedule, DEFAULT_MAPPING)
        assert again == ready
        assert again is not ready
        assert compilers.compile_problem(program).original.buffers == ready.buffers
    assert not any(Path(f"/proc/{process}").exists() for process in processes)


def test_the_next_batch_is_compiled_beside_what_is_measured() -> None:
    subject = SweepSetting().subject("mvt", Dataset.MINI)
    program = subject.program
    choices = [
        (schedule, DEFAULT_MAPPING)
        for schedule in (original_schedule(program.scop), isl_schedule(program.scop))
    ]
    beside = max(os.sched_getaffinity(0))
    with closing(CompilerPool(5.0, (beside, beside), None, (beside,))) as compilers:
        compilers.prefetch(program, choices)
        while not all(map(compilers.is_ready, choices)):
            time.sleep(0.01)
        (process,) = compilers.processes
        assert os.sched_getaffinity(process) == {beside}
        ready = compilers._ready[choices[0]]
        assert compilers.compile_all(program, choices)
        assert compilers.compile_schedule(program, *choices[0]) is ready
        compilers.prefetch(program, choices[:1])  # and who closes does not wait for a batch
    assert not Path(f"/proc/{process}").exists()


def test_a_batch_can_be_given_up() -> None:
    subject = SweepSetting().subject("mvt", Dataset.MINI)
    scop = subject.program.scop
    choices = [
        (schedule, DEFAULT_MAPPING) for schedule in (original_schedule(scop), isl_schedule(scop))
    ]
    with closing(CompilerPool(5.0, (0,))) as compilers:
        assert not compilers.compile_all(subject.program, choices, lambda: True)
