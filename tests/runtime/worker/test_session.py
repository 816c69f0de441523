"""What a session measures, keeps and gives back."""

import gc
import struct
import time
from dataclasses import replace

import pytest

from polygym.errors import InputError
from polygym.ir.types import ScalarType
from polygym.runtime.worker.core_probe import PROBE_VARIABLE
from polygym.runtime.worker.outcome import Crash, Ok, WorkerError, WrongOutput
from polygym.runtime.worker.problem import Buffer, CompiledProgram, Problem
from polygym.runtime.worker.timing import MeasureOptions, Repetition
from polygym.runtime.worker.worker import Worker
from tests.runtime.worker import objects
from tests.runtime.worker.processes import mappings

KEEP = MeasureOptions(keep_contents=True)


def doubles(data: bytes) -> list[float]:
    return list(struct.unpack(f"<{len(data) // 8}d", data))


def test_baseline_and_samples(worker):
    session = worker.open(objects.problem(), Repetition(minimum=7, minimum_seconds=0.0))
    assert len(session.baseline.samples) == 7
    outcome = session.measure(objects.program(objects.doubled_by_adding()))
    assert isinstance(outcome, Ok)
    assert 4 <= len(outcome.samples) <= Repetition().maximum
    assert all(0 <= sample < 0.1 for sample in outcome.samples)


def test_time_is_that_of_the_kernel(session):
    options = MeasureOptions(repetition=Repetition(minimum=2, minimum_seconds=0.0))
    outcome = session.measure(objects.program(objects.sleeps(5_000)), options)
    assert isinstance(outcome, Ok)
    assert len(outcome.samples) == 2
    assert outcome.best >= 0.005


def test_inputs_are_restored_before_every_run(session):
    """Doubling in place twice would be noticed."""
    rule = Repetition(minimum=10, minimum_seconds=0.0)
    options = MeasureOptions(repetition=rule, keep_contents=True)
    assert isinstance(session.measure(objects.program(objects.doubled()), options), Ok)
    assert doubles(session.contents(0)) == [2.0 * index for index in range(100)]


def test_contents(session):
    assert doubles(session.initial(0))[:4] == [0.0, 1.0, 2.0, 3.0]
    assert doubles(session.expected(0))[:4] == [0.0, 2.0, 4.0, 6.0]
    assert isinstance(session.measure(objects.program(objects.scaled(3.0)), KEEP), WrongOutput)
    assert doubles(session.contents(0))[:4] == [0.0, 3.0, 6.0, 9.0]


def test_contents_must_have_been_kept(session):
    for options, code in ((MeasureOptions(), objects.doubled()), (KEEP, objects.traps())):
        session.measure(objects.program(objects.doubled()), KEEP)
        assert session.contents(0)
        session.measure(objects.program(code), options)
        with pytest.raises(InputError, match="keep_contents"):
            session.contents(0)


@pytest.mark.parametrize(("wrong_from", "kind"), [(60, WrongOutput), (61, Ok)])
def test_short_programs_run_several_times_in_a_turn(monkeypatch, wrong_from, kind):
    """The outputs of the very last run are looked at, of three turns of 20 runs."""
    monkeypatch.setenv(PROBE_VARIABLE, "off")  # then each of them counts
    program = objects.program(objects.wrong_from_run(wrong_from))
    with Worker() as worker:
        session = worker.open(objects.problem())
        original, outcome = session.measure_together((session.problem.original, program), 3)
    assert isinstance(outcome, kind)
    assert isinstance(original, Ok)
    assert len(original.samples) == 3


def test_long_programs_run_once_in_a_turn(session):
    slow = objects.program(objects.sleeps(3_000))
    before = time.monotonic()
    outcomes = session.measure_together((session.problem.original, slow), 5)
    assert all(isinstance(ok, Ok) and len(ok.samples) == 5 for ok in outcomes)
    assert outcomes[1].best >= 0.003
    assert time.monotonic() - before < 5 * 20 * 0.003


def test_index_of_no_buffer(session):
    for read in (session.initial, session.expected, session.contents):
        with pytest.raises(InputError, match="index below 1, found 1"):
            read(1)


def test_tolerance(session):
    close, far = (objects.program(objects.scaled(2.0 + 2**-power)) for power in (30, 10))
    lenient = [replace(program, tolerance=1e-6) for program in (close, far)]
    assert isinstance(session.measure(close), WrongOutput)
    assert isinstance(session.measure(lenient[0]), Ok)
    assert isinstance(session.measure(lenient[1]), WrongOutput)
    # Each program is judged by its own.
    together = session.measure_together((close, *lenient), 2)
    assert [type(outcome) for outcome in together] == [WrongOutput, Ok, WrongOutput]


