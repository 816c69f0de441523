"""The loop: one seed explores the same, duplicates are measured once, every end is an event."""

from dataclasses import replace

import pytest

from polygym.errors import LimitError
from polygym.mapping.mapping import DEFAULT_MAPPING, Mapping
from polygym.mdp.episode import Episode
from polygym.mdp.policies.registry import policy_named
from polygym.mdp.task_options import Phase
from polygym.poly.schedule import Schedule
from polygym.runtime.evaluation import Evaluation
from polygym.search.episode_loop import (
    EpisodeEvent,
    MeasuredEpisode,
    RepeatedEpisode,
    UnscheduledEpisode,
    explore_episodes,
)
from polygym.search.strategies.samplers import PolicySampler, sample_episode
from tests.search.fakes import fake_evaluation, setting


def explored(indices: range, *, seed: int = 0, name: str = "bias_coeff_0") -> list[EpisodeEvent]:
    task = setting().subject.task
    return list(
        explore_episodes(
            PolicySampler(task, policy_named(name)), seed, indices, fake_evaluation, DEFAULT_MAPPING
        )
    )


def actions(events: list[EpisodeEvent]) -> list[tuple[int, ...]]:
    return [event.episode.actions for event in events]


def test_the_same_seed_explores_the_same() -> None:
    first = explored(range(12), seed=3)
    assert [event.index for event in first] == list(range(12))
    assert actions(first) == actions(explored(range(12), seed=3))
    assert actions(first) != actions(explored(range(12), seed=4))
    assert len(set(actions(first))) > 6


def test_an_episode_depends_on_its_number_alone() -> None:
    whole = explored(range(10))
    assert actions(whole[6:]) == actions(explored(range(6, 10)))
    task = setting().subject.task
    assert sample_episode(task, policy_named("bias_coeff_0"), 0, 7) == whole[7].episode


def test_a_schedule_is_measured_once() -> None:
    asked: list[Schedule] = []

    def evaluate(schedule: Schedule, mapping: Mapping) -> Evaluation:
        asked.append(schedule)
        assert mapping == DEFAULT_MAPPING
        return fake_evaluation(schedule)

    task = setting().subject.task
    first, *others = explore_episodes(
        PolicySampler(task, policy_named("earliest")), 0, range(4), evaluate, DEFAULT_MAPPING
    )
    assert isinstance(first, MeasuredEpisode)
    assert asked == [first.evaluation.schedule]
    for event in others:
        assert isinstance(event, RepeatedEpisode)
        assert (event.first, event.schedule) == (0, asked[0])
    known_from = {(asked[0], DEFAULT_MAPPING): 5}
    earliest = PolicySampler(task, policy_named("earliest"))
    (known,) = explore_episodes(earliest, 0, range(9, 10), evaluate, DEFAULT_MAPPING, known_from)
    assert isinstance(known, RepeatedEpisode)
    assert known.first == 5
    assert len(asked) == 1


def test_schedules_of_the_same_loops_repeat_the_first() -> None:
    task = setting().subject.task

    def evaluate(schedule: Schedule, mapping: Mapping) -> Evaluation:
        return replace(fake_evaluation(schedule), canonical_key=str(len(str(schedule)) % 3))

    events = list(
        explore_episodes(
            PolicySampler(task, policy_named("uniform")), 0, range(12), evaluate, DEFAULT_MAPPING
        )
    )
    first: dict[str, int] = {}
    for event in events:
        assert isinstance(event, MeasuredEpisode | RepeatedEpisode)
        schedule = (
            event.schedule if isinstance(event, RepeatedEpisode) else event.evaluation.schedule
        )
        loops = str(len(str(schedule)) % 3)
        assert isinstance(event, MeasuredEpisode) == (loops not in first)
        if isinstance(event, RepeatedEpisode):
            assert event.first == first[loops]
        first.setdefault(loops, event.index)
    assert len(first) > 1


def test_an_invalid_episode_is_an_event() -> None:
    task = setting().subject.task

    def clumsy(episode: Episode, _: object) -> int:
        return task.options.actions - 1

    (event,) = explore_episodes(
        PolicySampler(task, clumsy), 0, range(1), fake_evaluation, DEFAULT_MAPPING
    )
    assert isinstance(event, UnscheduledEpisode)
    assert event.episode.phase is Phase.INVALID
    assert "not offered" in event.reason


def test_too_large_a_schedule_is_an_event(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Episode) -> Schedule:
        raise LimitError("too large")

    monkeypatch.setattr(Episode, "schedule", refuse)
    (event,) = explored(range(1))
    assert isinstance(event, UnscheduledEpisode)
    assert event.reason == "too large"
