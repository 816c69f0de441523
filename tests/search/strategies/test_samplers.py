"""Who plays: a policy alone, or a model that takes the most promising of several episodes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polygym.cost.features.candidates.candidate_vector import FEATURE_NAMES, candidate_features
from polygym.cost.features.candidates.loop_tree import LoopForest
from polygym.cost.models import pretrained
from polygym.cost.models.cost_model import ModelCard
from polygym.cost.models.pretrained import ModelChoice
from polygym.errors import InputError, LimitError
from polygym.mapping.mapping import DEFAULT_MAPPING
from polygym.mdp.episode import Episode
from polygym.mdp.policies.registry import policy_named
from polygym.poly.legality import LegalSchedule, is_legal
from polygym.poly.schedule import Schedule
from polygym.search.folder import JOURNAL_FILE
from polygym.search.journal import read_journal
from polygym.search.strategies import samplers
from polygym.search.strategies.samplers import (
    GUIDED,
    TRIES,
    UNGUIDED_EVERY,
    ModelSampler,
    check_sampler,
    make_sampler,
    model_name,
    sample_episode,
    sampler_names,
    schedule_or_reason,
)
from tests.search.fakes import begin_fake, resume_fake, run_fake, setting

SIZES = {"n": 40}


@dataclass(frozen=True)
class OneColumn:
    """A model that likes what has more of one thing."""

    place: int

    @property
    def card(self) -> ModelCard:
        return ModelCard("one column", "rank", 0, 0, 0, 0)

    @property
    def wants_loops(self) -> bool:
        return False

    def scores(self, rows: np.ndarray, loops: LoopForest | None = None) -> np.ndarray:
        assert loops is None
        return rows[None, :, self.place]


@dataclass(frozen=True)
class MostLoops(OneColumn):
    """A model that looks at the loops, and likes to see many."""

    @property
    def wants_loops(self) -> bool:
        return True

    def scores(self, rows: np.ndarray, loops: LoopForest | None = None) -> np.ndarray:
        assert loops is not None
        return np.diff(loops.starts)[None, :].astype(float)


def by_model(name: str) -> ModelSampler:
    return ModelSampler(
        setting().subject.task, SIZES, DEFAULT_MAPPING, OneColumn(FEATURE_NAMES.index(name))
    )


@pytest.mark.parametrize("name", ["total_cycles", "total_traffic_15", "depth_sum"])
def test_the_first_in_rank_of_what_is_played(name: str) -> None:
    playing = by_model(name)
    task, place = playing.task, FEATURE_NAMES.index(name)
    for index in range(3):
        chosen = schedule_or_reason(playing(5, index))
        assert isinstance(chosen, Schedule)
        seen = []
        for attempt in range(TRIES):
            schedule = schedule_or_reason(playing._played(5, index, attempt))
            if isinstance(schedule, Schedule):
                legal = LegalSchedule(task.scop, schedule)
                seen.append(
                    (candidate_features(legal, DEFAULT_MAPPING, SIZES).vector[place], str(schedule))
                )
        best = max(score for score, _ in seen)
        assert (best, str(chosen)) in seen
        assert len({text for _, text in seen}) > 1


def test_a_model_that_looks_at_loops_is_shown_them() -> None:
    playing = replace(by_model("total_cycles"), model=MostLoops(0))
    chosen = schedule_or_reason(playing(5, 0))
    assert isinstance(chosen, Schedule)
    counts = []
    for attempt in range(TRIES):
        schedule = schedule_or_reason(playing._played(5, 0, attempt))
        if isinstance(schedule, Schedule):
            legal = LegalSchedule(playing.task.scop, schedule)
            counts.append(
                (len(candidate_features(legal, DEFAULT_MAPPING, SIZES).loop_tree), str(schedule))
            )
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

    monkeypatch.setattr(samplers, "candidate_features", none)
    assert by_model("total_cycles")(0, UNGUIDED_EVERY - 1).is_over


def test_where_no_schedule_has_features_the_first_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def beyond(*_: object) -> None:
        raise LimitError("isl takes too long")

    monkeypatch.setattr(samplers, "candidate_features", beyond)
    playing = by_model("total_cycles")
    assert playing(0, 0).actions == playing._played(0, 0, 0).actions


def test_episodes_without_a_schedule_are_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    playing = by_model("total_cycles")
    bad = schedule_or_reason(playing(1, 0))

    def refused(episode: Episode) -> Schedule | str:
        result = schedule_or_reason(episode)
        return "too large" if result == bad else result

    monkeypatch.setattr(samplers, "schedule_or_reason", refused)
    other = schedule_or_reason(playing(1, 0))
    assert isinstance(other, Schedule)
    assert other != bad
    assert is_legal(playing.task.scop, other)


def test_a_policy_plays_as_before() -> None:
    task = setting().subject.task
    playing = make_sampler("uniform", task, SIZES, DEFAULT_MAPPING)
    assert playing(2, 6) == sample_episode(task, policy_named("uniform"), 2, 6)


def test_names() -> None:
    assert sampler_names()[-1] == GUIDED
    with pytest.raises(
        InputError, match=r"expected one of uniform, .*, learned, guided, found 'nobody'"
    ):
        check_sampler("nobody")
    with pytest.raises(InputError, match="expected one of learned, uniform"):
        setting(policy="nobody")
    check_sampler(model_name())
    with pytest.raises(InputError, match="the model that is here, found guided@0123"):
        check_sampler("guided@0123")


def test_a_package_without_a_model_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(pretrained, "model_path", lambda *_: None)
    with pytest.raises(InputError, match="expected a model that comes with polygym"):
        check_sampler(GUIDED)
    pretrained.pretrained_digest.cache_clear()  # it may have looked meanwhile


def test_a_search_goes_on_with_the_same_model_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def actions(folder: Path) -> list[Any]:
        return [line["actions"] for line in read_journal(folder / JOURNAL_FILE).episodes]

    run_fake(begin_fake(tmp_path, setting(policy=GUIDED)), 2)
    run_fake(resume_fake(tmp_path, setting(policy=GUIDED)), 3)
    run_fake(begin_fake(tmp_path / "whole", setting(policy=GUIDED)), 3)
    assert actions(tmp_path) == actions(tmp_path / "whole")
    monkeypatch.setattr(ModelChoice, "digest", "another one")
    with pytest.raises(InputError, match=r"model: [0-9a-f]{12} before, another one now"):
        resume_fake(tmp_path, setting(policy=GUIDED))
