"""The course of a search, on a machine that is pretended: its phases, and every early end."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from polygym.compiler.codegen.common.mapping import DEFAULT, Mapping
from polygym.compiler.poly.baselines import isl_schedule, original
from polygym.compiler.poly.schedule import Schedule
from polygym.compiler.poly.strategy import ISL as ISL_STRATEGY
from polygym.compiler.poly.strategy import ORIGINAL
from polygym.episodes.automatic import Choice, Ranked
from polygym.errors import InputError
from polygym.measure.evaluation import Evaluation, EvaluationOptions
from polygym.measure.worker.outcome import Status, WorkerError
from polygym.search.explore import course
from polygym.search.explore.course import (
    Attention,
    Extent,
    Phase,
    Watch,
    automatic,
    reference,
    run,
)
from polygym.search.explore.folder import BEST, JOURNAL, TUNING, Search
from polygym.search.explore.ranking import AUTO, ISL, Default, Ranking
from polygym.search.explore.tally import Finding
from tests.search.explore.pretending import begun, pretended, resumed, setting

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

    def evaluate(self, schedule: Schedule, mapping: Mapping = DEFAULT, **_: Any) -> Evaluation:
        self.count += 1
        if self.count - 1 == self.fails_at:
            assert self.failure is not None
            raise self.failure
        found = replace(pretended(schedule), mapping=mapping or DEFAULT)
        if schedule == isl_schedule(SCOP):
            found = replace(found, status=Status.OK, speedup=self.isl_speedup)
        return found

    def evaluate_together(self, choices: Sequence[Any], rounds: int) -> tuple[Evaluation, ...]:
        self.together.append(tuple(choices))
        measured = [self.evaluate(*choice) for choice in choices]
        return tuple(replace(one, speedup=one.speedup / 2) for one in measured)


class Watcher:
    """Remembers which phases it has seen and how far they went."""

    def __init__(self) -> None:
        self.seen: list[tuple[Phase, int]] = []
        self.steps = 0

    @contextmanager
    def __call__(self, phase: Phase, _: Search, count: int) -> Iterator[Attention]:
        self.seen.append((phase, count))

        def show() -> None:
            self.steps += 1

        yield Attention(show)


def ran(
    folder: Path, machine: Any, extent: Extent, watch: Watch | None = None
) -> tuple[Ranking, BaseException | None]:
    search = begun(folder)
    try:
        found = run(search, extent, reference(SCOP, machine), machine, watch or Watcher())
    finally:
        search.close()
    return found.ranking, found.ended_by


def best_in(folder: Path) -> str:
    return str(json.loads((folder / BEST).read_text())["schedule"])


def test_every_phase_in_turn(tmp_path: Path) -> None:
    machine, watcher = Pretender(), Watcher()
    ranking, ended_by = ran(tmp_path, machine, Extent(8, 5), watcher)
    assert ended_by is None
    assert watcher.seen == [(Phase.EXPLORE, 8), (Phase.MAPPINGS, 5), (Phase.TOGETHER, 1)]
    assert watcher.steps == 13
    assert ranking.together
    assert ranking.original == original(SCOP)
    assert ranking.isl.schedule == isl_schedule(SCOP)
    speedups = [one.evaluation.speedup for one in ranking.findings]
    assert speedups == sorted(speedups, reverse=True)
    assert len(speedups) == 5
    (choices,) = machine.together
    assert choices[0] == (isl_schedule(SCOP), DEFAULT)
    assert len(set(choices)) == len(choices)
    assert ranking.best is not None
    assert best_in(tmp_path) == str(ranking.best.evaluation.schedule)


def test_without_mappings_none_are_tried(tmp_path: Path) -> None:
    watcher = Watcher()
    ran(tmp_path, Pretender(), Extent(3), watcher)
    assert [phase for phase, _ in watcher.seen] == [Phase.EXPLORE, Phase.TOGETHER]


@pytest.mark.parametrize(
    "failure", [KeyboardInterrupt(), OSError(28, "full"), InputError("no worker"), MemoryError()]
)
@pytest.mark.parametrize(("fails_at", "explored"), [(4, 3), (10, 8), (13, 8)])
def test_an_early_end_keeps_what_was_found(
    tmp_path: Path, failure: BaseException, fails_at: int, explored: int
) -> None:
    """The first is isl's; then come eight episodes and five mappings."""
    machine = Pretender(99.0, fails_at, failure)
    ranking, ended_by = ran(tmp_path, machine, Extent(8, 5))
    assert ended_by is failure
    assert not ranking.together
    assert ranking.best is not None
    assert ranking.best.index == ISL
    assert len((tmp_path / "episodes.jsonl").read_text().splitlines()) == explored + 1
    assert best_in(tmp_path) == str(isl_schedule(SCOP))


