"""Problems, options, rules and machine descriptions refuse what cannot be, and say so."""

import os
from dataclasses import replace

import pytest

from polygym.errors import InputError
from polygym.ir.types import ScalarType
from polygym.runtime.worker import timing
from polygym.runtime.worker.buffer_memory import CHUNK
from polygym.runtime.worker.problem import (
    Buffer,
    CompiledProgram,
    Problem,
    check_problem,
    check_programs,
)
from polygym.runtime.worker.timing import (
    Repetition,
    TimeLimit,
    WorkerOptions,
    available_memory,
    describe_host,
)

NOTHING = CompiledProgram(b"", ())


def a_problem(*buffers: Buffer) -> Problem:
    return Problem(buffers, NOTHING, NOTHING)


def test_sizes_are_in_bytes():
    problem = a_problem(Buffer("A", ScalarType.FLOAT, 10), Buffer("n", ScalarType.LONG, 1))
    assert problem.size == 48
    assert check_problem(problem) is problem


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (
            a_problem(Buffer("A", ScalarType.INT, 1), Buffer("A", ScalarType.INT, 2)),
            "buffer A: expected different names",
        ),
        (a_problem(Buffer("A", ScalarType.INT, -1)), "expected a number of elements >= 0"),
        (
            replace(a_problem(), original=CompiledProgram(b"", (0,))),
            "expected buffer indices below 0",
        ),
        (replace(a_problem(), initialize=CompiledProgram(b"", (-1,))), "found -1"),
        (replace(a_problem(), original=CompiledProgram(b"", (), (2**63,))), "parameter of 64 bits"),
    ],
)
def test_problem_that_does_not_hold_together(problem, message):
    with pytest.raises(InputError, match=message):
        check_problem(problem)


def test_the_memory_of_a_run():
    read = Buffer("A", ScalarType.DOUBLE, 1000, constant=True)
    compared = Buffer("B", ScalarType.INT, 100)
    scratch = Buffer("T", ScalarType.BYTE, 10, compared=False)
    assert a_problem(read).memory == 16_000, "there are two while the initial data are made"
    assert a_problem(read, compared, scratch).memory == 8410 + 8000
    assert a_problem(compared).memory == 3 * 400
    assert a_problem(scratch).memory == 2 * 10
    assert a_problem(compared, scratch).memory == 3 * 400 + 2 * 10
    assert a_problem().memory == 0
    large = Buffer("L", ScalarType.DOUBLE, 10**8, constant=True)
    assert a_problem(large).memory == 8 * 10**8 + CHUNK, "it moves in chunks"
    assert a_problem(large, replace(compared, elements=10**8)).memory == (8 + 3 * 4) * 10**8


def test_candidate_must_fit_the_problem():
    with pytest.raises(InputError, match="found 1"):
        check_programs(a_problem(Buffer("A", ScalarType.INT, 1)), [CompiledProgram(b"", (0, 1))])


@pytest.mark.parametrize(
    "make",
    [
        lambda: WorkerOptions(memory_limit=0),
        lambda: WorkerOptions(original_seconds=0),
        lambda: WorkerOptions(preparation_seconds=-1),
        lambda: Repetition(minimum=0),
    ],
)
def test_options_under_which_nothing_runs(make):
    with pytest.raises(InputError, match="expected"):
        make()


@pytest.mark.parametrize(
    ("samples", "enough"),
    [
        ([], False),
        ([9.0] * 2, False),
        ([0.5] * 3, True),
        ([0.1] * 3, False),
        ([0.1] * 5, True),
    ],
)
def test_repetition_rule(samples, enough):
    assert Repetition(minimum=3, minimum_seconds=1.0, maximum=5).is_enough(samples) is enough


def test_minimum_counts_more_than_maximum():
    rule = Repetition(minimum=50, minimum_seconds=0.0, maximum=5)
    assert not rule.is_enough([1.0] * 49)
    assert rule.is_enough([1.0] * 50)


def test_time_limit_is_a_factor_with_a_floor():
    assert TimeLimit(factor=3.0, floor=0.5).seconds(1.0) == 3.0
    assert TimeLimit(factor=3.0, floor=0.5).seconds(0.001) == 0.5


@pytest.mark.parametrize(
    ("groups", "files", "free"),
    [
        ("0::/jobs/7\n", {"jobs/7/memory.max": "max", "jobs/7/memory.current": "5"}, None),
        ("0::/jobs/7\n", {"jobs/memory.max": "9000", "jobs/memory.current": "4000"}, 5000),
        (
            "0::/\n",
            {
                "memory.max": "9000",
                "memory.current": "8000",
                "memory.stat": "anon 1\ninactive_file 600\n",
            },
            1600,
        ),
        (
            "5:cpu:/a\n4:memory:/a\n",
            {"memory/a/memory.limit_in_bytes": "70", "memory/a/memory.usage_in_bytes": "80"},
            0,
        ),
        ("", {}, None),
    ],
)
def test_limits_of_control_groups_count(monkeypatch, groups, files, free):
    texts = {f"/sys/fs/cgroup/{name}": text for name, text in files.items()}
    texts["/proc/self/cgroup"] = groups
    texts["/proc/meminfo"] = "MemTotal: 64 kB\nMemAvailable:   32 kB\n"
    monkeypatch.setattr(timing, "_text", lambda path: texts.get(path, ""))
    assert available_memory() == (32 * 1024 if free is None else free)


def test_machine_is_described():
    machine = describe_host()
    assert machine.processor
    assert machine.system.startswith("Linux")
    assert 1 <= machine.cores <= (os.cpu_count() or 1)
    assert machine.load_average >= 0
    assert 0 < available_memory()
    assert machine.memory_bytes > 2**20
