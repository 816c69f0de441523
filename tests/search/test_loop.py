"""The loop of a search, on a machine that is pretended: its stages, every proposal, every end."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from polygym.autoschedule.schedule_choice import AutomaticSchedule, RankedSchedule
from polygym.errors import InputError, LimitError
from polygym.mapping.mapping import DEFAULT_MAPPING, Mapping
from polygym.mdp.episode import Episode
from polygym.mdp.policies.registry import policy_named
from polygym.mdp.task_options import Phase
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.poly.scheduling.strategy import ISL, ORIGINAL
from polygym.runtime.evaluation import Evaluation
from polygym.runtime.worker.outcome import WorkerError
from polygym.search import start
from polygym.search.folder import BEST_FILE, JOURNAL_FILE
from polygym.search.journal import read_journal
from polygym.search.loop import SearchHooks, SearchProgress
from polygym.search.result import SearchStage
from polygym.search.strategies.candidates import Candidate, Unscheduled
from polygym.search.strategies.samplers import EpisodeSearch, PolicySampler, sample_episode
from tests.search.fakes import (
    FakeRunner,
    begin_fake,
    fake_evaluation,
    fake_loop,
    resume_fake,
    run_fake,
    setting,
)

SCOP = setting().subject.program.scop
EPISODES, CANDIDATES = "bias_coeff_0", "genetic"


def best_in(folder: Path) -> str:
    return str(json.loads((folder / BEST_FILE).read_text())["schedule"])


def lines(folder: Path, stage: SearchStage | None = None) -> list[dict[str, Any]]:
    episodes = read_journal(folder / JOURNAL_FILE).episodes
    return [line for line in episodes if stage is None or line["stage"] == stage.value]


@pytest.mark.parametrize("strategy", [EPISODES, CANDIDATES])
def test_every_stage_in_turn(tmp_path: Path, strategy: str) -> None:
    entered: list[SearchStage | None] = []
    shown: list[SearchProgress] = []
    runner = FakeRunner(1.5)
    result = run_fake(
        begin_fake(tmp_path, setting(policy=strategy)), 8, 5, runner=runner,
        hooks=SearchHooks(shown.append, enter=entered.append),
    )  # fmt: skip
    assert result.error is None
    assert entered == [SearchStage.SEARCH, SearchStage.MAPPINGS, None]
    stages = [line["stage"] for line in lines(tmp_path)]
    assert stages == [progress.stage.value for progress in shown]
    assert (stages.count("search"), stages.count("mappings")) == (8, 5)
    assert stages.count("initial") >= 1
    assert result.is_confirmed
    assert result.isl is not None
    assert result.isl.schedule == isl_schedule(SCOP)
    speedups = [finding.speedup for finding in result.ranking]
    assert speedups == sorted(speedups, reverse=True)
    assert len(speedups) in (5, 6, 7)
    (choices,) = runner.together
    assert (isl_schedule(SCOP), DEFAULT_MAPPING) in choices
    assert len(set(choices)) == len(choices)
    assert best_in(tmp_path) == str(result.best.schedule)


def test_without_mappings_none_are_tried(tmp_path: Path) -> None:
    entered: list[SearchStage | None] = []
    run_fake(begin_fake(tmp_path), 3, hooks=SearchHooks(enter=entered.append))
    assert entered == [SearchStage.SEARCH, None]


@pytest.mark.parametrize("strategy", [EPISODES, CANDIDATES])
@pytest.mark.parametrize(
    "failure", [KeyboardInterrupt(), OSError(28, "full"), InputError("no worker"), MemoryError()]
)
@pytest.mark.parametrize("fails_at", [4, 10, 15])
def test_an_early_end_keeps_what_was_found(
    tmp_path: Path, strategy: str, failure: BaseException, fails_at: int
) -> None:
    runner = FakeRunner(99.0, fails_at, failure)
    result = run_fake(begin_fake(tmp_path, setting(policy=strategy)), 8, 5, runner=runner)
    assert result.error is failure
    assert not result.is_confirmed
    assert result.source == str(ISL)
    measured = [line for line in lines(tmp_path) if line["outcome"] is not None]
    assert len(measured) == min(fails_at, len(measured))
    assert best_in(tmp_path) == str(isl_schedule(SCOP))


def test_nothing_measured_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="full"):
        run_fake(begin_fake(tmp_path), 3, runner=FakeRunner(1.5, 0, OSError(28, "full")))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("strategy", [EPISODES, CANDIDATES])
@pytest.mark.parametrize("breaks_at", [1, 4, 9])
def test_what_a_machine_fails_at_is_measured_again(
    tmp_path: Path, strategy: str, breaks_at: int
) -> None:
    of = setting(policy=strategy)
    runner = FakeRunner(1.5, breaks_at, WorkerError("no memory"))
    result = run_fake(begin_fake(tmp_path / "broken", of), 8, runner=runner)
    assert isinstance(result.error, WorkerError)
    again = run_fake(resume_fake(tmp_path / "broken", of), 8, runner=FakeRunner(1.5))
    assert again.error is None
    run_fake(begin_fake(tmp_path / "whole", of), 8, runner=FakeRunner(1.5))
    before, whole = (lines(tmp_path / name) for name in ("broken", "whole"))
    assert before == whole


def test_an_end_while_the_best_are_measured_together(tmp_path: Path) -> None:
    measured = FakeRunner(0.5)
    run_fake(begin_fake(tmp_path / "whole"), 8, 5, runner=measured)
    failure = KeyboardInterrupt()
    count = len(measured.asked) - len(measured.together[0])
    runner = FakeRunner(0.5, count, failure)
    result = run_fake(begin_fake(tmp_path / "cut"), 8, 5, runner=runner)
    assert result.error is failure
    assert not result.is_confirmed
    assert best_in(tmp_path / "cut") == str(result.best.schedule)


def test_a_defect_is_no_early_end(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        run_fake(begin_fake(tmp_path), 8, runner=FakeRunner(1.5, 3, ZeroDivisionError()))


def automatic(chosen: int) -> AutomaticSchedule:
    """Return the order of the source as what is predicted among a few, or isl's schedule."""
    ranked = (
        RankedSchedule(ISL, isl_schedule(SCOP), 0.0),
        RankedSchedule(ORIGINAL, original_schedule(SCOP), 1.0),
    )
    return AutomaticSchedule(ranked, chosen)