@dataclass
class Broken(Pretender):
    """Has no memory left for one of the measurements."""

    breaks_at: int = -1

    def evaluate(self, schedule: Schedule, mapping: Mapping = DEFAULT, **_: Any) -> Evaluation:
        found = super().evaluate(schedule, mapping)
        if self.count - 1 != self.breaks_at:
            return found
        return replace(
            found,
            status=Status.CRASH,
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
    _, ended_by = ran(tmp_path / "broken", machine, Extent(8, 5))
    assert isinstance(ended_by, WorkerError)
    assert "no memory" in str(ended_by)
    lines = (tmp_path / "broken" / JOURNAL).read_text().splitlines()
    assert len(lines) == explored + 1

    search = resumed(tmp_path / "broken")
    found = run(search, Extent(8, 5), reference(SCOP, Pretender()), Pretender(), Watcher())
    search.close()
    assert found.ended_by is None
    ran(tmp_path / "whole", Pretender(), Extent(8, 5))
    for name in (JOURNAL, TUNING):
        again, whole = ((tmp_path / of / name).read_text() for of in ("broken", "whole"))
        assert again == whole, name


def test_an_end_while_the_best_are_measured_together(tmp_path: Path) -> None:
    failure = KeyboardInterrupt()
    ranking, ended_by = ran(tmp_path, Pretender(0.5, 14, failure), Extent(8, 5))
    assert ended_by is failure
    assert not ranking.together
    assert ranking.best is not None
    assert best_in(tmp_path) == str(ranking.best.evaluation.schedule)


def test_a_defect_is_no_early_end(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        ran(tmp_path, Pretender(1.5, 3, ZeroDivisionError()), Extent(8))


def default(speedup: float) -> Default:
    """Return the order of the text as what is promised among a few."""
    found = replace(pretended(original(SCOP)), status=Status.OK, speedup=speedup, mapping=DEFAULT)
    ranked = (Ranked(ISL_STRATEGY, isl_schedule(SCOP), 0.0), Ranked(ORIGINAL, found.schedule, 1.0))
    return Default(Choice(ranked, 1), Finding(AUTO, found))


@pytest.mark.parametrize("failure", [None, KeyboardInterrupt()])
def test_the_default_is_among_the_ranked(tmp_path: Path, failure: BaseException | None) -> None:
    machine = Pretender(0.5, -1 if failure is None else 1, failure)
    search, beside = begun(tmp_path), default(100.0)
    found = run(search, Extent(3, 2), reference(SCOP, machine), machine, Watcher(), beside)
    search.close()
    assert found.ended_by is failure
    assert found.ranking.choice == beside.choice
    labels = [one.label for one in found.ranking.findings]
    assert labels.count("auto") == 1
    if failure is None:
        assert (original(SCOP), DEFAULT) in machine.together[0]
    else:  # nothing else has run, and it is kept
        assert found.ranking.best is not None
        assert found.ranking.best.index == AUTO
        assert best_in(tmp_path) == str(original(SCOP))


def test_the_default_is_measured_where_it_is_not_that_of_isl(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine, program = Pretender(), setting().subject.program
    isl = reference(SCOP, machine)
    choice = default(1.0).choice
    assert choice is not None
    monkeypatch.setattr(course, "choose_within", lambda *_: choice)
    found = automatic(program, machine, isl)  # type: ignore[arg-type]
    assert found.finding is not None
    assert (found.finding.index, found.finding.evaluation.schedule) == (AUTO, original(SCOP))
    monkeypatch.setattr(course, "choose_within", lambda *_: replace(choice, taken=0))
    measured = machine.count
    assert automatic(program, machine, isl).finding is None  # type: ignore[arg-type]
    assert machine.count == measured


def test_where_isl_finds_nothing_the_original_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise InputError("nothing")

    monkeypatch.setattr(course, "schedule_within", refuse)
    machine: Any = Pretender()
    found = reference(SCOP, machine)
    assert (found.schedule, found.evaluation, found.reason) == (None, None, "nothing")
    assert machine.count == 1
