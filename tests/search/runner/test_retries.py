"""What everything is compared with is measured again where it was cut off, and nothing else is."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from polygym.mapping.mapping import DEFAULT_MAPPING, SEQUENTIAL_MAPPING, Mapping
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.runtime.evaluation import Evaluation
from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.search.runner import retries
from polygym.search.runner.retries import (
    MAX_TRIES,
    evaluate_together_with_retries,
    evaluate_with_retries,
    measure_with_retries,
)
from tests.search.fakes import setting

SCOP = setting().subject.program.scop
SCHEDULES = (original_schedule(SCOP), isl_schedule(SCOP))


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "_PAUSE_SECONDS", 0.0)


@dataclass
class Busy:
    """Measures on a machine on which the first ``cut_off`` runs of a schedule take too long."""

    cut_off: dict[Schedule, int]
    failure: OutcomeStatus = OutcomeStatus.TIMEOUT
    runs: Counter[Schedule] = field(default_factory=Counter)
    remembered: dict[Schedule, Evaluation] = field(default_factory=dict)
    rounds: list[tuple[Schedule, ...]] = field(default_factory=list)

    def evaluate(
        self,
        schedule: Schedule,
        mapping: Mapping | None = None,
        *,
        fresh: bool = False,
        best_so_far: float | None = None,
    ) -> Evaluation:
        if fresh or schedule not in self.remembered:
            self.runs[schedule] += 1
            is_cut_off = self.runs[schedule] <= self.cut_off.get(schedule, 0)
            status = self.failure if is_cut_off else OutcomeStatus.OK
            speedup = 2.0 if status is OutcomeStatus.OK else 0.0
            evaluation = Evaluation(schedule, status, speedup, mapping=mapping or DEFAULT_MAPPING)
            if fresh:
                return evaluation
            self.remembered[schedule] = evaluation
        return self.remembered[schedule]

    def evaluate_interleaved(
        self, schedules: Sequence[Schedule | tuple[Schedule, Mapping]], rounds: int
    ) -> tuple[Evaluation, ...]:
        assert rounds == 7
        choices = [
            (schedule, DEFAULT_MAPPING) if isinstance(schedule, Schedule) else schedule
            for schedule in schedules
        ]
        self.rounds.append(tuple(chosen for chosen, _ in choices))
        return tuple(self.evaluate(*choice, fresh=True) for choice in choices)


@pytest.mark.parametrize(
    ("cut_off", "runs", "status"),
    [
        (0, 1, OutcomeStatus.OK),
        (1, 2, OutcomeStatus.OK),
        (MAX_TRIES - 1, MAX_TRIES, OutcomeStatus.OK),
        (MAX_TRIES, MAX_TRIES, OutcomeStatus.TIMEOUT),
        (100, MAX_TRIES, OutcomeStatus.TIMEOUT),
    ],
)
def test_one_that_is_cut_off_gets_more_chances(
    cut_off: int, runs: int, status: OutcomeStatus
) -> None:
    isl = SCHEDULES[1]
    machine: Any = Busy({isl: cut_off})
    evaluation = evaluate_with_retries(machine, isl, SEQUENTIAL_MAPPING)
    assert (machine.runs[isl], evaluation.status, evaluation.mapping) == (
        runs,
        status,
        SEQUENTIAL_MAPPING,
    )


@pytest.mark.parametrize(
    "failure", [OutcomeStatus.CRASH, OutcomeStatus.WRONG_OUTPUT, OutcomeStatus.DOES_NOT_COMPILE]
)
def test_no_other_failure_is_tried_again(failure: OutcomeStatus) -> None:
    isl = SCHEDULES[1]
    machine: Any = Busy({isl: 1}, failure)
    assert evaluate_with_retries(machine, isl).status is failure
    assert (
        evaluate_together_with_retries(machine, [isl], 7)[0].status is OutcomeStatus.OK
    )  # its second run
    assert machine.runs[isl] == 2


def test_of_several_those_alone_that_were_cut_off() -> None:
    first, second = SCHEDULES
    machine: Any = Busy({second: 2})
    evaluations = evaluate_together_with_retries(machine, [first, (second, SEQUENTIAL_MAPPING)], 7)
    assert [evaluation.status for evaluation in evaluations] == [OutcomeStatus.OK, OutcomeStatus.OK]
    assert [evaluation.mapping for evaluation in evaluations] == [
        DEFAULT_MAPPING,
        SEQUENTIAL_MAPPING,
    ]
    assert machine.rounds == [(first, second), (second,), (second,)]


def test_results_keep_their_places() -> None:
    tried = Counter[int]()

    def measure(items: Sequence[int]) -> list[Evaluation]:
        tried.update(items)
        late = {item for item in items if tried[item] <= item}
        base = Evaluation(SCHEDULES[0], OutcomeStatus.OK)
        return [
            replace(
                base,
                seconds=float(item),
                status=OutcomeStatus.TIMEOUT if item in late else OutcomeStatus.OK,
            )
            for item in items
        ]

    evaluations = measure_with_retries([3, 0, 1, 2], measure)
    assert [evaluation.seconds for evaluation in evaluations] == [3.0, 0.0, 1.0, 2.0]
    assert [evaluation.is_ok for evaluation in evaluations] == [False, True, True, True]
    assert tried == {0: 1, 1: 2, 2: 3, 3: MAX_TRIES}
    assert measure_with_retries([], measure) == ()
