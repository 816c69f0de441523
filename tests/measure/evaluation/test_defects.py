"""What counts as a defect, and how often."""

from dataclasses import replace

import pytest

from polygym.compiler.codegen.common.mapping import DEFAULT, SEQUENTIAL
from polygym.compiler.poly.baselines import isl_schedule, original
from polygym.measure.evaluation import Evaluation
from polygym.measure.evaluation.answers import is_its_own, not_measured, trusted
from polygym.measure.evaluation.defects import Defects
from polygym.measure.worker.outcome import Crash, Status, Timeout, WorkerError, WrongOutput
from polygym.programs import load_program

MVT = load_program("mvt").scop
ISL = isl_schedule(MVT)
CRASHED = Evaluation(ISL, Status.CRASH, error_type=Crash.__name__, mapping=DEFAULT)
WRONG = Evaluation(ISL, Status.WRONG_OUTPUT, error_type=WrongOutput.__name__, mapping=DEFAULT)


def test_each_choice_counts_once() -> None:
    again = replace(CRASHED, error_details="another time")
    other = replace(CRASHED, mapping=SEQUENTIAL)
    first = replace(CRASHED, schedule=original(MVT))
    assert Defects.among([CRASHED, again, other, first, WRONG]) == Defects(wrong=1, crashed=3)
    late = replace(CRASHED, status=Status.TIMEOUT, error_type=Timeout.__name__)
    assert not Defects.among([late])
    assert not Defects()
    assert Defects(1, 2) + Defects(3, 4) == Defects(4, 6)


def test_what_the_machine_did_is_none() -> None:
    failed = not_measured((ISL, DEFAULT), OSError("no space left"))
    assert failed.status is Status.CRASH
    assert not is_its_own(failed)
    assert not Defects.among([failed])
    with pytest.raises(WorkerError, match="no space left"):
        trusted(failed)
    assert trusted(CRASHED) is CRASHED