@pytest.mark.parametrize("failure", [None, KeyboardInterrupt()])
def test_the_automatic_schedule_is_among_the_ranked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: BaseException | None
) -> None:
    monkeypatch.setattr(
        start.schedule_choice, "choose_schedule_within", lambda *_, **__: automatic(1)
    )

    def fast(schedule: Schedule, mapping: Mapping) -> Evaluation:
        return replace(
            fake_evaluation(isl_schedule(SCOP), mapping), schedule=schedule, seconds=0.1,
            speedup=100.0 if schedule == original_schedule(SCOP) else 0.5,
        )  # fmt: skip

    runner = FakeRunner(None, -1 if failure is None else 2, failure, fast)
    result = run_fake(begin_fake(tmp_path), 3, 2, runner=runner)
    assert result.error is failure
    assert result.choice == automatic(1)
    own = [entry for entry in result.ranking if entry.evaluation.mapping == DEFAULT_MAPPING]
    assert [finding.source for finding in own].count("auto") == 1
    if failure is None:
        assert (original_schedule(SCOP), DEFAULT_MAPPING) in runner.together[0]
    else:  # nothing else has run, and it is kept
        assert result.source == "auto"
        assert best_in(tmp_path) == str(original_schedule(SCOP))


def test_the_automatic_schedule_is_measured_where_it_is_not_that_of_isl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for chosen, sources in ((1, ["auto", "isl"]), (0, ["isl"])):
        choice = automatic(chosen)
        monkeypatch.setattr(
            start.schedule_choice, "choose_schedule_within", lambda *_, c=choice, **__: c
        )
        loop = fake_loop(begin_fake(tmp_path / str(chosen)), 1)
        assert [str(candidate.source) for candidate in loop.start.initial] == sources


def test_where_isl_finds_nothing_the_original_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise InputError("nothing")

    monkeypatch.setattr(start.schedule_choice, "choose_schedule_within", refuse)
    scheduled = start.schedule_within

    def without_isl(strategy: Any, scop: Any) -> Schedule:
        if strategy == ISL:
            raise InputError("nothing")
        return scheduled(strategy, scop)

    monkeypatch.setattr(start, "schedule_within", without_isl)
    result = run_fake(begin_fake(tmp_path), 1)
    assert (result.isl, result.isl_reason) == (None, "nothing")
    assert result.initial_finding.source == "original"


# Episodes


def explored(
    folder: Path, count: int, *, seed: int = 0, name: str = "bias_coeff_0", **rest: Any
) -> list[dict[str, Any]]:
    run_fake(begin_fake(folder, setting(policy=name, seed=seed)), count, **rest)
    return lines(folder, SearchStage.SEARCH)


def actions(episodes: list[dict[str, Any]]) -> list[tuple[int, ...]]:
    return [tuple(line["actions"]) for line in episodes]


def test_the_same_seed_explores_the_same(tmp_path: Path) -> None:
    first = explored(tmp_path / "a", 12, seed=3)
    assert [line["source"] for line in first] == [f"bias_coeff_0#{k}" for k in range(12)]
    assert actions(first) == actions(explored(tmp_path / "b", 12, seed=3))
    assert actions(first) != actions(explored(tmp_path / "c", 12, seed=4))
    assert len(set(actions(first))) > 6


