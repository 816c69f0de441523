"""What policies play is new, legal and follows from the dice; the model's first is measured."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from polygym.compiler.codegen.common.mapping import DEFAULT
from polygym.compiler.poly.legality import is_legal
from polygym.compiler.poly.schedule import Schedule
from polygym.compiler.poly.strategy import ISL
from polygym.errors import InternalError, LimitError
from polygym.programs import load_program
from polygym.search.explore.players import TRIES
from polygym.search.tune import plays
from polygym.search.tune.by_model import ByModel
from polygym.search.tune.candidates import Candidate, Genes, Played, Way, schedules_of
from polygym.search.tune.plays import Plays
from polygym.search.tune.searches import make_search

START = replace(DEFAULT, threads=2)
SCOP = load_program("mvt").scop
SIZES = {"n": 200}


def never() -> bool:
    return False


def always(_: Schedule) -> bool:
    return True


def test_what_is_played_is_legal_and_follows_from_the_dice() -> None:
    one, other = (Plays(SCOP, np.random.default_rng(3)) for _ in range(2))
    first, second = one.some(always, never), one.some(always, never)
    assert 1 < len(first) <= TRIES
    assert all(is_legal(SCOP, schedule) for schedule in first)
    assert list(first.items()) == list(other.some(always, never).items())
    assert list(second.items()) == list(other.some(always, never).items())
    names = [*first.values(), *second.values()]
    assert len(set(names)) == len(names)
    assert {name.policy for name in names} >= {"bias_coeff_0", "uniform"}
    assert Plays(SCOP, np.random.default_rng(4)).some(always, never) != first


def test_nobody_plays_when_it_is_over() -> None:
    playing, left = Plays(SCOP, np.random.default_rng(0)), [False, False, True]
    assert len(playing.some(always, lambda: left.pop(0))) <= 2
    assert not left
    assert playing.some(always, lambda: True) == {}


def test_where_nothing_can_be_played_it_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tries = []

    def beyond(*_: object) -> None:
        tries.append(1)
        raise LimitError("too large")

    monkeypatch.setattr(plays, "episode_of", beyond)
    playing = Plays(SCOP, np.random.default_rng(0))
    assert [playing.some(always, never) for _ in range(3)] == [{}, {}, {}]
    assert len(tries) == 1
    monkeypatch.setattr(plays, "episode_of", lambda *_: tries.append(1))
    monkeypatch.setattr(plays, "schedule_of", lambda _: "no schedule")
    playing = Plays(SCOP, np.random.default_rng(0))
    assert [playing.some(always, never) for _ in range(9)] == [{}] * 9
    assert len(tries) == 1 + 3 * TRIES


def test_what_is_known_already_ends_the_playing() -> None:
    playing, asked = Plays(SCOP, np.random.default_rng(0)), []
    assert [playing.some(lambda one: bool(asked.append(one)), never) for _ in range(9)] == [{}] * 9
    assert TRIES < len(asked) <= 3 * TRIES


def test_defects_are_no_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise InternalError("a defect")

    monkeypatch.setattr(plays, "episode_of", broken)
    with pytest.raises(InternalError):
        Plays(SCOP, np.random.default_rng(0)).some(always, never)


def test_what_is_played_is_measured_and_gone_on_with() -> None:
    """Only what was played is fast here; the search finds that out, and tries it under mappings."""
    pytest.importorskip("lightgbm")
    known: dict[Way, Schedule] = dict(schedules_of(SCOP, strategies=(ISL,)))
    genes = Genes.of(SCOP, tuple(known), SIZES, START)
    search = make_search("model", SCOP, genes, [Candidate(ISL, START)], 0, known, SIZES)
    tried: list[list[Candidate]] = []
    for _ in range(5):
        tried.append(search.generation(16))
        for one in tried[-1]:
            search.learn(one, 4.0 if isinstance(one.strategy, Played) else 1.0)
            assert is_legal(SCOP, known[one.strategy])
    played = [one for part in tried for one in part if isinstance(one.strategy, Played)]
    assert len({one.strategy for one in played}) >= 3
    assert len({one.mapping for one in played}) >= 5
    assert played[0].mapping in {one.mapping for one in tried[0]}
    # What was played and not taken is not kept, and may be played again.
    assert isinstance(search, ByModel)
    assert set(search._looked_at._candidates) <= set(search._looked_at.ways)
    assert {one.strategy for one in search._looked_at._looks} <= set(search._looked_at.ways)
    assert set(known) == set(search._looked_at.ways)
    assert len(set(played)) == len(played)
