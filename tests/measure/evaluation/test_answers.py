"""What becomes of a measurement, as one value."""

from dataclasses import replace

import pytest

from polygym.compiler.codegen.common.mapping import DEFAULT, SEQUENTIAL
from polygym.compiler.poly.baselines import original
from polygym.errors import InternalError
from polygym.measure.evaluation.answers import (
    MACHINE_FAILURES,
    is_its_own,
    judged,
    not_compiled,
    not_measured,
    trusted,
)
from polygym.measure.evaluation.compiler import NotCompiled
from polygym.measure.worker.outcome import (
    Crash,
    Ok,
    Outcome,
    OutOfMemory,
    OutOfRange,
    ProblemError,
    Status,
    Timeout,
    WorkerError,
    WrongOutput,
)
from polygym.measure.worker.problem import CompiledProgram
from tests.sources import kernel_scop

CHOICE = (original(kernel_scop("mvt")), DEFAULT)
# The code has another mapping than was asked for: one that is simpler.
CODE = CompiledProgram(b"", (), done=SEQUENTIAL)
BASELINE = Ok((0.4, 0.3))


def test_what_ran_has_its_speedup() -> None:
    found = judged(CHOICE, CODE, Ok((0.2, 0.1)), BASELINE)
    assert (found.status, found.speedup, found.seconds) == (Status.OK, pytest.approx(3.0), 0.1)
    assert (found.samples, found.baseline_samples) == ((0.2, 0.1), (0.4, 0.3))
    assert (found.schedule, found.mapping, found.done) == (*CHOICE, SEQUENTIAL)
    assert found.error_type == ""


def test_a_program_without_work_is_no_division_by_zero() -> None:
    nothing = Ok((0.0,))
    assert judged(CHOICE, CODE, nothing, nothing).speedup == 1.0
    assert judged(CHOICE, CODE, nothing, Ok((5e-9,))).speedup == pytest.approx(5.0)


@pytest.mark.parametrize(
    "outcome",
    [
        WrongOutput("A", 3, "1.0", "2.0", (0.1,)),
        Timeout(2.0),
        Crash(11, "SIGSEGV"),
        OutOfMemory("too much"),
        OutOfRange("A(I(k))"),
    ],
    ids=lambda outcome: outcome.status.value,
)
def test_what_failed_is_the_candidate_s_doing(outcome: Outcome) -> None:
    found = judged(CHOICE, CODE, outcome, BASELINE)
    assert (found.status, found.error_type) == (outcome.status, type(outcome).__name__)
    assert found.error_details == str(outcome)
    assert (found.speedup, found.baseline_seconds, found.done) == (0.0, 0.3, SEQUENTIAL)
    assert is_its_own(found)


@pytest.mark.parametrize("kind", ["Timeout", "MemoryError", "InternalError"])
def test_what_did_not_compile_is_the_candidate_s_doing(kind: str) -> None:
    found = not_compiled(CHOICE, NotCompiled(kind, "in the third pass"))
    assert (found.status, found.error_type) == (Status.DOES_NOT_COMPILE, kind)
    assert found.error_details == "in the third pass"
    assert trusted(found) is found


@pytest.mark.parametrize(
    ("cause", "status"),
    [
        (WorkerError("does not start"), Status.CRASH),
        (OSError("no space left"), Status.CRASH),
        (InternalError("a defect"), Status.CRASH),
        (ProblemError("memory", OutOfMemory("too much")), Status.OUT_OF_MEMORY),
        (ProblemError("original program", Timeout(600.0)), Status.TIMEOUT),
    ],
)
def test_what_the_machine_did_is_not_remembered(cause: Exception, status: Status) -> None:
    assert isinstance(cause, MACHINE_FAILURES)
    found = not_measured(CHOICE, cause)
    assert (found.status, found.error_type) == (status, type(cause).__name__)
    assert not is_its_own(found)
    with pytest.raises(WorkerError, match=f"measuring failed: {type(cause).__name__}: "):
        trusted(found)
    assert trusted(replace(found, status=Status.OK))
