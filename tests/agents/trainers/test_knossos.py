"""Value functions of terms are trained as other agents are: files, checkpoints, resuming."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from polygym.agents.experiments.experiment import Experiment
from polygym.agents.experiments.reading import parse_experiment, read_experiment
from polygym.agents.trainers.training import train_experiment
from polygym.agents.trainers.training_tables import read_rows
from polygym.cli import dispatch
from polygym.errors import InputError
from polygym.search.planning import PlanningLimits, search
from polygym.terms.learning.weights import ValueWeights, value_function_named
from polygym.terms.library import expressions
from polygym.terms.rewriter import TermSystem

ROOT = Path(__file__).parents[3]
ENTRIES: dict[str, Any] = {
    "kernels": "(mul (add x y) (add x y)), bootstrap",
    "arguments": {"max_steps": 5},
    "hyperparameters": {
        "states": 60, "expressions": 2, "updates": 3, "rounds": 1,
        "examples_per_search": 40, "replay_capacity": 3,
        "evaluation_states": 60,
    },
    "steps": 3,
    "evaluation": {"kernels": "(mul (add x y) (add x y))"},
}  # fmt: skip


def experiment(**changes: Any) -> Experiment:
    return parse_experiment({"polygym/Rewrite-v0": {**ENTRIES, **changes}}, "some.yaml")


def quiet(text: str) -> None:
    assert text


def test_the_configuration_that_is_shipped_is_read_and_written() -> None:
    shipped = read_experiment(ROOT / "configs" / "knossos_arithmetic.yaml")
    assert (shipped.algorithm, shipped.network, shipped.every) == ("knossos", "graph", 1)
    assert parse_experiment(yaml.safe_load(yaml.safe_dump(shipped.document())), "again") == shipped


@pytest.mark.parametrize("last_rate", [1.0, 0.1])
def test_what_was_interrupted_comes_to_the_same_weights(tmp_path: Path, last_rate: float) -> None:
    own = {**ENTRIES["hyperparameters"], "final_learning_rate": last_rate}
    begun = experiment(hyperparameters=own)
    train_experiment(begun, tmp_path / "whole", quiet)

    def end(text: str) -> None:
        raise KeyboardInterrupt(text)

    for number in range(3):
        with pytest.raises(KeyboardInterrupt):
            train_experiment(begun, tmp_path / "parts", end, resume=number > 0)
    train_experiment(begun, tmp_path / "parts", quiet, resume=True)
    whole, parts = (tmp_path / name / "seed-0" for name in ("whole", "parts"))
    weights, other = (ValueWeights.load(folder / "model.zip") for folder in (whole, parts))
    assert set(weights.network.weights) == set(other.network.weights)
    for name, array in weights.network.weights.items():
        np.testing.assert_array_equal(array, other.network.weights[name])
    for name in ("episodes.csv", "evaluations.csv"):
        assert read_rows(whole / name) == read_rows(parts / name)
    assert len(read_rows(whole / "evaluations.csv")) == 3
    assert weights.card.notes["epochs"] == 3
    assert not weights.extra_arrays
    assert (weights.card.seed, weights.card.programs) == (0, 9)
    assert np.abs(weights.network.weights["out.weight"]).max() > 0
    value = value_function_named(str(whole / "model.zip"))
    result = search(
        "astar", TermSystem(), expressions("test")[0].body, PlanningLimits(5, 60), value
    )
    assert result.cost <= result.initial_cost


def test_seeds_come_to_other_weights(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train_experiment(experiment(steps=1, seeds=[0, 1], evaluation={}), tmp_path / "a", quiet)
    weights, other = (
        ValueWeights.load(tmp_path / "a" / f"seed-{seed}" / "model.zip") for seed in (0, 1)
    )
    assert (weights.network.weights["out.weight"] != other.network.weights["out.weight"]).any()
    assert dispatch.run(["evaluate", str(tmp_path / "a"), "--programs", "gemm"]) == 2
    assert "polygym rewrite optimize --value-function" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"algorithm": "ppo"}, r"algorithm: expected 'knossos' for polygym/Rewrite-v0"),
        ({"network": "mlp"}, r"network: expected one of graph, found 'mlp'"),
        ({"teacher": "earliest"}, r"teacher: expected ''"),
        ({"kernels": "gemm, nothing"}, r"kernels: .*found 'nothing'"),
        ({"kernels": "(mul x"}, r"kernels: <term>"),
        ({"arguments": {"reward": "static"}}, r"arguments.reward: expected one of rules"),
        ({"arguments": {"rules": "none"}}, r"arguments: a set of rules: expected one of"),
        ({"arguments": {"max_steps": 0}}, r"arguments: a search's horizon: expected 1 or more"),
        ({"hyperparameters": {"gamma": 1}}, r"hyperparameters.gamma: expected one of"),
        ({"hyperparameters": {"states": 1.5}}, r"hyperparameters.states: expected a value such as"),
        ({"hyperparameters": {"states": 0}}, r"hyperparameters: states: expected a number from 1"),
        (
            {"hyperparameters": {"final_learning_rate": 0.0}},
            r"hyperparameters: final_learning_rate: .*more than",
        ),
        (
            {"hyperparameters": {"final_learning_rate": 2.0}},
            r"hyperparameters: final_learning_rate: expected a number",
        ),
        ({"hyperparameters": {"search": "dfs"}}, r"hyperparameters.search: expected one of astar"),
        ({"hyperparameters": {"width": 8}}, r"hyperparameters: a network's width: expected"),
        ({"hyperparameters": {"first_rules": "no"}}, r"hyperparameters: a set of rules: expected"),
        ({"evaluation": {"kernels": "test", "episodes": 2}}, r"evaluation.episodes: expected 1"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        experiment(**changes)


def test_schedules_are_not_for_this_algorithm() -> None:
    for entries, message in (
        ({"algorithm": "knossos"}, r"algorithm: expected another one than knossos"),
        ({"network": "graph"}, r"network: expected one of sets, mlp, found 'graph'"),
    ):
        data = {"polygym/Schedule-v0": {"kernels": "mvt", "steps": 1, **entries}}
        with pytest.raises(InputError, match=message):
            parse_experiment(data, "some.yaml")
