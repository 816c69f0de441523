"""The course of a search, on a machine that is pretended: its phases, and every early end."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from polygym.autoschedule.schedule_choice import AutomaticSchedule, RankedSchedule
from polygym.errors import InputError
from polygym.mapping.mapping import DEFAULT_MAPPING, Mapping
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.poly.scheduling.strategy import ISL as ISL_STRATEGY
from polygym.poly.scheduling.strategy import ORIGINAL
from polygym.runtime.evaluation import Evaluation, EvaluationOptions
from polygym.runtime.worker.outcome import OutcomeStatus, WorkerError
from polygym.search import driver
from polygym.search.driver import (
    PhaseHooks,
    PhaseWatcher,
    SearchExtent,
    SearchPhase,
    measure_automatic,
    measure_isl,
    run_search,
)
from polygym.search.folder import BEST_FILE, JOURNAL_FILE, TRIALS_FILE, SearchFolder
from polygym.search.ranking import AUTO, ISL, AutomaticReference, Ranking
from polygym.search.tally import Finding
from tests.search.fakes import begin_fake, fake_evaluation, resume_fake, setting

SCOP = setting().subject.program.scop


@dataclass
class Pretender:
    """Measures by the text of a schedule; together, everything is slower, isl's schedule least."""

    isl_speedup: float = 1.5
    fails_at: int = -1
    failure: BaseException | None = None
    options: EvaluationOptions = field(default_factory=EvaluationOptions)
    count: int = 0
    together: list[tuple[Any, ...]] = field(default_factory=list)

    def evaluate(
        self, schedule: Schedule, mapping: Mapping = DEFAULT_MAPPING, **_: Any
    ) -> Evaluation:
        self.count += 1
        if self.count - 1 == self.fails_at:
            assert self.failure is not None
            raise self.failure
        evaluation = replace(fake_evaluation(schedule), mapping=mapping or DEFAULT_MAPPING)
        if schedule == isl_schedule(SCOP):
            evaluation = replace(evaluation, status=OutcomeStatus.OK, speedup=self.isl_speedup)
        return evaluation

    def evaluate_together(self, choices: Sequence[Any], rounds: int) -> tuple[Evaluation, ...]:
        self.together.append(tuple(choices))
        measured = [self.evaluate(*choice) for choice in choices]
        return tuple(replace(evaluation, speedup=evaluation.speedup / 2) for evaluation in measured)


class Watcher:
    """Remembers which phases it has seen and how far they went."""

    def __init__(self) -> None:
        self.seen: list[tuple[SearchPhase, int]] = []
        self.steps = 0

    @contextmanager
    def __call__(self, phase: SearchPhase, _: SearchFolder, count: int) -> Iterator[PhaseHooks]:
        self.seen.append((phase, count))

        def show() -> None:
            self.steps += 1

        yield PhaseHooks(show)


def ran(
    folder: Path, machine: Any, extent: SearchExtent, watch: PhaseWatcher | None = None
) -> tuple[Ranking, BaseException | None]:
    search = begin_fake(folder)
    try:
        outcome = run_search(
            search, extent, measure_isl(SCOP, machine), machine, watch or Watcher()
        )
    finally:
        search.close()
    return outcome.ranking, outcome.error


def best_in(folder: Path) -> str:
    return str(json.loads((folder / BEST_FILE).read_text())["schedule"])


def test_every_phase_in_turn(tmp_path: Path) -> None:
    machine, watcher = Pretender(), Watcher()
    ranking, ended_by = ran(tmp_path, machine, SearchExtent(8, 5), watcher)
    assert ended_by is None
    assert watcher.seen == [
        (SearchPhase.EXPLORE, 8),
        (SearchPhase.MAPPINGS, 5),
        (SearchPhase.TOGETHER, 1),
    ]
    assert watcher.steps == 13
    assert ranking.is_confirmed
    assert ranking.original == original_schedule(SCOP)
    assert ranking.isl.schedule == isl_schedule(SCOP)
    speedups = [finding.evaluation.speedup for finding in ranking.findings]
    assert speedups == sorted(speedups, reverse=True)
    assert len(speedups) == 5
    (choices,) = machine.together
    assert choices[0] == (isl_schedule(SCOP), DEFAULT_MAPPING)
    assert len(set(choices)) == len(choices)
    assert ranking.best is not None
    assert best_in(tmp_path) == str(ranking.best.evaluation.schedule)


def test_without_mappings_none_are_tried(tmp_path: Path) -> None:
    watcher = Watcher()
    ran(tmp_path, Pretender(), SearchExtent(3), watcher)
    assert [phase for phase, _ in watcher.seen] == [SearchPhase.EXPLORE, SearchPhase.TOGETHER]


@pytest.mark.parametrize(
    "failure", [KeyboardInterrupt(), OSError(28, "full"), InputError("no worker"), MemoryError()]
)
@pytest.mark.parametrize(("fails_at", "explored"), [(4, 3), (10, 8), (13, 8)])
def test_an_early_end_keeps_what_was_found(
    tmp_path: Path, failure: BaseException, fails_at: int, explored: int
) -> None:
    """The first is isl's; then come eight episodes and five mappings."""
    machine = Pretender(99.0, fails_at, failure)
    ranking, ended_by = ran(tmp_path, machine, SearchExtent(8, 5))
    assert ended_by is failure
    assert not ranking.is_confirmed
    assert ranking.best is not None
    assert ranking.best.index == ISL
    assert len((tmp_path / "episodes.jsonl").read_text().splitlines()) == explored + 1
    assert best_in(tmp_path) == str(isl_schedule(SCOP))


