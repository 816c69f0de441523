"""Races: results compared, times of all, and what goes wrong is a value."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from polygym.errors import InputError
from polygym.graphs.interleaved import Times, interleaved
from polygym.graphs.ir import build
from polygym.graphs.ir.graph import Graph
from polygym.graphs.ir.text import text_of
from polygym.graphs.race import Entrant, Race, Runner, race


def test_equal_graphs_by_several_runners() -> None:
    entrants = (
        Entrant("polygym"),
        Entrant("unfused", Runner.UNFUSED),
        Entrant("torch", Runner.TORCH),
        Entrant("onnxruntime", Runner.ONNXRUNTIME),
    )
    done = race(Race("squeezenet:small", entrants, rounds=3, seconds=0.2))
    assert list(done) == ["polygym", "unfused", "torch", "onnxruntime"]
    for one in done.values():
        assert one.is_right, one.trouble
        assert len(one.samples) >= 3
        assert min(one.samples) > 0
        assert one.error < 1e-4


def test_it_ends_with_who_asked_for_it() -> None:
    text = (
        "from polygym.graphs.race import Entrant, Race, race\n"
        "race(Race('squeezenet:small', (Entrant('polygym'),), rounds=3, seconds=1000.0))\n"
    )
    asking = subprocess.Popen([sys.executable, "-c", text])
    try:
        children = Path(f"/proc/{asking.pid}/task/{asking.pid}/children")
        until = time.monotonic() + 60
        while not (found := children.read_text().split()):
            assert time.monotonic() < until
            time.sleep(0.05)
        time.sleep(0.5)  # for the racing process to know whom to end with
        racing = Path("/proc", found[0])
        assert b"polygym.graphs.race" in (racing / "cmdline").read_bytes()
    finally:
        asking.kill()
        asking.wait()
    while racing.exists() and "Z" not in (racing / "stat").read_text().split()[2]:
        assert time.monotonic() < until
        time.sleep(0.05)


def test_another_result_is_seen_and_not_timed(tmp_path: Path) -> None:
    x = build.entering("x", 4, 8)
    w = build.weight("w", 8, 8)
    right = Graph.of("g", build.matmul(x, w))
    wrong = Graph.of("g", build.relu(build.matmul(x, w)))
    shorter = Graph.of("g", build.node("slice", 1, 0, 4, 1, build.matmul(x, w)))
    path = tmp_path / "g.txt"
    path.write_text(text_of(right))
    entrants = (
        Entrant("right"),
        Entrant("wrong", graph=text_of(wrong)),
        Entrant("shorter", graph=text_of(shorter)),
    )
    done = race(Race(str(path), entrants, rounds=3, seconds=0.1))
    assert done["right"].is_right
    assert done["right"].samples
    for name in ("wrong", "shorter"):
        assert not done[name].is_right
        assert not done[name].samples
        assert done[name].error > 1e-3


def test_a_graph_that_is_none_is_the_trouble_of_its_entrant() -> None:
    entrants = (Entrant("good"), Entrant("bad", graph="nonsense"))
    done = race(Race("vgg19:small", entrants, rounds=3, seconds=0.1))
    assert done["good"].is_right
    assert "SourceError" in done["bad"].trouble


def test_a_source_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match="expected a model of the library"):
        race(Race("nothing", (Entrant("x"),)))


def test_who_takes_too_long_is_ended() -> None:
    begin = time.monotonic()
    done = race(Race("vgg19:small", (Entrant("x"),), seconds=60.0, rounds=10**9), limit=3.0)
    assert "took more than 3 s" in done["x"].trouble
    assert time.monotonic() - begin < 30


def test_calls_take_turns() -> None:
    order: list[str] = []
    calls = {name: (lambda name=name: order.append(name)) for name in "ab"}
    times = interleaved(calls, rounds=4, turn=0.0)
    assert [len(one.samples) for one in times.values()] == [4, 4]
    assert order[-8:] == list("abbaabba")


def test_what_times_say() -> None:
    times = Times((3.0, 1.0, 2.0))
    assert (times.median, times.best) == (2.0, 1.0)
    assert Times((1.0,)).spread == 0.0
