"""Races: results compared, times of all, and what goes wrong is a value."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from polygym.errors import InputError
from polygym.graphs.benchmark import (
    Backend,
    BenchmarkEntry,
    CallTimes,
    ModelBenchmark,
    run_benchmark,
    time_interleaved,
)
from polygym.graphs.ir import build
from polygym.graphs.ir.graph import Graph
from polygym.graphs.ir.text import graph_text


def test_equal_graphs_by_several_runners() -> None:
    entries = (
        BenchmarkEntry("polygym"),
        BenchmarkEntry("unfused", Backend.UNFUSED),
        BenchmarkEntry("torch", Backend.TORCH),
        BenchmarkEntry("onnxruntime", Backend.ONNXRUNTIME),
    )
    done = run_benchmark(ModelBenchmark("squeezenet:small", entries, rounds=3, seconds=0.2))
    assert list(done) == ["polygym", "unfused", "torch", "onnxruntime"]
    for result in done.values():
        assert result.is_correct, result.problem
        assert len(result.samples) >= 3
        assert min(result.samples) > 0
        assert result.error < 1e-4


def test_it_ends_with_who_asked_for_it() -> None:
    text = (
        "from polygym.graphs.benchmark import BenchmarkEntry, ModelBenchmark, run_benchmark\n"
        "entries = (BenchmarkEntry('polygym'),)\n"
        "run_benchmark(ModelBenchmark('squeezenet:small', entries, rounds=3, seconds=1000.0))\n"
    )
    asking = subprocess.Popen([sys.executable, "-c", text])
    try:
        children = Path(f"/proc/{asking.pid}/task/{asking.pid}/children")
        until = time.monotonic() + 60
        while not (pids := children.read_text().split()):
            assert time.monotonic() < until
            time.sleep(0.05)
        time.sleep(0.5)  # for the racing process to know whom to end with
        racing = Path("/proc", pids[0])
        assert b"polygym.graphs.benchmark" in (racing / "cmdline").read_bytes()
    finally:
        asking.kill()
        asking.wait()
    while racing.exists() and "Z" not in (racing / "stat").read_text().split()[2]:
        assert time.monotonic() < until
        time.sleep(0.05)


def test_another_result_is_seen_and_not_timed(tmp_path: Path) -> None:
    x = build.graph_input("x", 4, 8)
    w = build.weight("w", 8, 8)
    right = Graph.of("g", build.matmul(x, w))
    wrong = Graph.of("g", build.relu(build.matmul(x, w)))
    shorter = Graph.of("g", build.make_node("slice", 1, 0, 4, 1, build.matmul(x, w)))
    path = tmp_path / "g.txt"
    path.write_text(graph_text(right))
    entries = (
        BenchmarkEntry("right"),
        BenchmarkEntry("wrong", graph=graph_text(wrong)),
        BenchmarkEntry("shorter", graph=graph_text(shorter)),
    )
    done = run_benchmark(ModelBenchmark(str(path), entries, rounds=3, seconds=0.1))
    assert done["right"].is_correct
    assert done["right"].samples
    for name in ("wrong", "shorter"):
        assert not done[name].is_correct
        assert not done[name].samples
        assert done[name].error > 1e-3


def test_a_graph_that_is_none_is_the_problem_of_its_entry() -> None:
    entries = (BenchmarkEntry("good"), BenchmarkEntry("bad", graph="nonsense"))
    done = run_benchmark(ModelBenchmark("vgg19:small", entries, rounds=3, seconds=0.1))
    assert done["good"].is_correct
    assert "SourceError" in done["bad"].problem


def test_a_source_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match="expected a model of the library"):
        run_benchmark(ModelBenchmark("nothing", (BenchmarkEntry("x"),)))


def test_who_takes_too_long_is_ended() -> None:
    begin = time.monotonic()
    done = run_benchmark(
        ModelBenchmark("vgg19:small", (BenchmarkEntry("x"),), seconds=60.0, rounds=10**9), limit=3.0
    )
    assert "took more than 3 s" in done["x"].problem
    assert time.monotonic() - begin < 30


def test_calls_take_turns() -> None:
    order: list[str] = []
    calls = {name: (lambda name=name: order.append(name)) for name in "ab"}
    times = time_interleaved(calls, rounds=4, min_seconds=0.0)
    assert [len(call_times.samples) for call_times in times.values()] == [4, 4]
    assert order[-8:] == list("abbaabba")


def test_what_times_say() -> None:
    times = CallTimes((3.0, 1.0, 2.0))
    assert (times.median, times.best) == (2.0, 1.0)
    assert CallTimes((1.0,)).spread == 0.0
