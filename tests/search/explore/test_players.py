"""Who plays: a policy alone, or a model that takes the most promising of several episodes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from polygym.compiler.codegen.common.mapping import DEFAULT
from polygym.compiler.poly.legality import LegalSchedule, is_legal
from polygym.compiler.poly.schedule import Schedule
from polygym.cost import shipped
from polygym.cost.candidate import NAMES, features
from polygym.cost.chosen import ChosenModel
from polygym.cost.loop_tree import Forest
from polygym.cost.model import Card
from polygym.episodes.episode import Episode
from polygym.episodes.policies import policy
from polygym.errors import InputError, LimitError
from polygym.search.explore import players
from polygym.search.explore.players import (
    HONEST,
    MODEL,
    TRIES,
    ByModel,
    check_player,
    episode_of,
    model_name,
    player,
    player_names,
    schedule_of,
)
from tests.search.explore.pretending import begun, pretended, resumed, setting

SIZES = {"n": 40}


@dataclass(frozen=True)
class OneColumn:
    """A model that likes what has more of one thing."""

    place: int

    @property
    def card(self) -> Card:
        return Card("one column", "rank", 0, 0, 0, 0)

    @property
    def wants_loops(self) -> bool:
        return False

    def scores(self, rows: np.ndarray, loops: Forest | None = None) -> np.ndarray:
        assert loops is None
        return rows[None, :, self.place]


@dataclass(frozen=True)
class MostLoops(OneColumn):
    """A model that looks at the loops, and likes to see many."""

    @property
    def wants_loops(self) -> bool:
        return True

    def scores(self, rows: np.ndarray, loops: Forest | None = None) -> np.ndarray:
        assert loops is not None
        return np.diff(loops.starts)[None, :].astype(float)


def by_model(name: str) -> ByModel:
    return ByModel(setting().subject.task, SIZES, DEFAULT, OneColumn(NAMES.index(name)))


@pytest.mark.parametrize("name", ["total_cycles", "total_traffic_15", "depth_sum"])
def test_the_first_in_rank_of_what_is_played(name: str) -> None:
    playing = by_model(name)
    task, place = playing.task, NAMES.index(name)
    for index in range(3):
        chosen = schedule_of(playing(5, index))
        assert isinstance(chosen, Schedule)
        seen = []
        for attempt in range(TRIES):
            found = schedule_of(playing._played(5, index, attempt))
            if isinstance(found, Schedule):
                legal = LegalSchedule(task.scop, found)
                seen.append((features(legal, DEFAULT, SIZES).vector[place], str(found)))
        best = max(score for score, _ in seen)
        assert (best, str(chosen)) in seen
        assert len({text for _, text in seen}) > 1


def test_a_model_that_looks_at_loops_is_shown_them() -> None:
    playing = replace(by_model("total_cycles"), model=MostLoops(0))
    chosen = schedule_of(playing(5, 0))
    assert isinstance(chosen, Schedule)
    counts = []
    for attempt in range(TRIES):
        found = schedule_of(playing._played(5, 0, attempt))
        if isinstance(found, Schedule):
            legal = LegalSchedule(playing.task.scop, found)
            counts.append((len(features(legal, DEFAULT, SIZES).loops), str(found)))
    assert (max(count for count, _ in counts), str(chosen)) in counts
    assert len({count for count, _ in counts}) > 1


def test_the_seed_and_the_number_say_all() -> None:
    whole = [by_model("total_cycles")(3, index).actions for index in range(4)]
    again = [by_model("total_cycles")(3, index).actions for index in (3, 2, 1, 0)]
    assert whole == again[::-1]
    assert whole != [by_model("total_cycles")(4, index).actions for index in range(4)]


def test_now_and_then_a_policy_plays_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> None:
        raise AssertionError("nothing is scored")

    monkeypatch.setattr(players, "features", none)
    assert by_model("total_cycles")(0, HONEST - 1).is_over


def test_where_no_schedule_has_features_the_first_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def beyond(*_: object) -> None:
        raise LimitError("isl takes too long")

    monkeypatch.setattr(players, "features", beyond)
    playing = by_model("total_cycles")
    assert playing(0, 0).actions == playing._played(0, 0, 0).actions


def test_episodes_without_a_schedule_are_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    playing = by_model("total_cycles")
    bad = schedule_of(playing(1, 0))

    def refused(episode: Episode) -> Schedule | str:
        found = schedule_of(episode)
        return "too large" if found == bad else found

    monkeypatch.setattr(players, "schedule_of", refused)
    other = schedule_of(playing(1, 0))
    assert isinstance(other, Schedule)
    assert other != bad
    assert is_legal(playing.task.scop, other)


def test_a_policy_plays_as_before() -> None:
    task = setting().subject.task
    playing = player("uniform", task, SIZES, DEFAULT)
    assert playing(2, 6) == episode_of(task, policy("uniform"), 2, 6)


def test_names() -> None:
    assert player_names()[-1] == MODEL
    with pytest.raises(InputError, match=r"expected one of uniform, .*, model, found 'nobody'"):
        check_player("nobody")
    with pytest.raises(InputError, match="expected one of uniform"):
        setting(policy="nobody")
    check_player(model_name())
    with pytest.raises(InputError, match="the model that is here, found model@0123"):
        check_player("model@0123")


def test_a_package_without_a_model_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shipped, "path", lambda *_: None)
    with pytest.raises(InputError, match="expected a model that comes with polygym"):
        check_player(MODEL)
    shipped.digest.cache_clear()  # it may have looked meanwhile


def test_a_search_goes_on_with_the_same_model_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = begun(tmp_path, setting(policy=MODEL))
    first = [event.episode.actions for event in search.run(2, pretended)]
    search.close()
    search = resumed(tmp_path, setting(policy=MODEL))
    both = first + [event.episode.actions for event in search.run(3, pretended)]
    search.close()
    (tmp_path / "whole").mkdir()
    whole = begun(tmp_path / "whole", setting(policy=MODEL))
    assert both == [event.episode.actions for event in whole.run(3, pretended)]
    whole.close()
    monkeypatch.setattr(ChosenModel, "digest", "another one")
    with pytest.raises(InputError, match=r"model: [0-9a-f]{12} before, another one now"):
        resumed(tmp_path, setting(policy=MODEL))
