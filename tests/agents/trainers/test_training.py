"""What was interrupted ends as if it had not been, and leaves models, tables and curves."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from polygym.agents.evaluation.agent_sources import policies_of_agent
from polygym.agents.trainers.training import (
    EPISODE_COLUMNS,
    EVALUATION_COLUMNS,
    train_experiment,
    trained_models,
)
from polygym.agents.trainers.training_tables import read_rows
from polygym.cli import dispatch
from polygym.errors import InputError, PolygymError
from tests.agents.killed_training import killed
from tests.agents.small_experiments import SCHEDULE, document, small, weights


def test_one_thread_of_pytorch_trains(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    before, seen = torch.get_num_threads(), list[int]()
    torch.set_num_threads(2)
    try:
        experiment = small(kernels="mvt", steps=64, every=64)
        train_experiment(experiment, tmp_path, lambda _: seen.append(torch.get_num_threads()))
        assert set(seen) == {1}
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_tensorboard_has_a_point_for_every_leg(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    train_experiment(small(kernels="mvt", steps=384, every=192), tmp_path, lambda _: None)
    boards = tmp_path / "seed-0" / "tensorboard"
    accumulator = EventAccumulator(str(boards / "intervals"))
    accumulator.Reload()
    shown = {name: accumulator.Scalars(name) for name in accumulator.Tags()["scalars"]}
    assert set(shown) == {
        "training/reward", "training/length", "training/steps a second", "evaluation/mvt"
    }  # fmt: skip
    rows = read_rows(tmp_path / "seed-0" / "evaluations.csv")
    # Intervals have files of their own, whose names order them only if they begin in other seconds.
    points = sorted(shown["evaluation/mvt"], key=lambda point: point.step)
    assert [point.step for point in points] == [192, 384]
    rewards = [float(row["reward"]) for row in rows]
    assert [point.value for point in points] == pytest.approx(rewards)
    (own,) = (path for path in boards.iterdir() if path.name != "intervals")
    losses = EventAccumulator(str(own))
    losses.Reload()
    assert "train/loss" in losses.Tags()["scalars"]


def test_a_training_leaves_models_and_tables(trained_experiment: Path) -> None:
    experiment, models = trained_models(trained_experiment)
    assert experiment == small(seeds=[5, 6])
    assert sorted(models) == [5, 6]
    assert weights(models[5]) != weights(models[6])
    for seed in (5, 6):
        episodes = read_rows(trained_experiment / f"seed-{seed}" / "episodes.csv")
        assert tuple(episodes[0]) == EPISODE_COLUMNS
        assert {row["kernel"] for row in episodes} <= {"mvt", "trisolv"}
        evaluated = read_rows(trained_experiment / f"seed-{seed}" / "evaluations.csv")
        assert tuple(evaluated[0]) == EVALUATION_COLUMNS
        assert [row["steps"] for row in evaluated] == ["64", "128", "192"]
        assert all(0 < float(row["reward"]) <= 1 for row in evaluated)


def test_what_was_interrupted_goes_on_bit_for_bit(trained_experiment: Path, tmp_path: Path) -> None:
    said = []

    def interrupt(text: str) -> None:
        said.append(text)
        if len(said) in (1, 3):
            raise KeyboardInterrupt

    experiment = small(seeds=[5, 6])
    for attempt in range(2):
        with pytest.raises(KeyboardInterrupt):
            train_experiment(experiment, tmp_path, interrupt, resume=attempt > 0)
        assert not (tmp_path / "seed-6" / "model.zip").exists()
    train_experiment(experiment, tmp_path, said.append, resume=True)
    for seed in (5, 6):
        path, other = (folder / f"seed-{seed}" for folder in (trained_experiment, tmp_path))
        assert weights(path / "model.zip") == weights(other / "model.zip")
        for table in ("episodes.csv", "evaluations.csv"):
            assert (path / table).read_text() == (other / table).read_text()
    train_experiment(experiment, tmp_path, said.append, resume=True)
    assert said[-2:] == ["seed 5: trained already", "seed 6: trained already"]


def test_what_was_killed_goes_on_bit_for_bit(trained_experiment: Path, tmp_path: Path) -> None:
    file, folder = tmp_path / "x.yaml", tmp_path / "out"
    file.write_text(yaml.safe_dump(document(seeds=[5, 6])))
    killed(file, folder, 5)
    assert dispatch.run(["train", str(file), "--out", str(folder)]) == 2
    assert dispatch.run(["train", str(file), "--out", str(folder), "--resume"]) == 0
    for seed in (5, 6):
        path, other = (where / f"seed-{seed}" for where in (trained_experiment, folder))
        assert weights(path / "model.zip") == weights(other / "model.zip")
        assert (path / "episodes.csv").read_text() == (other / "episodes.csv").read_text()


@pytest.mark.parametrize(
    ("wrapper", "order"),
    [
        ("CycleKernels", ["trisolv", "atax", "mvt"]),
        ({"CurriculumByDepth": {"episodes": 4}}, ["trisolv"]),
        ("RandomOrderKernels", None),
    ],
)
def test_kernels_go_on_from_leg_to_leg(
    wrapper: object, order: list[str] | None, tmp_path: Path
) -> None:
    own = {"wrappers": [wrapper], "steps": 1024, "every": 256, "seeds": [1], "evaluation": None}
    experiment = small(kernels="mvt, trisolv, atax", **own)
    train_experiment(experiment, tmp_path, lambda text: None)
    seen = [row["kernel"] for row in read_rows(tmp_path / "seed-1" / "episodes.csv")]
    assert len(seen) > 9
    if wrapper == "CycleKernels":
        assert order is not None
        assert seen == [order[k % 3] for k in range(len(seen))]
    elif order is None:
        whole = len(seen) // 3 * 3
        for first in range(0, whole, 3):
            assert sorted(seen[first : first + 3]) == ["atax", "mvt", "trisolv"]
    else:
        assert set(seen[:4]) == {seen[0]}
        assert len(set(seen)) > 1


def test_what_falls_with_the_progress_falls_over_the_whole_training(tmp_path: Path) -> None:
    from stable_baselines3 import DQN

    hyperparameters = {"buffer_size": 64, "learning_starts": 8, "exploration_fraction": 0.5}
    experiment = small(algorithm="dqn", hyperparameters=hyperparameters, steps=256, evaluation=None)
    rates = []

    def look(text: str) -> None:
        model = DQN.load(tmp_path / "seed-0" / "checkpoint.zip", device="cpu")
        rates.append(model.exploration_rate)
        assert len(list((tmp_path / "seed-0").glob("replay-*.npz"))) == 1

    train_experiment(experiment, tmp_path, look)
    assert rates == pytest.approx([0.525, 0.05, 0.05, 0.05], abs=0.02)


def test_dqn_keeps_the_steps_that_it_has_and_not_the_room_for_more(tmp_path: Path) -> None:
    hyperparameters = {"learning_starts": 8}  # with room for a million steps, 46 GB
    experiment = small(
        algorithm="dqn", hyperparameters=hyperparameters, steps=96, every=48, evaluation=None
    )
    sizes = []

    def look(text: str) -> None:
        (kept,) = (tmp_path / "seed-0").glob("replay-*.npz")
        sizes.append(kept.stat().st_size)
        if len(sizes) == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_experiment(experiment, tmp_path, look)
    train_experiment(experiment, tmp_path, look, resume=True)
    assert len(sizes) == 2
    assert max(sizes) < 2**21
    (kept,) = (tmp_path / "seed-0").glob("replay-*.npz")
    kept.unlink()
    (tmp_path / "seed-0" / "model.zip").unlink()
    with pytest.raises(
        InputError, match=r"replay-96.npz: expected what the checkpoint has learned"
    ):
        train_experiment(experiment, tmp_path, look, resume=True)


@pytest.mark.parametrize("contents", [b"", b"garbage", b"PK\x03\x04 cut off"])
def test_models_that_cannot_be_read_are_said(
    trained_experiment: Path, tmp_path: Path, contents: bytes
) -> None:
    folder = shutil.copytree(trained_experiment, tmp_path / "run")
    model, checkpoint = (folder / "seed-5" / name for name in ("model.zip", "checkpoint.zip"))
    model.write_bytes(contents)
    _, policies = policies_of_agent(str(folder), SCHEDULE, None)
    with pytest.raises(InputError, match=r"model.zip: expected a model of maskable-ppo, found: "):
        next(policies)
    model.unlink()
    checkpoint.write_bytes(contents)
    with pytest.raises(InputError, match=r"checkpoint.zip: expected a model of maskable-ppo"):
        train_experiment(small(seeds=[5, 6]), folder, lambda text: None, resume=True)


def test_a_table_that_is_another_one_is_said(trained_experiment: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(trained_experiment, tmp_path / "run")
    (folder / "seed-5" / "model.zip").unlink()
    for text in ("steps,kernel\nx,mvt\n", "kernel\nmvt\n"):
        (folder / "seed-5" / "episodes.csv").write_text(text)
        with pytest.raises(InputError, match=r"episodes.csv:2: expected steps, found"):
            train_experiment(small(seeds=[5, 6]), folder, lambda text: None, resume=True)


@pytest.mark.parametrize("text", ["", "{}", "[]", "a: 1\nb: 2\n"])
def test_folders_without_one_experiment_are_said(
    text: str, trained_experiment: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(trained_experiment, tmp_path / "run")
    (folder / "experiment.yaml").write_text(text)
    with pytest.raises(InputError, match=r"experiment.yaml: expected one environment at the top"):
        trained_models(folder)


def test_another_experiment_needs_another_folder(trained_experiment: Path) -> None:
    with pytest.raises(InputError, match="--resume goes on"):
        train_experiment(small(seeds=[5, 6]), trained_experiment, lambda text: None)
    with pytest.raises(InputError, match="found another one"):
        train_experiment(small(seeds=[5]), trained_experiment, lambda text: None, resume=True)


def test_nobody_trains_where_somebody_does(tmp_path: Path) -> None:
    def again(text: str) -> None:
        with pytest.raises(PolygymError, match="nobody else"):
            train_experiment(small(), tmp_path, lambda text: None, resume=True)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_experiment(small(), tmp_path, again)


@pytest.mark.parametrize(
    ("algorithm", "hyperparameters"),
    [
        ("ppo", {"n_steps": 16, "batch_size": 16}),
        ("a2c", {"n_steps": 8}),
        ("dqn", {"buffer_size": 64, "learning_starts": 8, "train_freq": 4}),
    ],
)
def test_other_algorithms_go_on_too(
    algorithm: str, hyperparameters: dict[str, Any], tmp_path: Path
) -> None:
    experiment = small(
        algorithm=algorithm, hyperparameters=hyperparameters, steps=128, evaluation=None
    )
    train_experiment(experiment, tmp_path / "whole", lambda text: None)

    def interrupt(text: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_experiment(experiment, tmp_path / "parts", interrupt)
    train_experiment(experiment, tmp_path / "parts", lambda text: None, resume=True)
    paths = [tmp_path / literal / "seed-0" / "model.zip" for literal in ("whole", "parts")]
    assert weights(paths[0], algorithm) == weights(paths[1], algorithm)


def test_the_command_says_what_is_wrong(tmp_path: Path, capsys: Any) -> None:
    assert dispatch.run(["train", str(tmp_path / "none.yaml"), "--out", str(tmp_path / "out")]) == 2
    assert "expected an experiment" in capsys.readouterr().err


def test_a_folder_that_cannot_be_is_said(tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(yaml.safe_dump(document()))
    assert dispatch.run(["train", str(file), "--out", str(file)]) == 2
    assert f"'{file}' is a file" in capsys.readouterr().err
