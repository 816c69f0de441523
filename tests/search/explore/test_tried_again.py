"""What everything is compared with is measured again where it was cut off, and nothing else is."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from polygym.compiler.codegen.common.mapping import DEFAULT, SEQUENTIAL, Mapping
from polygym.compiler.poly.baselines import isl_schedule, original
from polygym.compiler.poly.schedule import Schedule
from polygym.measure.evaluation import Evaluation
from polygym.measure.worker.outcome import Status
from polygym.search.explore import tried_again
from polygym.search.explore.tried_again import TRIES, again, evaluate, evaluate_together
from tests.search.explore.pretending import setting

SCOP = setting().subject.program.scop
SCHEDULES = (original(SCOP), isl_schedule(SCOP))


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tried_again, "_PAUSE_SECONDS", 0.0)


@dataclass
class Busy:
    """Measures on a machine on which the first ``cut_off`` runs of a schedule take too long."""

    cut_off: dict[Schedule, int]
    failure: Status = Status.TIMEOUT
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
            status = self.failure if is_cut_off else Status.OK
            speedup = 2.0 if status is Status.OK else 0.0
            found = Evaluation(schedule, status, speedup, mapping=mapping or DEFAULT)
            if fresh:
                return found
            self.remembered[schedule] = found
        return self.remembered[schedule]

    def evaluate_together(
        self, schedules: Sequence[Schedule | tuple[Schedule, Mapping]], rounds: int
    ) -> tuple[Evaluation, ...]:
        assert rounds == 7
        choices = [(one, DEFAULT) if isinstance(one, Schedule) else one for one in schedules]
        self.rounds.append(tuple(one for one, _ in choices))
        return tuple(self.evaluate(*choice, fresh=True) for choice in choices)


@pytest.mark.parametrize(
    ("cut_off", "runs", "status"),
    [
        (0, 1, Status.OK),
        (1, 2, Status.OK),
        (TRIES - 1, TRIES, Status.OK),
        (TRIES, TRIES, Status.TIMEOUT),
        (100, TRIES, Status.TIMEOUT),
    ],
)
def test_one_that_is_cut_off_gets_more_chances(cut_off: int, runs: int, status: Status) -> None:
    isl = SCHEDULES[1]
    machine: Any = Busy({isl: cut_off})
    found = evaluate(machine, isl, SEQUENTIAL)
    assert (machine.runs[isl], found.status, found.mapping) == (runs, status, SEQUENTIAL)


@pytest.mark.parametrize("failure", [Status.CRASH, Status.WRONG_OUTPUT, Status.DOES_NOT_COMPILE])
def test_no_other_failure_is_tried_again(failure: Status) -> None:
    isl = SCHEDULES[1]
    machine: Any = Busy({isl: 1}, failure)
    assert evaluate(machine, isl).status is failure
    assert evaluate_together(machine, [isl], 7)[0].status is Status.OK  # its second run
    assert machine.runs[isl] == 2


def test_of_several_those_alone_that_were_cut_off() -> None:
    first, second = SCHEDULES
    machine: Any = Busy({second: 2})
    found = evaluate_together(machine, [first, (second, SEQUENTIAL)], 7)
    assert [one.status for one in found] == [Status.OK, Status.OK]
    assert [one.mapping for one in found] == [DEFAULT, SEQUENTIAL]
    assert machine.rounds == [(first, second), (second,), (second,)]


def test_results_keep_their_places() -> None:
    tried = Counter[int]()

    def measure(items: Sequence[int]) -> list[Evaluation]:
        tried.update(items)
        late = {item for item in items if tried[item] <= item}
        base = Evaluation(SCHEDULES[0], Status.OK)
        return [
            replace(base, seconds=float(item), status=Status.TIMEOUT if item in late else Status.OK)
            for item in items
        ]

    found = again([3, 0, 1, 2], measure)
    assert [one.seconds for one in found] == [3.0, 0.0, 1.0, 2.0]
    assert [one.is_ok for one in found] == [False, True, True, True]
    assert tried == {0: 1, 1: 2, 2: 3, 3: TRIES}
    assert again([], measure) == ()
