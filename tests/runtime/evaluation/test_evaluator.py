"""What becomes of a schedule: measured, refused, wrong, broken; remembered; several at once."""

import copy
import pickle
import re
from dataclasses import replace

import pytest

from polygym.errors import IllegalScheduleError
from polygym.mapping.mapping import DEFAULT_MAPPING, SEQUENTIAL_MAPPING
from polygym.runtime.evaluation import (
    Evaluation,
    EvaluationOptions,
    Evaluator,
    Remeasure,
    evaluator_for,
    measurement_rule,
)
from polygym.runtime.evaluation import (
    evaluator as evaluator_module,
)
from polygym.runtime.evaluation.evaluation_results import evaluation_of_run
from polygym.runtime.evaluation.measurement_rule import SCREENING
from polygym.runtime.worker.outcome import Ok, OutcomeStatus
from polygym.runtime.worker.problem import CompiledProgram
from polygym.runtime.worker.worker import Session
from tests.runtime.evaluation import programs
from tests.runtime.evaluation.programs import Imposter, gemm, illegal, interchanged, plain

_LOOP_FOREVER = "  br label %again\nagain:\n  call i32 @getppid()\n  br label %again"


def test_good_schedule(evaluator):
    evaluation = evaluator.evaluate(interchanged())
    assert evaluation.status is OutcomeStatus.OK
    assert evaluation.is_ok
    assert evaluation.schedule == interchanged()
    assert evaluation.seconds == min(evaluation.samples) > 0
    assert evaluation.baseline_seconds == min(evaluation.baseline_samples) > 0
    assert evaluation.speedup == evaluation.baseline_seconds / evaluation.seconds
    assert (evaluation.error_type, evaluation.error_details) == ("", "")
    assert evaluator.baseline_seconds > 0


@pytest.mark.timing
def test_original_against_itself(evaluator):
    assert 0.5 < evaluator.evaluate(plain(), SEQUENTIAL_MAPPING, fresh=True).speedup < 2


def test_illegal_schedule_is_refused(evaluator):
    with pytest.raises(IllegalScheduleError, match="breaks the flow and anti"):
        evaluator.evaluate(illegal())
    with pytest.raises(IllegalScheduleError, match="S0 -> S1 on C"):
        evaluator.evaluate_interleaved([plain(), illegal()], 2)
    assert evaluator.evaluate(plain()).is_ok


def test_code_that_takes_for_ever_to_generate():
    with Evaluator(programs.cholesky(), programs.ONE_SECOND) as evaluator:
        evaluation = evaluator.evaluate(programs.endless())
        assert evaluation.status is OutcomeStatus.DOES_NOT_COMPILE
        assert evaluation.error_type == "Timeout"
        assert evaluation.error_details == "generating code took more than 1 s"
        assert (evaluation.speedup, evaluation.seconds, evaluation.samples) == (0.0, 0.0, ())
        assert evaluator.evaluate(plain(programs.cholesky())).is_ok


def _evaluator_with_speedups(
    remeasure: Remeasure, monkeypatch: pytest.MonkeyPatch, speedups: list[float]
) -> Evaluator:
    """Return an evaluator whose measurements have these speedups, one after the other."""
    evaluator = Evaluator(gemm(), EvaluationOptions(remeasure=remeasure))

    def measured(choice, best_so_far, *, fresh):
        schedule, mapping = choice
        worth = speedups.pop(0)
        status = OutcomeStatus.OK if worth > 0 else OutcomeStatus.WRONG_OUTPUT
        return Evaluation(schedule, status, speedup=worth, mapping=mapping)

    monkeypatch.setattr(evaluator, "_evaluate", measured)
    return evaluator


def test_a_first_measurement_stays_unless_it_is_asked_for_again(monkeypatch):
    speedups = [0.5, 1.4, 1.3]
    never = _evaluator_with_speedups(Remeasure.NEVER, monkeypatch, speedups)
    assert [never.evaluate(plain()).speedup for _ in range(3)] == [0.5] * 3
    always = _evaluator_with_speedups(Remeasure.ALWAYS, monkeypatch, speedups)
    assert [always.evaluate(plain()).speedup for _ in range(2)] == [1.4, 1.3]
    assert speedups == []


