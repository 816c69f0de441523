"""Policies of ``polygym/Saturate-v0``: trained from YAML, resumed bit for bit, refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from polygym.agents.evaluation.agent_sources import policies_of_agent
from polygym.agents.experiments.environments import make_env
from polygym.agents.experiments.experiment import SATURATE
from polygym.agents.experiments.models import load_model
from polygym.agents.experiments.reading import parse_experiment
from polygym.agents.policies.env_policy import run_episode
from polygym.agents.policies.trained_network import TrainedPolicy
from polygym.agents.trainers.training import train_experiment, trained_models
from polygym.agents.trainers.training_tables import read_rows
from polygym.errors import InputError
from tests.agents.small_experiments import weights


def document(**entries: Any) -> dict[str, Any]:
    own = {
        "kernels": "random:6, vgg19:bias",
        "steps": 64,
        "every": 32,
        "arguments": {"max_growth": 3, "max_steps": 6},
        "hyperparameters": {"n_steps": 16, "batch_size": 16, "n_epochs": 1},
        "wrappers": ["RandomOrderKernels"],
        "evaluation": {"kernels": "vgg19"},
        "n_envs": 2,
        **entries,
    }
    return {SATURATE: own}


def test_a_training_that_goes_on_ends_with_the_same_weights(tmp_path: Path) -> None:
    whole = parse_experiment(document(), "x.yaml")
    train_experiment(whole, tmp_path / "whole", lambda _: None)

    class Stopped(Exception):
        pass

    def stop(_: str) -> None:
        raise Stopped

    with pytest.raises(Stopped):
        train_experiment(whole, tmp_path / "parts", stop)
    train_experiment(whole, tmp_path / "parts", lambda _: None, resume=True)
    first, second = (
        weights(tmp_path / name / "seed-0" / "model.zip") for name in ("whole", "parts")
    )
    assert first == second
    played = read_rows(tmp_path / "whole" / "seed-0" / "episodes.csv")
    assert {row["kernel"] for row in played} == {"random:6", "vgg19:bias"}
    shown = read_rows(tmp_path / "whole" / "seed-0" / "evaluations.csv")
    assert [(row["steps"], row["kernel"]) for row in shown] == [("32", "vgg19"), ("64", "vgg19")]
    assert all(float(row["speedup"]) >= 1.0 for row in shown)
    experiment, models = trained_models(tmp_path / "whole")
    policy = TrainedPolicy(load_model("maskable-ppo", models[0]))
    ending = run_episode(make_env(experiment, "bert"), policy, seed=0)
    assert ending.info["graph"] == "bert"
    assert ending.info["status"] in ("greedy", "optimal", "bounded")
    with pytest.raises(InputError, match="expected a policy for programs, found one of graphs"):
        policies_of_agent(str(tmp_path / "whole"), SATURATE, None)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"kernels": "bert:tiny"}, r"Saturate-v0.kernels: bert:tiny: expected bert with"),
        ({"kernels": "gemm"}, r"Saturate-v0.kernels: graph: expected the path"),
        ({"network": "sets"}, r"Saturate-v0.network: expected one of mlp, found 'sets'"),
        ({"algorithm": "cloning", "n_envs": 1}, "algorithm: expected maskable-ppo, ppo, a2c for"),
        ({"arguments": {"graph": "bert"}}, "the entry graph stands elsewhere"),
        ({"arguments": {"max_growth": -1}}, "max_growth: expected a number from 0 on"),
    ],
)
def test_entries_that_make_no_sense_are_refused(entries: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_experiment(document(**entries), "x.yaml")