def test_together(session):
    programs = [
        session.problem.original,
        objects.program(objects.traps()),
        objects.program(objects.doubled_by_adding()),
        objects.program(objects.wrong_at_the_end()),
    ]
    first, second, third, fourth = session.measure_together(programs, rounds=6)
    assert isinstance(first, Ok)
    assert isinstance(third, Ok)
    assert len(first.samples) == len(third.samples) == 6
    assert second == Crash(4, "SIGILL")
    assert isinstance(fourth, WrongOutput)
    assert session.measure_together([], rounds=1) == ()


def test_only_compared_buffers_count(worker):
    scratch = Buffer("scratch", ScalarType.INT, 1000, compared=False)
    output = Buffer("out", ScalarType.DOUBLE, 10)
    double_second = CompiledProgram(objects.doubled(), (1,), (10,))
    ignore = Problem((scratch, output), CompiledProgram(objects.iota(), (1,), (10,)), double_second)
    session = worker.open(ignore)
    assert isinstance(session.measure(double_second), Ok)
    # Writes into the scratch buffer only, so that the output stays as it was at first.
    outcome = session.measure(CompiledProgram(objects.iota(), (0,), (10,)))
    assert isinstance(outcome, WrongOutput)
    assert (outcome.array, outcome.index) == ("out", 1)
    with pytest.raises(InputError, match="scratch: expected one that is compared"):
        session.expected(0)


def test_what_nobody_may_write_can_only_be_read(worker):
    given = Buffer("given", ScalarType.DOUBLE, 10, constant=True)
    output = Buffer("out", ScalarType.DOUBLE, 10)
    double_second = CompiledProgram(objects.doubled(), (1,), (10,))
    fill_both = CompiledProgram(objects.iota(), (0,), (10,))
    session = worker.open(Problem((given, output), fill_both, double_second))
    for _ in range(2):
        assert isinstance(session.measure(double_second), Ok)
        assert session.measure(CompiledProgram(objects.doubled(), (0,), (10,))) == Crash(
            11, "SIGSEGV"
        )
    assert doubles(session.initial(0)) == list(range(10))
    assert session.expected(0) == session.initial(0)
    assert session.array_statistics(0, (10,), "all elements")["sum"] == 45.0


def test_figures_of_what_was_left(session):
    figures = session.array_statistics(0, (100,), "all elements")
    assert (figures["values"], figures["sum"], figures["middle"]) == (100, 9900.0, 100.0)
    assert figures["last"] == [194.0, 196.0, 198.0]
    assert session.array_statistics(0, (10, 10), "j <= i")["values"] == 55
    session.measure(objects.program(objects.doubled()))
    with pytest.raises(InputError, match="keep_contents"):
        session.array_statistics(0, (100,), "all elements", from_measurement=True)
    session.measure(objects.program(objects.scaled(1.0)), KEEP)
    statistics = session.array_statistics(0, (100,), "all elements", from_measurement=True)
    assert statistics["sum"] == 4950.0


def test_several_problems_are_open_at_once(worker):
    sessions = [worker.open(objects.problem(count)) for count in (10, 50_000, 1)]
    for _ in range(2):
        for session in sessions:
            count = session.problem.buffers[0].elements
            program = objects.program(objects.doubled_by_adding(), count)
            assert isinstance(session.measure(program), Ok)
            assert len(session.expected(0)) == 8 * count


@pytest.mark.parametrize(
    "buffers", [(), (Buffer("A", ScalarType.INT, 0),), (Buffer("A", ScalarType.INT, 0, False),)]
)
def test_problem_without_data(worker, buffers):
    nothing = CompiledProgram(objects.returns(0), (), (1, 2))
    session = worker.open(Problem(buffers, nothing, nothing))
    assert isinstance(session.measure(nothing, KEEP), Ok)
    assert [session.contents(index) for index in range(len(buffers))] == [b""] * len(buffers)


def test_memory_is_given_back(worker):
    keep = worker.open(objects.problem(10))
    worker.open(objects.problem(1000)).close()  # what the process takes once it keeps
    keep.initial(0)
    before = mappings(worker.process_id)
    closed = worker.open(objects.problem(1000))
    dropped = worker.open(objects.problem(1000))
    assert mappings(worker.process_id) > before
    closed.close()
    closed.close()
    with pytest.raises(WorkerError, match="session: expected it to be open"):
        closed.measure(objects.program(objects.doubled(), 1000))
    del dropped
    gc.collect()
    keep.initial(0)
    assert mappings(worker.process_id) <= before


def test_program_that_does_not_fit(session):
    with pytest.raises(InputError, match="buffer indices below 1"):
        session.measure(CompiledProgram(objects.doubled(), (1,)))


def test_closed_worker(worker):
    session = worker.open(objects.problem())
    worker.close()
    worker.close()
    assert worker.process_id is None
    with pytest.raises(WorkerError, match="expected it to be open"):
        session.measure(objects.program(objects.doubled()))
    session.close()
