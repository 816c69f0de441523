"""Every way in which a program can go wrong becomes the right outcome, and the worker goes on."""

import signal
import time
from pathlib import Path

import pytest

from polygym.ir.types import ScalarType
from polygym.runtime.worker.outcome import (
    Crash,
    DoesNotCompile,
    Ok,
    OutOfMemory,
    ProblemError,
    Timeout,
    WrongOutput,
)
from polygym.runtime.worker.problem import Buffer, CompiledProgram, Problem
from polygym.runtime.worker.timing import MeasureOptions, Repetition, TimeLimit, WorkerOptions
from polygym.runtime.worker.worker import Worker
from tests.runtime.worker import objects

FAR = 1 << 40  # bytes beyond everything that is mapped
GUARD = 4096  # bytes that reach from the buffer's end or beginning into its guard page


@pytest.fixture(autouse=True)
def goes_on(session):
    """Whatever a test did, the next measurement is right."""
    yield
    assert isinstance(session.measure(objects.program(objects.doubled())), Ok)


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        (objects.writes_at(FAR), Crash(11, "SIGSEGV")),
        (objects.writes_at(100 * 8 + GUARD), Crash(11, "SIGSEGV")),
        (objects.writes_at(-GUARD), Crash(11, "SIGSEGV")),
        (objects.writes_to_address(0), Crash(11, "SIGSEGV")),
        (objects.divides_by_zero(), Crash(8, "SIGFPE")),
        (objects.traps(), Crash(4, "SIGILL")),
        (objects.aborts(), Crash(6, "SIGABRT")),
        (objects.sends_signal(signal.SIGTERM, "getpid"), Crash(15, "SIGTERM")),
        (objects.exits(0), Crash(0, "exit with status 0")),
        (objects.exits(3), Crash(0, "exit with status 3")),
    ],
)
def test_crash(session, code, outcome):
    assert session.measure(objects.program(code)) == outcome


@pytest.mark.parametrize(
    "code",
    [
        objects.returns(1),
        objects.allocates(1 << 40),
        # Nobody but the kernel sends this signal uninvited.
        objects.sends_signal(signal.SIGKILL, "getpid"),
    ],
)
def test_out_of_memory(session, code):
    assert isinstance(session.measure(objects.program(code)), OutOfMemory)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (b"", "expected ELF bytes"),
        (b"\x7fELF" + bytes(100), "linker"),
        (objects.doubled()[:300], "linker"),
        (objects.calls_unknown(), "polygym_run"),
        (objects.returns(7), "found 7"),
        (objects.forgets_the_time(), "found 0 and -1 ns"),
    ],
)
def test_does_not_compile(session, code, message):
    outcome = session.measure(objects.program(code))
    assert isinstance(outcome, DoesNotCompile)
    assert message in outcome.message


@pytest.mark.parametrize(
    ("code", "index", "expected", "computed"),
    [
        (objects.wrong_at_the_end(), 99, "198.0", "-1.0"),
        (objects.scaled(3.0), 1, "2.0", "3.0"),
        (objects.wrong_from_run(1), 3, "6.0", "-1.0"),
        (objects.wrong_from_run(2), 3, "6.0", "-1.0"),
        (objects.writes_at(100 * 8), 100, "no write outside the array", "a write"),
    ],
)
def test_wrong_output(session, code, index, expected, computed):
    outcome = session.measure(objects.program(code))
    assert isinstance(outcome, WrongOutput)
    assert (outcome.array, outcome.index) == ("A", index)
    assert (outcome.expected, outcome.found) == (expected, computed)
    assert outcome.samples


def test_wrong_in_the_first_run_is_not_run_again(session):
    outcome = session.measure(objects.program(objects.scaled(3.0)))
    assert len(outcome.samples) == 1


def test_endless_loop_is_cut_off_in_its_first_run(session):
    limit = TimeLimit(factor=10.0, floor=0.05)
    before = time.monotonic()
    outcome = session.measure(
        objects.program(objects.loops_forever()), MeasureOptions(time_limit=limit)
    )
    assert outcome == Timeout(0.05)
    assert time.monotonic() - before < 2