def test_what_would_be_the_best_is_confirmed_by_a_median_of_three(monkeypatch):
    speedups = [1.4, 0.5, 0.6, 2.0, 1.9, 2.1, 1.5, 3.0, 1.0, 1.1]
    evaluator = _evaluator_with_speedups(Remeasure.BEST, monkeypatch, speedups)
    assert evaluator.evaluate(plain()).speedup == 0.6  # 1.4 was wrong
    assert evaluator.evaluate(interchanged()).speedup == 2.0
    assert evaluator.evaluate(plain()).speedup == 0.6  # known, and not the best
    assert evaluator.evaluate(interchanged()).speedup == 2.0  # known and confirmed
    assert evaluator.evaluate(plain(), SEQUENTIAL_MAPPING).speedup == 1.5  # not the best: once
    assert evaluator.evaluate(interchanged(), SEQUENTIAL_MAPPING).speedup == 1.1
    assert speedups == []


def test_a_best_that_fails_once_has_failed(monkeypatch):
    evaluator = _evaluator_with_speedups(Remeasure.BEST, monkeypatch, [2.0, 2.0, 0.0])
    assert evaluator.evaluate(plain()).status is OutcomeStatus.WRONG_OUTPUT
    assert evaluator.evaluate(plain()).status is OutcomeStatus.WRONG_OUTPUT


def test_a_confirmed_answer_is_known_under_its_loops(monkeypatch):
    with Evaluator(gemm(), EvaluationOptions(remeasure=Remeasure.BEST)) as evaluator:
        first = evaluator.evaluate(interchanged())
        assert first.is_ok
        assert evaluator.evaluate(interchanged()) is first
        assert evaluator.evaluate(interchanged(5)).samples == first.samples


def test_same_schedule_is_measured_once(evaluator):
    first = evaluator.evaluate(interchanged())
    assert evaluator.evaluate(interchanged()) is first
    again = evaluator.evaluate(interchanged(), fresh=True)
    assert again is not first
    assert again.samples != first.samples
    assert evaluator.evaluate(interchanged()) is first


def test_mapping_under_which_there_is_code(evaluator):
    assert evaluator.evaluate(interchanged()).applied_mapping == DEFAULT_MAPPING
    sequential = evaluator.evaluate(interchanged(), SEQUENTIAL_MAPPING)
    assert sequential.applied_mapping == SEQUENTIAL_MAPPING


def test_of_several_a_hopeless_one_is_left_at_a_look(evaluator, monkeypatch):
    monkeypatch.setattr(measurement_rule, "_CLEARLY_SLOWER", 1e-9)  # so everything is
    monkeypatch.setattr(measurement_rule, "_LONG_RUN", 1e-9)
    evaluations = evaluator.evaluate_interleaved([plain(), interchanged()], 5)
    assert [(evaluation.is_ok, len(evaluation.samples)) for evaluation in evaluations] == [
        (True, 1)
    ] * 2
    assert len(evaluations[0].baseline_samples) == 5


def test_one_that_is_slower_than_the_best_is_left_at_a_look(own_evaluator, monkeypatch):
    """Beside a best so far it is that which counts, not the original order."""
    monkeypatch.setattr(Session, "measure_together", None)
    monkeypatch.setattr(measurement_rule, "_CLEARLY_SLOWER", 0.5)
    evaluation = own_evaluator.evaluate(interchanged(), best_so_far=1e-12)
    assert evaluation.is_ok
    assert len(evaluation.samples) == SCREENING.maximum
    assert evaluation.speedup == evaluation.baseline_seconds / evaluation.seconds


