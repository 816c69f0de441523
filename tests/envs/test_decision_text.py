"""What is asked and decided in words: every answer has a meaning, the picture shows all of it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from polygym.envs import decision_text, render
from polygym.envs.optimize import OptimizeEnv
from polygym.mdp.editing import EDITS, EditKind
from polygym.mdp.mapping_decisions import ANSWERS, USE_DEFAULT, USE_DEFAULT_FOR_ALL
from polygym.mdp.task_options import Phase
from polygym.pictures.scenes import canvas
from polygym.poly.scheduling.alternatives import ALTERNATIVES
from tests.envs.episodes import make


def optimize(**arguments: Any) -> OptimizeEnv:
    given = {"kernel": "mvt", "threads": 2, "start": "isl", **arguments}
    env = make("polygym/Optimize-v0", features=False, **given)
    assert isinstance(env, OptimizeEnv)
    env.reset(seed=0)
    return env


def answer(env: OptimizeEnv, *texts: str) -> None:
    """Give answers by their meanings."""
    for text in texts:
        (number,) = (
            number for number, said, _ in decision_text.answer_texts(env.episode) if said == text
        )
        env.step(number)


def scenes_of(env: OptimizeEnv, monkeypatch: pytest.MonkeyPatch) -> list[canvas.Scene]:
    """Return where the scenes are kept that are drawn from now on."""
    scenes: list[canvas.Scene] = []
    drawn = canvas.render

    def keep(scene: canvas.Scene) -> Any:
        scenes.append(scene)
        return drawn(scene)

    monkeypatch.setattr(canvas, "render", keep)
    return scenes


def test_the_schedule_to_adopt_in_words() -> None:
    env = optimize()
    answer(env, "adopt")
    assert decision_text.question_text(env.episode) == "adopt: whose schedule"
    said = [text for _, text, _ in decision_text.answer_texts(env.episode)]
    assert said[2:] == [str(strategy) for strategy in ALTERNATIVES]
    assert "adopt: whose schedule" in render.episode_text(env.problem, env.episode, None)


def test_an_edit_in_words() -> None:
    env = optimize()
    assert decision_text.question_text(env.episode) == "which edit"
    said = [text for _, text, _ in decision_text.answer_texts(env.episode)]
    assert said == ["edit no more", "end, all as it is", *(edit.value for edit in EDITS)]
    answer(env, "coefficient", "row 2", "S1")
    assert decision_text.question_text(env.episode) == "coefficient row 2, S1: which iterator"
    assert [text for _, text, _ in decision_text.answer_texts(env.episode)][2:] == ["i", "j"]
    assert decision_text.decided_lines(env.episode) == (
        "0 edits, 3 steps",
        "begun: coefficient row 2, S1",
    )
    answer(env, "drop the edit", "split", "before row 1")
    assert decision_text.question_text(env.episode) == "split before row 1: how many statements"
    assert [text for _, text, _ in decision_text.answer_texts(env.episode)][2:] == [
        "the first 1 statement"
    ]
    answer(env, "drop the edit", "interchange", "row 2", "row 3")
    assert decision_text.decided_lines(env.episode) == ("1 edit, 10 steps",)
    assert "S0[i, j] → [1, j, i]" in decision_text.row_lines(env.episode.schedule())


def test_a_mapping_in_words() -> None:
    env = optimize()
    answer(env, "edit no more")
    assert decision_text.question_text(env.episode) == "scalar replacement"
    assert decision_text.decided_lines(env.episode) == ("0 edits, 0 steps",)
    answer(env, "off", "use default", "use default")
    assert decision_text.question_text(env.episode) == "parallel in the nest of S1"
    answer(env, "static", "without diamonds", "512 bits", "2 vectors together", "1 iteration")
    assert decision_text.question_text(env.episode) == "tile of loop 1 in the nest of S1"
    answer(env, "4", "whole")
    lines = decision_text.decided_lines(env.episode)
    assert "the program: scalar replacement off" in lines
    assert (
        "S1: parallel static, wavefront without diamonds, vector 512 bits, 2 vectors together, "
        "1 iteration, tile 4 x whole"
    ) in lines
    assert lines[-1] == "2 answers: use default"
    answer(env, "use default for everything else")
    assert env.episode.phase is Phase.COMPLETE
    assert decision_text.question_text(env.episode) == ""
    assert decision_text.answer_texts(env.episode) == ()


@pytest.mark.parametrize(("kernel", "start"), [("lu", "isl"), ("2mm", "isl"), ("mvt", None)])
def test_every_answer_that_is_allowed_has_a_meaning_of_its_own(
    kernel: str, start: str | None
) -> None:
    rng = np.random.default_rng(0)
    edits, subjects = set[EditKind](), set[str]()
    for _ in range(6):
        env = optimize(kernel=kernel, start=start)
        first = env.problem.options.first_answer
        while not env.episode.is_over:
            episode = env.episode
            said = decision_text.answer_texts(episode)
            allowed = np.flatnonzero(env.action_masks())
            meant = [number for number, _, can in said if can]
            assert meant == [number for number in allowed if number >= first]
            assert len({text for _, text, _ in said}) == len(said) <= ANSWERS
            if episode.edit_state is not None and episode.edit_state.edit is not None:
                edits.add(episode.edit_state.edit)
            if episode.phase is Phase.MAP:
                subjects.add(decision_text.question_text(episode).split()[0])
            last = first + USE_DEFAULT_FOR_ALL
            others = [
                number for number in allowed if number != last and number != first + USE_DEFAULT
            ]
            at_rest = episode.edit_state is None or episode.edit_state.step_count < 30
            env.step(int(rng.choice(others)) if others and at_rest else int(first + USE_DEFAULT))
    assert len(subjects) >= 8
    if start is not None:
        assert edits == set(EDITS)


def test_the_picture_shows_the_question_and_what_was_decided(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    env = optimize(render_mode="rgb_array")
    scenes = scenes_of(env, monkeypatch)
    frames = [env.render()]
    answer(env, "edit no more")
    frames.append(env.render())
    answer(env, "off")
    frames.append(env.render())
    answer(env, "use default for everything else")
    frames.append(env.render())
    for one, other in pairwise(frames):
        assert (one[360:] != other[360:]).any(), "the lower half tells states apart"
    headings = [[column.heading for column in scene.text_columns] for scene in scenes]
    assert headings == [
        ["which edit", "decided so far", "the schedule"],
        ["scalar replacement", "decided so far", "the schedule"],
        ["pack", "decided so far", "the schedule"],
        ["decided", "the schedule"],
    ]
    assert "the program: scalar replacement off" in [
        note.text for note in scenes[2].text_columns[1].entries
    ]
    first = scenes[0].text_columns[0].entries
    faint = [note.is_faint for note in first]
    allowed = [can for _, _, can in decision_text.answer_texts(optimize().episode)]
    assert faint == [not can for can in allowed]


def test_a_space_that_is_constructed_is_shown_by_its_dependences(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    env = optimize(start=None, render_mode="rgb_array", kernel="trisolv")
    scenes = scenes_of(env, monkeypatch)
    env.step(0)
    env.step(1)
    env.render()
    ((dependences, _),) = [scene.text_columns for scene in scenes]
    assert [note.is_highlighted for note in dependences.entries].count(True) == 1
    assert len(dependences.entries) == len(env.episode.task.rules.candidates)


def test_the_text_has_the_answers_that_are_allowed() -> None:
    env = optimize()
    text = render.episode_text(env.problem, env.episode, None)
    for number, said, can in decision_text.answer_texts(env.episode):
        assert (f"{number:3} {said}" in text) == can