def test_sleep_is_cut_off_a_second_after_the_limit(session):
    before = time.monotonic()
    assert session.measure(objects.program(objects.sleeps(60_000_000))) == Timeout(0.01)
    assert time.monotonic() - before < 4


def test_limit_follows_the_baseline(worker):
    slow = worker.open(
        objects.problem(original=objects.sleeps(20_000)), Repetition(minimum=2, maximum=2)
    )
    assert slow.baseline.best >= 0.02
    outcome = slow.measure(objects.program(objects.loops_forever()))
    assert outcome == Timeout(10 * slow.baseline.best)
    outcome = slow.measure(
        objects.program(objects.loops_forever()), MeasureOptions(time_limit=TimeLimit(factor=2.0))
    )
    assert outcome == Timeout(2 * slow.baseline.best)


def test_shared_copies_cannot_be_written(worker):
    """A program that finds the expected values in memory still cannot change them."""
    session = worker.open(objects.problem(elements=70_000))
    lines = Path(f"/proc/{worker.process_id}/maps").read_text().splitlines()
    shared = [line for line in lines if " r--s " in line and "/dev/zero" in line]
    assert len(shared) == 3
    for line in shared:
        address = int(line.split("-")[0], 16)
        outcome = session.measure(objects.program(objects.writes_to_address(address), 70_000))
        assert outcome == Crash(11, "SIGSEGV")


def test_memory_limit_holds_for_the_program_too():
    with Worker(WorkerOptions(memory_limit=256 * 2**20)) as worker:
        session = worker.open(objects.problem())
        assert isinstance(session.measure(objects.program(objects.allocates(2**20))), OutOfMemory)
        assert isinstance(session.measure(objects.program(objects.doubled())), Ok)


@pytest.mark.parametrize("elements", [10**6, 10**15])
def test_problem_over_the_memory_limit(elements):
    with Worker(WorkerOptions(memory_limit=2**24)) as worker:
        with pytest.raises(ProblemError, match="out of memory") as caught:
            worker.open(objects.problem(elements))
        assert isinstance(caught.value.outcome, OutOfMemory)
        worker.open(objects.problem(100))


def test_what_is_only_read_is_there_once():
    """Five megabytes that are read, and one that is written, of which there are three."""
    read = Buffer("read", ScalarType.DOUBLE, 5 * 2**17, constant=True)
    written = Buffer("written", ScalarType.DOUBLE, 2**17)
    fill = CompiledProgram(objects.iota(), (0,), (5 * 2**17,))
    double = CompiledProgram(objects.doubled(), (1,), (2**17,))
    problem = Problem((read, written), fill, double)
    assert problem.memory == 11 * 2**20, "while the initial data are made, five are there twice"
    with Worker(WorkerOptions(memory_limit=11 * 2**20)) as worker:
        session = worker.open(problem)
        assert isinstance(session.measure(double), Ok)
        assert (
            session.array_statistics(0, (5 * 2**17,), "all elements")["last"][-1] == 5 * 2**17 - 1
        )
    with Worker(WorkerOptions(memory_limit=11 * 2**20 - 1)) as worker:
        with pytest.raises(ProblemError, match="the memory of a run: expected at most 11534335"):
            worker.open(problem)


def test_problem_beyond_any_memory(worker):
    with pytest.raises(ProblemError, match="the memory of a run"):
        worker.open(objects.problem(10**15))


@pytest.mark.parametrize(
    ("original", "outcome"),
    [
        (objects.traps(), Crash(4, "SIGILL")),
        (objects.returns(1), OutOfMemory("the program could not allocate memory")),
        (objects.wrong_from_run(2), WrongOutput),
        (objects.writes_at(800), WrongOutput),
        (b"", DoesNotCompile),
    ],
)
def test_original_that_fails(worker, original, outcome):
    with pytest.raises(ProblemError, match="original program") as caught:
        worker.open(objects.problem(original=original))
    failure = caught.value.outcome
    assert failure == outcome or (isinstance(outcome, type) and isinstance(failure, outcome))


def test_original_that_takes_too_long():
    with (
        Worker(WorkerOptions(original_seconds=0.05)) as worker,
        pytest.raises(ProblemError, match="timeout"),
    ):
        worker.open(objects.problem(original=objects.loops_forever()))
