"""Zero-shot play: who plays how often, what is refused, what the table says, by hand."""

from __future__ import annotations

import json
import math
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from polygym.agents.experiments.experiment import Experiment
from polygym.agents.trainers.training import train_experiment, trained_models
from tests.agents.conftest import trained_experiment  # noqa: F401
from tests.agents.small_experiments import small
from tests.benchmarks.folder_commands import command

STUDY = command("zero_shot")


def run(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    monkeypatch.setattr(sys, "argv", ["zero_shot", *map(str, words)])
    return STUDY.main()


def test_report_by_hand() -> None:
    scores = {
        ("likeliest", 0): (1.0,),
        ("likeliest", 1): (4.0,),
        ("sampled", 0): (2.0, 3.0),
        ("sampled", 1): (3.0, 1.0),
        ("random", 0): (0.5, 1.0, 6.0),
        ("random", 1): (0.5, 0.25, 6.0),
        ("isl", 0): (4.0,),
        ("isl", 1): (4.0,),
    }
    rows = [STUDY.ZeroShotRow(agent, "atax", seed, own) for (agent, seed), own in scores.items()]
    lines = STUDY.report(rows, 2, 3).splitlines()
    assert lines[0] == (
        "| program | likeliest actions | best of 2 | random, best of 2 | random, best of 3 | isl |"
    )
    # The geometric mean of 1 and 4 is 2, that of 1 and 0.5 is 0.71.
    assert lines[2] == ("| atax | 2.00 (1.00 to 4.00) | 3.00 | 0.71 (0.50 to 1.00) | 6.00 | 4.00 |")
    assert (
        "| best of 2 over random, best of 2 | 4.50 (3.00 to 6.00) | 1.00 (1.00 to 1.00) | 1 of 1 |"
        in lines
    )
    assert "| best of 2 over isl | 0.75 (0.75 to 0.75) | 0.00 (0.00 to 0.00) | 0 of 1 |" in lines


def test_static_scores_are_kept_and_the_same_again(
    tmp_path: Path,
    trained_experiment: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ("--kernels", "atax", "--samples", 2, "--random", 3)
    tables = []
    for name in ("first", "second"):
        assert run(monkeypatch, trained_experiment, *words, "--out", tmp_path / name) == 0
        tables.append(capsys.readouterr().out)
    assert tables[0] == tables[1]
    kept = json.loads((tmp_path / "first" / "zero-shot.json").read_text())
    counts = {(row["agent"], row["seed"]): len(row["scores"]) for row in kept}
    wanted = {"likeliest": 1, "sampled": 2, "bias_coeff_0": 3, "uniform": 3}
    assert counts == {(agent, seed): wanted[agent] for agent in wanted for seed in (5, 6)}
    played = []
    monkeypatch.setattr(STUDY, "play_kernel", lambda *given: played.append(given) or [])
    assert run(monkeypatch, trained_experiment, *words, "--out", tmp_path / "first") == 0
    assert played == []
    more = ("--kernels", "atax", "--samples", 4, "--random", 3, "--out", tmp_path / "first")
    run(monkeypatch, trained_experiment, *more)
    assert len(played) == 1  # two episodes of each are not enough any more


def test_optimize_has_isl_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("lightgbm")
    document = small(kernels="mvt", seeds=[0], evaluation=None, network="sets")
    arguments = {
        "reward": "log_model", "dataset": "mini", "start": "original", "adopt": False,
        "mapping": "sequential",
    }  # fmt: skip
    experiment: Experiment = replace(
        document, environment="polygym/Optimize-v0", arguments=arguments, steps=64
    )
    train_experiment(experiment, tmp_path / "runs", lambda text: None)
    words = ("--kernels", "atax", "--samples", 1, "--random", 2, "--out", tmp_path / "zero")
    assert run(monkeypatch, tmp_path / "runs", *words) == 0
    assert "| isl |" in capsys.readouterr().out
    kept = json.loads((tmp_path / "zero" / "zero-shot.json").read_text())
    scores = {row["agent"]: row["scores"] for row in kept}
    assert set(scores) == {"likeliest", "sampled", "random", "search", "isl"}
    assert len(scores["search"]) == 2
    assert scores["search"][0] == 1.0  # no decisions: the original order
    assert all(math.exp(-2.31) <= score <= 1000 for own in scores.values() for score in own)


def test_seeds_of_two_folders_count_as_one(tmp_path: Path, trained_experiment: Path) -> None:  # noqa: F811
    other = tmp_path / "other"
    shutil.copytree(trained_experiment, other)
    with pytest.raises(STUDY.InputError, match="expected other seeds, found"):
        STUDY.read_trainings([trained_experiment, other])
    experiment, models = trained_models(trained_experiment)
    assert STUDY.read_trainings([trained_experiment])[1] == models
    assert experiment.environment == "polygym/Schedule-v0"


def test_programs_of_the_training_are_refused(
    tmp_path: Path,
    trained_experiment: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(monkeypatch, trained_experiment, "--kernels", "mvt,atax", "--out", tmp_path) == 2
    assert "expected none of the training, found mvt" in capsys.readouterr().err
