"""A solver that runs out of time, and one that is interrupted."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time

import pytest

from polygym.rewrite.egraph import EGraph, SaturationLimits, saturate
from polygym.rewrite.extraction import (
    CycleConstraints,
    ExtractionStatus,
    extract_greedily,
    extract_optimally,
)
from polygym.rewrite.extraction.extraction_program import IntegerProgram, solve_program
from tests.rewrite.languages import Matrices, attention, price, rules


def hard_program() -> IntegerProgram:
    """Return a market to be split: branch and bound has to look at nearly everything."""
    rng = random.Random(0)
    program = IntegerProgram()
    for _ in range(50):
        program.add_column(0.0, 1.0, True)
    for _ in range(6):
        terms = [(place, float(rng.randrange(1, 100))) for place in range(50)]
        half = float(sum(value for _, value in terms) // 2)
        program.add_row(terms, half, half)
    return program


@pytest.fixture(scope="module")
def large() -> tuple[EGraph, int]:
    graph = EGraph(Matrices())
    root = graph.add_term(attention(3))
    saturate(graph, rules(), SaturationLimits(nodes=6000, iterations=4))
    return graph, root


@pytest.mark.parametrize("seconds", [0.0, 0.02, 0.5])
def test_no_time_is_greedys_answer_or_better(large: tuple[EGraph, int], seconds: float) -> None:
    graph, root = large
    first = extract_greedily(graph, root, price)
    begin = time.perf_counter()
    extraction = extract_optimally(graph, root, price, seconds=seconds)
    assert time.perf_counter() - begin < seconds + 8
    assert extraction.cost <= first.cost
    assert 0 <= extraction.lower_bound <= extraction.cost
    if seconds == 0:
        assert (extraction.status, extraction.term) == (ExtractionStatus.GREEDY, first.term)
        assert extraction.lower_bound > 0


@pytest.mark.parametrize("cycles", list(CycleConstraints))
def test_no_time_whatever_the_cycles(large: tuple[EGraph, int], cycles: CycleConstraints) -> None:
    graph, root = large
    extraction = extract_optimally(graph, root, price, cycles, seconds=0.01)
    assert extraction.cost <= extract_greedily(graph, root, price).cost
    assert extraction.status in (ExtractionStatus.GREEDY, ExtractionStatus.FEASIBLE)


def test_the_time_limit_is_kept() -> None:
    begin = time.perf_counter()
    answer = solve_program(hard_program(), 0.5)
    assert not answer.is_optimal
    assert time.perf_counter() - begin < 5


def test_what_cannot_be_is_no_answer() -> None:
    program = IntegerProgram()
    column = program.add_column(1.0, 1.0, True)
    program.add_row([(column, 2.0)], 1.0, 1.0)
    answer = solve_program(program, 10.0)
    assert answer.values is None
    assert not answer.is_optimal


INTERRUPTED = """
from polygym.rewrite.extraction.extraction_program import solve_program
from tests.rewrite.extraction.test_solver import hard_program
import threading
print("ready", flush=True)
try:
    solve_program(hard_program(), 60.0)
except KeyboardInterrupt:
    left = [one for one in threading.enumerate() if one.name == "solver"]
    print("interrupted", len(left), solve_program(hard_program(), 0.2).is_optimal)
"""


def test_ctrl_c_stops_the_solver() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(1.0)
        begin = time.perf_counter()
        process.send_signal(signal.SIGINT)
        said = process.stdout.read()
    assert said == "interrupted 0 False\n", "and the next one starts"
    assert time.perf_counter() - begin < 20