def test_an_episode_depends_on_its_number_alone(tmp_path: Path) -> None:
    whole = explored(tmp_path, 10)
    task = setting().subject.task
    alone = sample_episode(task, policy_named("bias_coeff_0"), 0, 7)
    assert alone.actions == actions(whole)[7]


def test_a_schedule_is_measured_once(tmp_path: Path) -> None:
    runner = FakeRunner()
    first, *others = explored(tmp_path, 4, name="earliest", runner=runner)
    initial = len(lines(tmp_path, SearchStage.INITIAL))
    asked = runner.asked[: -len(runner.together[0])]
    assert len(asked) == len(set(asked)) <= initial + 1
    assert {mapping for _, mapping in asked} == {DEFAULT_MAPPING}
    at = first["index"] if first["repeats"] is None else first["repeats"]
    assert [(line["repeats"], line["schedule"]) for line in others] == [(at, first["schedule"])] * 3


def test_schedules_of_the_same_loops_repeat_the_first(tmp_path: Path) -> None:
    def evaluate(schedule: Schedule, mapping: Mapping) -> Evaluation:
        return replace(fake_evaluation(schedule), canonical_key=str(len(str(schedule)) % 3))

    explored(tmp_path, 12, name="uniform", runner=FakeRunner(evaluate=evaluate))
    first: dict[str, int] = {}
    for line in lines(tmp_path):
        loops = str(len(line["schedule"]) % 3)
        assert (line["repeats"] is None) == (loops not in first)
        if line["repeats"] is not None:
            assert line["repeats"] == first[loops]
            assert line["outcome"] is None
        first.setdefault(loops, line["index"])
    assert len(first) > 1


def test_an_invalid_episode_is_a_proposal() -> None:
    task = setting().subject.task

    def clumsy(episode: Episode, _: object) -> int:
        return task.options.actions - 1

    sampler = PolicySampler(task, clumsy)
    search = EpisodeSearch(sampler, "clumsy", 0, [], DEFAULT_MAPPING, {})
    (proposal,) = search.ask(1)
    assert isinstance(proposal, Unscheduled)
    episode = search.episode_of(proposal)
    assert episode is not None
    assert episode.phase is Phase.INVALID
    assert "not offered" in proposal.reason


def test_too_large_a_schedule_is_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Episode) -> Schedule:
        raise LimitError("too large")

    monkeypatch.setattr(Episode, "schedule", refuse)
    (line,) = explored(tmp_path, 1)
    assert (line["reason"], line["outcome"]) == ("too large", None)


def test_ctrl_c_while_candidates_are_chosen_keeps_what_was_found(tmp_path: Path) -> None:
    """Choosing takes a model some seconds, so the signal may come there as well."""
    is_allowed = False

    @contextmanager
    def waiting() -> Iterator[None]:
        nonlocal is_allowed
        is_allowed = True
        try:
            yield
        finally:
            is_allowed = False

    loop = fake_loop(begin_fake(tmp_path, setting(policy="random")), 9)
    whole = loop.strategy.ask

    def ask(count: int) -> Any:
        assert is_allowed
        if loop.tally.lines:
            raise KeyboardInterrupt
        return whole(count)

    loop.strategy.ask = ask  # type: ignore[method-assign]
    loop.hooks = SearchHooks(waiting=waiting)
    result = loop.run()
    assert result.interrupted
    assert result.tried >= 3


def test_candidates_are_compiled_together(tmp_path: Path) -> None:
    runner = FakeRunner(1.5)
    run_fake(begin_fake(tmp_path, setting(policy="random")), 40, runner=runner)
    assert runner.prepared[1:] == [16, 16, 8]
    episodes = FakeRunner(1.5)
    run_fake(begin_fake(tmp_path / "episodes"), 4, runner=episodes)
    assert max(episodes.prepared, default=0) <= 2


def test_a_fixed_schedule_has_mappings_alone(tmp_path: Path) -> None:
    of = setting(policy="genetic")
    of = replace(of, plan=replace(of.plan, is_fixed=True, schedule=ISL))
    run_fake(begin_fake(tmp_path, of), 12)
    assert {line["schedule"] for line in lines(tmp_path)} == {str(isl_schedule(SCOP))}
    assert len({line["mapping"] for line in lines(tmp_path)}) == 13
    with pytest.raises(InputError, match="a fixed schedule: expected a strategy"):
        replace(of.plan, strategy="learned")


def test_the_initial_candidates_are_first() -> None:
    initial = [Candidate(ISL, DEFAULT_MAPPING)]
    sampler = PolicySampler(setting().subject.task, policy_named("uniform"))
    search = EpisodeSearch(sampler, "uniform", 0, initial, DEFAULT_MAPPING, {})
    assert search.batch_size == 1
    assert search.ask(1) == initial
    assert str(search.ask(1)[0].source) == "uniform#0"