@dataclass
class Broken(Pretender):
    """Has no memory left for one of the measurements."""

    breaks_at: int = -1

    def evaluate(
        self, schedule: Schedule, mapping: Mapping = DEFAULT_MAPPING, **_: Any
    ) -> Evaluation:
        evaluation = super().evaluate(schedule, mapping)
        if self.count - 1 != self.breaks_at:
            return evaluation
        return replace(
            evaluation,
            status=OutcomeStatus.CRASH,
            speedup=0.0,
            error_type=WorkerError.__name__,
            error_details="no memory",
        )


@pytest.mark.parametrize(("breaks_at", "explored"), [(4, 3), (10, 8)])
def test_what_a_machine_fails_at_is_measured_again(
    tmp_path: Path, breaks_at: int, explored: int
) -> None:
    for name in ("broken", "whole"):
        (tmp_path / name).mkdir()
    machine = Broken(breaks_at=breaks_at)
    _, ended_by = ran(tmp_path / "broken", machine, SearchExtent(8, 5))
    assert isinstance(ended_by, WorkerError)
    assert "no memory" in str(ended_by)
    lines = (tmp_path / "broken" / JOURNAL_FILE).read_text().splitlines()
    assert len(lines) == explored + 1

    search = resume_fake(tmp_path / "broken")
    outcome = run_search(
        search, SearchExtent(8, 5), measure_isl(SCOP, Pretender()), Pretender(), Watcher()
    )
    search.close()
    assert outcome.error is None
    ran(tmp_path / "whole", Pretender(), SearchExtent(8, 5))
    for name in (JOURNAL_FILE, TRIALS_FILE):
        again, whole = ((tmp_path / of / name).read_text() for of in ("broken", "whole"))
        assert again == whole, name


def test_an_end_while_the_best_are_measured_together(tmp_path: Path) -> None:
    failure = KeyboardInterrupt()
    ranking, ended_by = ran(tmp_path, Pretender(0.5, 14, failure), SearchExtent(8, 5))
    assert ended_by is failure
    assert not ranking.is_confirmed
    assert ranking.best is not None
    assert best_in(tmp_path) == str(ranking.best.evaluation.schedule)


def test_a_defect_is_no_early_end(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        ran(tmp_path, Pretender(1.5, 3, ZeroDivisionError()), SearchExtent(8))


def default(speedup: float) -> AutomaticReference:
    """Return the order of the text as what is promised among a few."""
    evaluation = replace(
        fake_evaluation(original_schedule(SCOP)),
        status=OutcomeStatus.OK,
        speedup=speedup,
        mapping=DEFAULT_MAPPING,
    )
    ranked = (
        RankedSchedule(ISL_STRATEGY, isl_schedule(SCOP), 0.0),
        RankedSchedule(ORIGINAL, evaluation.schedule, 1.0),
    )
    return AutomaticReference(AutomaticSchedule(ranked, 1), Finding(AUTO, evaluation))


@pytest.mark.parametrize("failure", [None, KeyboardInterrupt()])
def test_the_default_is_among_the_ranked(tmp_path: Path, failure: BaseException | None) -> None:
    machine = Pretender(0.5, -1 if failure is None else 1, failure)
    search, beside = begin_fake(tmp_path), default(100.0)
    outcome = run_search(
        search, SearchExtent(3, 2), measure_isl(SCOP, machine), machine, Watcher(), beside
    )
    search.close()
    assert outcome.error is failure
    assert outcome.ranking.choice == beside.choice
    labels = [finding.label for finding in outcome.ranking.findings]
    assert labels.count("auto") == 1
    if failure is None:
        assert (original_schedule(SCOP), DEFAULT_MAPPING) in machine.together[0]
    else:  # nothing else has run, and it is kept
        assert outcome.ranking.best is not None
        assert outcome.ranking.best.index == AUTO
        assert best_in(tmp_path) == str(original_schedule(SCOP))


def test_the_default_is_measured_where_it_is_not_that_of_isl(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine, program = Pretender(), setting().subject.program
    isl = measure_isl(SCOP, machine)
    choice = default(1.0).choice
    assert choice is not None
    monkeypatch.setattr(driver, "choose_schedule_within", lambda *_: choice)
    reference = measure_automatic(program, machine, isl)  # type: ignore[arg-type]
    assert reference.finding is not None
    assert (reference.finding.index, reference.finding.evaluation.schedule) == (
        AUTO,
        original_schedule(SCOP),
    )
    monkeypatch.setattr(driver, "choose_schedule_within", lambda *_: replace(choice, chosen=0))
    measured = machine.count
    assert measure_automatic(program, machine, isl).finding is None  # type: ignore[arg-type]
    assert machine.count == measured


def test_where_isl_finds_nothing_the_original_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise InputError("nothing")

    monkeypatch.setattr(driver, "schedule_within", refuse)
    machine: Any = Pretender()
    reference = measure_isl(SCOP, machine)
    assert (reference.schedule, reference.evaluation, reference.reason) == (None, None, "nothing")
    assert machine.count == 1
