"""What becomes of a measurement, as one value."""

from dataclasses import replace

import pytest

from polygym.errors import InternalError
from polygym.mapping.mapping import DEFAULT_MAPPING, SEQUENTIAL_MAPPING
from polygym.poly.scheduling.baselines import original_schedule
from polygym.runtime.evaluation.compiler import CompileFailure
from polygym.runtime.evaluation.evaluation_results import (
    MACHINE_FAILURES,
    compile_failure,
    evaluation_of_run,
    expect_candidate_result,
    is_candidate_result,
    machine_failure,
)
from polygym.runtime.worker.outcome import (
    Crash,
    Ok,
    Outcome,
    OutcomeStatus,
    OutOfMemory,
    OutOfRange,
    ProblemError,
    Timeout,
    WorkerError,
    WrongOutput,
)
from polygym.runtime.worker.problem import CompiledProgram
from tests.c_programs import kernel_scop

CHOICE = (original_schedule(kernel_scop("mvt")), DEFAULT_MAPPING)
# The code has another mapping than was asked for: one that is simpler.
CODE = CompiledProgram(b"", (), applied_mapping=SEQUENTIAL_MAPPING)
BASELINE = Ok((0.4, 0.3))


def test_what_ran_has_its_speedup() -> None:
    evaluation = evaluation_of_run(CHOICE, CODE, Ok((0.2, 0.1)), BASELINE)
    assert (evaluation.status, evaluation.speedup, evaluation.seconds) == (
        OutcomeStatus.OK,
        pytest.approx(3.0),
        0.1,
    )
    assert (evaluation.samples, evaluation.baseline_samples) == ((0.2, 0.1), (0.4, 0.3))
    assert (evaluation.schedule, evaluation.mapping, evaluation.applied_mapping) == (
        *CHOICE,
        SEQUENTIAL_MAPPING,
    )
    assert evaluation.error_type == ""


def test_a_program_without_work_is_no_division_by_zero() -> None:
    nothing = Ok((0.0,))
    assert evaluation_of_run(CHOICE, CODE, nothing, nothing).speedup == 1.0
    assert evaluation_of_run(CHOICE, CODE, nothing, Ok((5e-9,))).speedup == pytest.approx(5.0)


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
    evaluation = evaluation_of_run(CHOICE, CODE, outcome, BASELINE)
    assert (evaluation.status, evaluation.error_type) == (outcome.status, type(outcome).__name__)
    assert evaluation.error_details == str(outcome)
    assert (evaluation.speedup, evaluation.baseline_seconds, evaluation.applied_mapping) == (
        0.0,
        0.3,
        SEQUENTIAL_MAPPING,
    )
    assert is_candidate_result(evaluation)


@pytest.mark.parametrize("kind", ["Timeout", "MemoryError", "InternalError"])
def test_what_did_not_compile_is_the_candidate_s_doing(kind: str) -> None:
    evaluation = compile_failure(CHOICE, CompileFailure(kind, "in the third pass"))
    assert (evaluation.status, evaluation.error_type) == (OutcomeStatus.DOES_NOT_COMPILE, kind)
    assert evaluation.error_details == "in the third pass"
    assert expect_candidate_result(evaluation) is evaluation


@pytest.mark.parametrize(
    ("cause", "status"),
    [
        (WorkerError("does not start"), OutcomeStatus.CRASH),
        (OSError("no space left"), OutcomeStatus.CRASH),
        (InternalError("a defect"), OutcomeStatus.CRASH),
        (ProblemError("memory", OutOfMemory("too much")), OutcomeStatus.OUT_OF_MEMORY),
        (ProblemError("original program", Timeout(600.0)), OutcomeStatus.TIMEOUT),
    ],
)
def test_what_the_machine_did_is_not_remembered(cause: Exception, status: OutcomeStatus) -> None:
    assert isinstance(cause, MACHINE_FAILURES)
    evaluation = machine_failure(CHOICE, cause)
    assert (evaluation.status, evaluation.error_type) == (status, type(cause).__name__)
    assert not is_candidate_result(evaluation)
    with pytest.raises(WorkerError, match=f"measuring failed: {type(cause).__name__}: "):
        expect_candidate_result(evaluation)
    assert expect_candidate_result(replace(evaluation, status=OutcomeStatus.OK))
