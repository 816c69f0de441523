"""What counts as a defect, and how often."""

from dataclasses import replace

import pytest

from polygym.mapping.mapping import DEFAULT_MAPPING, SEQUENTIAL_MAPPING
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.programs import load_program
from polygym.runtime.evaluation import Evaluation
from polygym.runtime.evaluation.evaluation_results import (
    Defects,
    expect_candidate_result,
    is_candidate_result,
    machine_failure,
)
from polygym.runtime.worker.outcome import Crash, OutcomeStatus, Timeout, WorkerError, WrongOutput

MVT = load_program("mvt").scop
ISL = isl_schedule(MVT)
CRASHED = Evaluation(ISL, OutcomeStatus.CRASH, error_type=Crash.__name__, mapping=DEFAULT_MAPPING)
WRONG = Evaluation(
    ISL, OutcomeStatus.WRONG_OUTPUT, error_type=WrongOutput.__name__, mapping=DEFAULT_MAPPING
)


def test_each_choice_counts_once() -> None:
    again = replace(CRASHED, error_details="another time")
    other = replace(CRASHED, mapping=SEQUENTIAL_MAPPING)
    first = replace(CRASHED, schedule=original_schedule(MVT))
    assert Defects.count([CRASHED, again, other, first, WRONG]) == Defects(wrong=1, crashed=3)
    late = replace(CRASHED, status=OutcomeStatus.TIMEOUT, error_type=Timeout.__name__)
    assert not Defects.count([late])
    assert not Defects()
    assert Defects(1, 2) + Defects(3, 4) == Defects(4, 6)


def test_what_the_machine_did_is_none() -> None:
    failed = machine_failure((ISL, DEFAULT_MAPPING), OSError("no space left"))
    assert failed.status is OutcomeStatus.CRASH
    assert not is_candidate_result(failed)
    assert not Defects.count([failed])
    with pytest.raises(WorkerError, match="no space left"):
        expect_candidate_result(failed)
    assert expect_candidate_result(CRASHED) is CRASHED
