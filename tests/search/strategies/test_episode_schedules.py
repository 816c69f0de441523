"""Schedules of policies are new, legal and follow from the seed; the model's first is measured."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from polygym.errors import InternalError, LimitError
from polygym.mapping.mapping import DEFAULT_MAPPING
from polygym.poly.legality import is_legal
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.strategy import ISL
from polygym.programs import load_program
from polygym.search.strategies import samplers
from polygym.search.strategies.candidates import (
    Candidate,
    EpisodeSchedule,
    ScheduleSource,
    schedules_of,
)
from polygym.search.strategies.model_annealing import ModelAnnealing
from polygym.search.strategies.registry import StrategyContext, make_strategy
from polygym.search.strategies.samplers import TRIES, EpisodeSchedules

START = replace(DEFAULT_MAPPING, threads=2)
SCOP = load_program("mvt").scop
SIZES = {"n": 200}


def never() -> bool:
    return False


def always(_: Schedule) -> bool:
    return True


def test_what_is_played_is_legal_and_follows_from_the_dice() -> None:
    schedules, other = (EpisodeSchedules(SCOP, np.random.default_rng(3)) for _ in range(2))
    first, second = schedules.sample(always, never), schedules.sample(always, never)
    assert 1 < len(first) <= TRIES
    assert all(is_legal(SCOP, schedule) for schedule in first)
    assert list(first.items()) == list(other.sample(always, never).items())
    assert list(second.items()) == list(other.sample(always, never).items())
    names = [*first.values(), *second.values()]
    assert len(set(names)) == len(names)
    assert {name.policy for name in names} >= {"bias_coeff_0", "uniform"}
    assert EpisodeSchedules(SCOP, np.random.default_rng(4)).sample(always, never) != first


def test_nobody_plays_when_it_is_over() -> None:
    playing, left = EpisodeSchedules(SCOP, np.random.default_rng(0)), [False, False, True]
    assert len(playing.sample(always, lambda: left.pop(0))) <= 2
    assert not left
    assert playing.sample(always, lambda: True) == {}


def test_where_nothing_can_be_played_it_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tries = []

    def beyond(*_: object) -> None:
        tries.append(1)
        raise LimitError("too large")

    monkeypatch.setattr(samplers, "sample_episode", beyond)
    playing = EpisodeSchedules(SCOP, np.random.default_rng(0))
    assert [playing.sample(always, never) for _ in range(3)] == [{}, {}, {}]
    assert len(tries) == 1
    monkeypatch.setattr(samplers, "sample_episode", lambda *_: tries.append(1))
    monkeypatch.setattr(samplers, "schedule_or_reason", lambda _: "no schedule")
    playing = EpisodeSchedules(SCOP, np.random.default_rng(0))
    assert [playing.sample(always, never) for _ in range(9)] == [{}] * 9
    assert len(tries) == 1 + 3 * TRIES


def test_what_is_known_already_ends_the_playing() -> None:
    playing, asked = EpisodeSchedules(SCOP, np.random.default_rng(0)), []
    assert [
        playing.sample(lambda schedule: bool(asked.append(schedule)), never) for _ in range(9)
    ] == [{}] * 9
    assert TRIES < len(asked) <= 3 * TRIES


def test_defects_are_no_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise InternalError("a defect")

    monkeypatch.setattr(samplers, "sample_episode", broken)
    with pytest.raises(InternalError):
        EpisodeSchedules(SCOP, np.random.default_rng(0)).sample(always, never)


def test_what_is_played_is_measured_and_gone_on_with() -> None:
    """Only what was played is fast here; the search finds that out, and tries it under mappings."""
    pytest.importorskip("lightgbm")
    known: dict[ScheduleSource, Schedule] = dict(schedules_of(SCOP, sources=(ISL,)))
    search = make_strategy(
        "annealing", StrategyContext(SCOP, SIZES, START, known, [Candidate(ISL, START)])
    )
    tried: list[list[Candidate]] = []
    for _ in range(5):
        tried.append(search.ask(16))
        for candidate in tried[-1]:
            search.tell(candidate, 4.0 if isinstance(candidate.source, EpisodeSchedule) else 1.0)
            assert is_legal(SCOP, known[candidate.source])
    played = [
        trial for part in tried for trial in part if isinstance(trial.source, EpisodeSchedule)
    ]
    assert len({trial.source for trial in played}) >= 3
    assert len({trial.mapping for trial in played}) >= 5
    assert played[0].mapping in {trial.mapping for trial in tried[0]}
    # What was played and not taken is not kept, and may be played again.
    assert isinstance(search, ModelAnnealing)
    assert set(search._looked_at._candidates) <= set(search._looked_at.sources)
    assert {look.source for look in search._looked_at._looks} <= set(search._looked_at.sources)
    assert set(known) == set(search._looked_at.sources)
    assert len(set(played)) == len(played)
