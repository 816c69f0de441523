"""The leaderboard: who plays, that it is played once, and what its tables say, by hand."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import leaderboard
import pytest
from leaderboard_study.agents import best_of

from polygym.cli import dispatch

ROW: dict[str, Any] = {
    "agent": "some", "kernel": "mvt", "seed": 0, "budget": 1, "over_isl": 2.0, "isl": 3.0,
    "dataset": "mini", "threads": 1, "machine": "", "wrong": 0,
}  # fmt: skip


def run(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    monkeypatch.setattr(sys, "argv", ["leaderboard.py", *map(str, words)])
    return leaderboard.main()


def test_tables_by_hand() -> None:
    rows = [ROW, ROW | {"seed": 1, "over_isl": 0.5}, ROW | {"kernel": "lu", "over_isl": 0.25}]
    # mvt counts as 1, so both together as the root of a quarter.
    assert leaderboard.table(rows).splitlines()[2].startswith("| some | 1 | 2 | 2 | 0.50 |")
    assert leaderboard.table(rows).endswith("| 0.25 |")
    assert "| lu | 0.25 |" in leaderboard.by_kernel(rows)
    assert "| mvt | 1.00 |" in leaderboard.by_kernel(rows)


def test_whoever_plays_has_a_row_and_plays_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("lightgbm")
    pytest.importorskip("sb3_contrib")
    file = tmp_path / "some.yaml"
    file.write_text(
        "polygym/Schedule-v0:\n  kernels: mvt\n  steps: 32\n  every: 32\n  network: mlp\n"
        "  arguments: {reward: static}\n  hyperparameters: {n_steps: 32, batch_size: 32}\n"
        "  seeds: [4]\n"
    )
    trained = tmp_path / "trained"
    assert dispatch.run(["train", str(file), "--out", str(trained)]) == 0
    words = (
        "bias_coeff_0", "annealing", "rollouts", trained, "--kernels", "mvt", "--budget", 2,
        "--seeds", 1, "--dataset", "mini", "--threads", 1, "--out", tmp_path / "board",
    )  # fmt: skip
    monkeypatch.setenv("POLYGYM_CACHE", "off")
    assert run(monkeypatch, *words) == 0
    lines = (tmp_path / "board" / "leaderboard.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    assert [row["agent"] for row in rows] == ["bias_coeff_0", "annealing", "rollouts", str(trained)]
    assert [row["seed"] for row in rows] == [0, 0, 0, 4]
    assert all(row["over_isl"] > 0.1 and row["wrong"] == 0 for row in rows)
    assert run(monkeypatch, *words) == 0
    assert (tmp_path / "board" / "leaderboard.jsonl").read_text().splitlines() == lines
    others = [words[0], *words[4:-1], tmp_path / "board", "--dataset", "small"]
    capsys.readouterr()
    assert run(monkeypatch, *others) == 0
    *_, last = (tmp_path / "board" / "leaderboard.jsonl").read_text().splitlines()
    row = json.loads(last)
    assert (row["agent"], row["dataset"]) == ("bias_coeff_0", "small")
    said = capsys.readouterr().out
    assert "rollouts" not in said  # whose row is of other sizes
    assert f"| {row['over_isl']:.2f} |" in said


def test_the_automatic_schedule_is_nobodys() -> None:
    own = {"source": "uniform#3", "speedup_over_isl": 0.5}
    auto = {"source": "auto", "speedup_over_isl": 4.0}
    assert best_of([auto, own, {"source": "uniform#1", "speedup_over_isl": None}]) == 0.5
    assert best_of([auto]) is None


def test_who_is_nobody_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "nobody", "--out", tmp_path) == 2
    assert "expected one of uniform" in capsys.readouterr().err


def test_who_has_learned_from_a_kernel_for_tests_does_not_play_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("sb3_contrib")
    file = tmp_path / "some.yaml"
    file.write_text(
        "polygym/Schedule-v0:\n  kernels: mvt, bicg\n  steps: 16\n  every: 16\n  network: mlp\n"
        "  arguments: {reward: static}\n  hyperparameters: {n_steps: 16, batch_size: 16}\n"
    )
    trained = tmp_path / "trained"
    assert dispatch.run(["train", str(file), "--out", str(trained)]) == 0
    capsys.readouterr()
    words = (
        trained, "--seeds", 1, "--dataset", "mini", "--threads", 1, "--out", tmp_path / "board",
    )  # fmt: skip
    assert run(monkeypatch, *words) == 2  # on split:test
    assert f"{trained}: expected an agent that has not learned" in capsys.readouterr().err
    assert run(monkeypatch, *words, "--kernels", "mvt, bicg") == 2
    assert capsys.readouterr().err.strip().endswith("found one that has from bicg")
    assert run(monkeypatch, *words, "--kernels", "trmm", "--report") == 0
    assert not (tmp_path / "board" / "leaderboard.jsonl").exists()
