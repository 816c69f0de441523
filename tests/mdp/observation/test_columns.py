"""A column is one row: a throw-away one is in the arrays, the space and the documentation."""

from __future__ import annotations

from pathlib import Path

import pytest

from polygym.mdp.observation.arrays import Column, column_lines
from polygym.mdp.observation.episode_arrays import PROGRESS, REMAINING
from polygym.mdp.observation.mapping_arrays import CHOICES, NESTS, QUESTION
from polygym.mdp.observation.static_observation import DEPENDENCES, STATEMENTS
from polygym.mdp.observation.storage_arrays import STORAGE_CHOICES, STORAGE_QUESTION
from tests.patched_package import run_patched

ROW = """    _share(
        "steps_taken", "actions so far / 1000", lambda at: len(at.episode.actions) / 1000
    ),
"""
CHECK = """
import gymnasium
from polygym.mdp.observation.episode_arrays import PROGRESS_COLUMNS

env = gymnasium.make("polygym:polygym/Construct-v0", kernel="gemm", reward="static")
env.reset(seed=0)
observation, *_ = env.step(1)
place = PROGRESS_COLUMNS.index("steps_taken")
assert abs(observation["progress"][place] - 0.001) < 1e-6
assert env.observation_space["progress"].shape == (len(PROGRESS_COLUMNS),)
assert env.observation_space.contains(observation)
assert "| `steps_taken` | actions so far / 1000 |" in env.unwrapped.__doc__
assert f"`progress`, float32 ({len(PROGRESS_COLUMNS)},)" in env.unwrapped.__doc__
"""


@pytest.mark.always
def test_a_new_feature_is_a_row(tmp_path: Path) -> None:
    file, before = "mdp/observation/episode_arrays.py", ')\n"""The columns of ``progress``."""'
    run_patched(tmp_path, {file: (before, ROW + before)}, CHECK)


TABLES = {
    "progress": PROGRESS, "remaining": REMAINING, "dependences": DEPENDENCES,
    "statements": STATEMENTS, "question": QUESTION, "choices": CHOICES, "nests": NESTS,
    "storage_question": STORAGE_QUESTION, "storage_choices": STORAGE_CHOICES,
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_names_are_different_and_bounds_are_ranges(name: str) -> None:
    columns: tuple[Column, ...] = TABLES[name]
    assert len({column.name for column in columns}) == len(columns)
    assert all(column.low < column.high for column in columns)
    assert all(column.doc for column in columns)


def test_columns_with_one_meaning_share_a_line() -> None:
    lines = column_lines(STATEMENTS, "").splitlines()
    assert "| `loop_1_reads_far` … `loop_6_reads_far` | reads that move farther |" in lines
