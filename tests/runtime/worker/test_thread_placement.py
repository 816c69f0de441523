"""Threads of what is measured have cores of their own, unless the user says where they are."""

import os
import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygym.foreign import openmp
from polygym.runtime.worker.outcome import Ok
from polygym.runtime.worker.runner import assign_cores
from polygym.runtime.worker.timing import MeasureOptions, Repetition, TimeLimit
from polygym.runtime.worker.worker import Worker
from tests.runtime.worker import objects
from tests.runtime.worker.processes import children_of, wait_until

LONG = MeasureOptions(Repetition(minimum=20, minimum_seconds=0.0), TimeLimit(floor=60.0))

TASK = """
declare void @GOMP_parallel(ptr, ptr, i32, i32)
define internal void @task(ptr %nothing) {
  %slept = call i32 @usleep(i32 20000)
  ret void
}
"""


def in_two_threads() -> bytes:
    """Double every element; then both of two threads sleep for a while."""
    end = "call void @GOMP_parallel(ptr @task, ptr null, i32 2, i32 0)\n  ret i32 0"
    return objects.compile_kernel(objects.double_then(end), TASK)


@given(
    cores=st.sets(st.integers(0, 300), min_size=1, max_size=40).map(sorted),
    threads=st.integers(1, 60),
    first=st.integers(0, 300),
)
def test_cores_are_dealt_out_evenly(cores: list[int], threads: int, first: int) -> None:
    parts = assign_cores(cores, threads, first)
    assert len(parts) == threads
    used = [core for part in parts for core in part]
    most = -(-max(threads, len(cores)) // min(threads, len(cores)))
    if threads <= len(cores):
        assert sorted(used) == cores  # each has one owner
        assert max(map(len, parts)) <= most
    else:
        assert {len(part) for part in parts} == {1}
        assert max(used.count(core) for core in cores) <= most
    if first in cores:
        assert first in parts[0]


def allowed(process: int) -> list[set[int]]:
    """Return where each thread of a process may be."""
    try:
        return [os.sched_getaffinity(int(thread)) for thread in os.listdir(f"/proc/{process}/task")]
    except (OSError, ValueError):
        return []


def run_and_watch() -> bool:
    """Run a program of two threads; say whether the two have ever been kept apart."""

    def are_apart() -> bool:
        assert worker.process_id is not None
        for runner in children_of(worker.process_id):
            if len(places := allowed(runner)) == 2 and not places[0] & places[1]:
                return True
        return False

    with Worker() as worker:
        session = worker.open(objects.problem())
        outcomes: list[object] = []
        program = objects.program(in_two_threads())
        run = threading.Thread(target=lambda: outcomes.append(session.measure(program, LONG)))
        run.start()
        seen = wait_until(lambda: are_apart() or not run.is_alive(), 60.0) and run.is_alive()
        run.join()
        assert isinstance(outcomes[0], Ok)
    return seen


needs_threads = pytest.mark.skipif(
    openmp.openmp_library() is None or len(os.sched_getaffinity(0)) < 2,
    reason="needs an OpenMP library and two cores",
)


@needs_threads
def test_threads_of_a_run_are_kept_apart() -> None:
    before = os.sched_getaffinity(0)
    assert run_and_watch()
    assert os.sched_getaffinity(0) == before


@needs_threads
@pytest.mark.parametrize("name", ["OMP_PROC_BIND", "GOMP_CPU_AFFINITY"])
def test_who_has_said_where_threads_are_is_heard(name: str) -> None:
    value = {"OMP_PROC_BIND": "false", "GOMP_CPU_AFFINITY": "0"}[name]
    script = f"from {__name__} import run_and_watch; assert not run_and_watch()"
    subprocess.run([sys.executable, "-c", script], env={**os.environ, name: value}, check=True)
