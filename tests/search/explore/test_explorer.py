"""The loop: one seed explores the same, duplicates are measured once, every end is an event."""

from dataclasses import replace

import pytest

from polygym.compiler.codegen.common.mapping import DEFAULT, Mapping
from polygym.compiler.poly.schedule import Schedule
from polygym.episodes.episode import Episode
from polygym.episodes.policies import policy
from polygym.episodes.task_options import Phase
from polygym.errors import LimitError
from polygym.measure.evaluation import Evaluation
from polygym.search.explore.explorer import (
    Explored,
    Measured,
    Repeated,
    Unscheduled,
    explore,
)
from polygym.search.explore.players import ByPolicy, episode_of
from tests.search.explore.pretending import pretended, setting


def explored(indices: range, *, seed: int = 0, name: str = "bias_coeff_0") -> list[Explored]:
    task = setting().subject.task
    return list(explore(ByPolicy(task, policy(name)), seed, indices, pretended, DEFAULT))


def actions(events: list[Explored]) -> list[tuple[int, ...]]:
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
    assert episode_of(task, policy("bias_coeff_0"), 0, 7) == whole[7].episode


def test_a_schedule_is_measured_once() -> None:
    asked: list[Schedule] = []

    def evaluate(schedule: Schedule, mapping: Mapping) -> Evaluation:
        asked.append(schedule)
        assert mapping == DEFAULT
        return pretended(schedule)

    task = setting().subject.task
    first, *others = explore(ByPolicy(task, policy("earliest")), 0, range(4), evaluate, DEFAULT)
    assert isinstance(first, Measured)
    assert asked == [first.evaluation.schedule]
    for event in others:
        assert isinstance(event, Repeated)
        assert (event.first, event.schedule) == (0, asked[0])
    known_from = {(asked[0], DEFAULT): 5}
    earliest = ByPolicy(task, policy("earliest"))
    (known,) = explore(earliest, 0, range(9, 10), evaluate, DEFAULT, known_from)
    assert isinstance(known, Repeated)
    assert known.first == 5
    assert len(asked) == 1


def test_schedules_of_the_same_loops_repeat_the_first() -> None:
    task = setting().subject.task

    def evaluate(schedule: Schedule, mapping: Mapping) -> Evaluation:
        return replace(pretended(schedule), loops=str(len(str(schedule)) % 3))

    events = list(explore(ByPolicy(task, policy("uniform")), 0, range(12), evaluate, DEFAULT))
    first: dict[str, int] = {}
    for event in events:
        assert isinstance(event, Measured | Repeated)
        schedule = event.schedule if isinstance(event, Repeated) else event.evaluation.schedule
        loops = str(len(str(schedule)) % 3)
        assert isinstance(event, Measured) == (loops not in first)
        if isinstance(event, Repeated):
            assert event.first == first[loops]
        first.setdefault(loops, event.index)
    assert len(first) > 1


def test_an_invalid_episode_is_an_event() -> None:
    task = setting().subject.task

    def clumsy(episode: Episode, _: object) -> int:
        return task.options.actions - 1

    (event,) = explore(ByPolicy(task, clumsy), 0, range(1), pretended, DEFAULT)
    assert isinstance(event, Unscheduled)
    assert event.episode.phase is Phase.INVALID
    assert "not offered" in event.reason


def test_too_large_a_schedule_is_an_event(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Episode) -> Schedule:
        raise LimitError("too large")

    monkeypatch.setattr(Episode, "schedule", refuse)
    (event,) = explored(range(1))
    assert isinstance(event, Unscheduled)
    assert event.reason == "too large"