def test_beside_the_best_a_long_original_does_not_run_in_turn(own_evaluator, monkeypatch):
    monkeypatch.setattr(Session, "measure_together", None)
    monkeypatch.setattr(measurement_rule, "_LONG_RUN", 0.0)
    monkeypatch.setattr(measurement_rule, "_CLEARLY_SLOWER", 1e9)
    evaluation = own_evaluator.evaluate(interchanged(), best_so_far=float("inf"))
    assert evaluation.is_ok
    assert evaluation.speedup == evaluation.baseline_seconds / evaluation.seconds


def test_one_that_is_hopeless_beside_the_best_is_cut_off(own_evaluator):
    assert own_evaluator.measure_options().time_limit.factor == 10
    baseline = own_evaluator.baseline_seconds
    assert own_evaluator.measure_options(baseline).time_limit.factor == pytest.approx(5)
    assert own_evaluator.measure_options(100 * baseline).time_limit.factor == 10
    bad, options = interchanged(5), EvaluationOptions(timeout_factor=1e6)
    with Evaluator(gemm(), options, compiler=Imposter(bad, _LOOP_FOREVER)) as evaluator:
        patient = evaluator.measure_options().time_limit.seconds(evaluator.baseline_seconds)
        evaluation = evaluator.evaluate(bad, best_so_far=0.02)
    limit = re.fullmatch(r"timeout: cut off after (.*) s", evaluation.error_details)
    assert limit is not None
    assert float(limit[1]) == pytest.approx(5 * 0.02, rel=0.4)
    assert float(limit[1]) < patient / 2
    assert evaluation.speedup == 0


def test_several_at_once(evaluator):
    evaluations = evaluator.evaluate_interleaved([plain(), interchanged()], 4)
    assert [evaluation.schedule for evaluation in evaluations] == [plain(), interchanged()]
    assert all(evaluation.is_ok and len(evaluation.samples) == 4 for evaluation in evaluations)
    assert evaluations[0].baseline_samples == evaluations[1].baseline_samples
    assert len(evaluations[0].baseline_samples) == 4
    assert evaluator.evaluate_interleaved([], 2) == ()


@pytest.mark.parametrize(
    ("body", "status", "error_type", "details"),
    [
        (
            "  ret i32 0",
            OutcomeStatus.WRONG_OUTPUT,
            "WrongOutput",
            r"wrong output: C, element \d+: .*",
        ),
        ("  call void @llvm.trap()\n  unreachable", OutcomeStatus.CRASH, "Crash", "crash: SIGILL"),
        (_LOOP_FOREVER, OutcomeStatus.TIMEOUT, "Timeout", r"timeout: cut off after 0\.\d+ s"),
        ("  ret i32 1", OutcomeStatus.OUT_OF_MEMORY, "OutOfMemory", "out of memory: .*"),
        ("  ret i32 7", OutcomeStatus.DOES_NOT_COMPILE, "DoesNotCompile", r".*found 7 and \d+ ns"),
    ],
)
def test_code_that_fails(body, status, error_type, details):
    """Alone and among good ones; those after it are measured as ever."""
    bad = interchanged(5)
    with Evaluator(gemm(), compiler=Imposter(bad, body)) as evaluator:
        among = evaluator.evaluate_interleaved([plain(), bad, interchanged()], 2)
        for evaluation in (evaluator.evaluate(bad), among[1]):
            assert evaluation.status is status
            assert evaluation.error_type == error_type
            assert re.fullmatch(details, evaluation.error_details)
            assert (evaluation.speedup, evaluation.seconds, evaluation.samples) == (0.0, 0.0, ())
            assert evaluation.baseline_seconds > 0
        assert among[0].is_ok
        assert among[2].is_ok
        assert evaluator.evaluate(plain()).is_ok


def test_one_that_does_not_compile_among_good_ones():
    good, bad = plain(programs.cholesky()), programs.endless()
    with Evaluator(programs.cholesky(), programs.ONE_SECOND) as evaluator:
        first, second, third = evaluator.evaluate_interleaved([good, bad, good], 2)
    assert first.is_ok
    assert third.is_ok
    assert (second.schedule, second.status) == (bad, OutcomeStatus.DOES_NOT_COMPILE)


