"""Random programs are programs like others: searched, replayed, tuned, by their names."""

from __future__ import annotations

import json
from pathlib import Path

import gymnasium
import pytest

import polygym
from tests.cli.invoke import call

SMALL = ("--dataset", "mini", "--threads", "1")


def test_a_random_program_is_searched_and_replayed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "found"
    words = ("optimize", "random:17", *SMALL, "--budget", "2", "--out", str(out))
    assert call(capsys, *words)[0] == 0
    assert call(capsys, *words, "--resume")[0] == 0
    best = out / "best.json"
    program = json.loads(best.read_text())["program"]
    assert program["target"] == program["file"] == "random:17"
    code, said, _ = call(capsys, "replay", str(best))
    assert code == 0
    assert "found now  ok" in said


def test_a_random_program_is_tuned(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ("--strategy", "random", "--budget", "2")
    assert call(capsys, "tune", "random:17", *SMALL, *words, "--out", str(tmp_path))[0] == 0


def test_an_environment_has_a_random_program() -> None:
    assert polygym.__version__
    env = gymnasium.make(
        "polygym:polygym/Schedule-v0", kernel="random:17", dataset="mini", reward="static"
    )
    _, info = env.reset(seed=1)
    over = False
    while not over:
        _, _, ended, cut, info = env.step(env.action_space.sample(info["action_mask"]))
        over = ended or cut
    assert info["schedule"]
    env.close()