def test_time_limit_follows_the_options():
    bad = interchanged(5)
    options = EvaluationOptions(timeout_factor=1e4)
    with Evaluator(gemm(), options, compiler=Imposter(bad, _LOOP_FOREVER)) as evaluator:
        limit = max(1e4 * evaluator.baseline_seconds, 0.05)
        assert evaluator.evaluate(bad).error_details == f"timeout: cut off after {limit:.6g} s"


def test_run_too_short_for_the_clock():
    evaluation = evaluation_of_run(
        (plain(), SEQUENTIAL_MAPPING), CompiledProgram(b"", ()), Ok((0.0, 0.0)), Ok((0.0,))
    )
    assert evaluation.is_ok
    assert evaluation.speedup == 1.0


def test_closed_evaluator_opens_again(own_evaluator):
    first = own_evaluator.evaluate(plain())
    own_evaluator.close()
    own_evaluator.close()
    assert own_evaluator.evaluate(plain()) is first
    assert own_evaluator.evaluate(interchanged()).is_ok


def test_only_the_last_problems_stay_open(monkeypatch):
    monkeypatch.setattr(evaluator_module, "_shared", None)
    choices = [EvaluationOptions(timeout_factor=10.0 + k) for k in range(6)]
    evaluators = [evaluator_for(gemm(), options) for options in choices]
    kept = evaluator_module._shared
    assert all(evaluator.evaluate(plain()).is_ok for evaluator in evaluators)
    assert [
        evaluator_for(gemm(), options) is evaluator
        for options, evaluator in zip(choices[2:], evaluators[2:], strict=True)
    ] == [True] * 4
    replaced = evaluator_for(gemm(), choices[0])
    assert replaced is not evaluators[0]
    assert len(kept.evaluators) == 4
    assert evaluators[2]._runs is None
    assert evaluators[3]._runs is not None
    # A closed one may still be used; it shares the processes with the others.
    assert evaluators[2].evaluate(interchanged()).is_ok
    assert replaced.evaluate(plain()).is_ok
    process = kept.worker.process_id
    assert all(evaluator._worker.process_id == process for evaluator in evaluators)
    kept.worker.close()
    kept.compiler.close()


def test_copies_share_nothing(evaluator):
    for other in (copy.deepcopy(evaluator), pickle.loads(pickle.dumps(evaluator))):
        with other:
            assert other.program == evaluator.program
            assert other.options == evaluator.options
            assert other.evaluate(plain()).is_ok
            assert other._worker.process_id != evaluator._worker.process_id
            assert other._compiler.process_id != evaluator._compiler.process_id
        assert evaluator.evaluate(plain(), fresh=True).is_ok


def test_one_run_is_no_judgement() -> None:
    """A thread that wakes up late takes ten milliseconds for what takes microseconds."""
    assert not SCREENING.is_enough([0.012])
    assert not SCREENING.is_enough([0.012, 0.012])
    assert not SCREENING.is_enough([0.9])
    assert SCREENING.is_enough([0.9, 0.9, 0.9])
    assert SCREENING.is_enough([0.0001] * 20)


def test_schedules_of_the_same_loops_are_measured_once(own_evaluator, monkeypatch):
    measured = []
    measure = Session.measure

    def counted(self, program, *rest, **options):
        measured.append(program)
        return measure(self, program, *rest, **options)

    monkeypatch.setattr(Session, "measure", counted)
    first = own_evaluator.evaluate(interchanged())
    count = len(measured)
    assert count > 0
    shifted = own_evaluator.evaluate(interchanged(7))
    assert len(measured) == count
    assert shifted == replace(first, schedule=interchanged(7))
    assert own_evaluator.evaluate(interchanged(7), fresh=True).canonical_key == first.canonical_key
    assert len(measured) > count
    other = own_evaluator.evaluate(plain(), SEQUENTIAL_MAPPING)
    assert other.canonical_key not in ("", first.canonical_key)
