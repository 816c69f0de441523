"""Experiments are checked to the last key, whose mistakes are said by their place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from polygym.agents.experiments.environments import selected_subjects
from polygym.agents.experiments.experiment import SATURATE
from polygym.agents.experiments.reading import parse_experiment, read_experiment
from polygym.agents.experiments.rewrite_terms import REWRITE, programs_of_selection
from polygym.agents.experiments.splits import selected_kernels
from polygym.agents.experiments.yaml_documents import load_yaml
from polygym.errors import InputError
from polygym.search.corpus.program_choice import TEST_KERNELS
from tests.agents.small_experiments import document, small

CONFIGS = sorted(Path("configs").glob("*.yaml"))


@pytest.mark.parametrize("file", CONFIGS, ids=lambda file: file.stem)
def test_what_comes_with_polygym_can_be_read_and_learns_from_no_test_kernel(file: Path) -> None:
    experiment = read_experiment(file)
    assert (
        parse_experiment(yaml.safe_load(yaml.safe_dump(experiment.document())), "again")
        == experiment
    )
    if experiment.environment == REWRITE:
        kinds = experiment.kernels, experiment.evaluation.kernels
        learned, asked = (
            {program.body for program in programs_of_selection(kind)} for kind in kinds
        )
        assert not learned & asked
        return
    if experiment.environment == SATURATE:
        assert selected_subjects(SATURATE, experiment.kernels)
        return
    assert not set(TEST_KERNELS) & set(selected_kernels(experiment.kernels))
    if experiment.evaluation.kernels:
        assert not set(TEST_KERNELS) & set(selected_kernels(experiment.evaluation.kernels))


def test_there_are_some() -> None:
    assert len(CONFIGS) >= 2


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ({"kernels": None}, "the entry kernels is missing"),
        ({"steps": None}, "the entry steps is missing"),
        ({"kernels": "gem"}, "x.yaml: polygym/Schedule-v0.kernels: .*gem"),
        ({"kernels": "split:tests"}, "expected one of split:train, split:test"),
        ({"kernels": 3}, "kernels: expected a selection of kernels, found 3"),
        ({"steps": 0}, "steps: expected a whole number from 1 on, found 0"),
        ({"steps": True}, "steps: expected a whole number from 1 on"),
        ({"stops": 3}, r"stops: expected one of kernels, steps, .*found stops"),
        ({"algorithm": "sac"}, "algorithm: expected one of maskable-ppo, ppo, a2c, dqn"),
        ({"network": "gnn"}, "network: expected one of sets, mlp, found 'gnn'"),
        ({"arguments": {"reward": "time"}}, "arguments: reward: expected one of"),
        ({"arguments": {"rewards": "static"}}, "arguments: unknown: 'rewards'$"),
        ({"arguments": {"kernel": "mvt"}}, "arguments: the entry kernel stands elsewhere"),
        ({"arguments": ["a"]}, "arguments: expected entries by their names"),
        ({"wrappers": ["Cycle"]}, "wrappers: expected one of CycleKernels"),
        ({"wrappers": [{"CycleKernels": {"a": 1}}]}, "wrappers.CycleKernels.a: expected one of"),
        (
            {"wrappers": [{"CurriculumByDepth": {"episodes": 0}}]},
            "x.yaml: polygym/Schedule-v0.wrappers: episodes: expected a number",
        ),
        (
            {"wrappers": [{"RuntimePointEstimate": {"estimate": ["mean"]}}]},
            "wrappers: estimate: expected one of minimum, median, mean, found",
        ),
        ({"hyperparameters": {"gama": 1}}, r"hyperparameters.gama: expected one of learning_rate"),
        ({"hyperparameters": {"seed": 1}}, "hyperparameters.seed: expected one of"),
        ({"hyperparameters": {"device": "cpu"}}, "hyperparameters.device: expected one of"),
        ({"hyperparameters": {"n_steps": -4}}, "n_steps: expected a number from 1 on, found -4"),
        ({"hyperparameters": {"n_steps": 65}}, "no batch of one step, found 65 and 64"),
        ({"hyperparameters": {"batch_size": 1}}, "no batch of one step, found 2048 and 1"),
        ({"hyperparameters": {"policy_kwargs": {"x": 1}}}, "values that maskable-ppo takes.* 'x'"),
        (
            {"network": "sets", "hyperparameters": {"policy_kwargs": {"width": 0}}},
            "hyperparameters.policy_kwargs.width: expected a number from 1 on, found 0",
        ),
        ({"hyperparameters": {"n_epochs": 0}}, "n_epochs: expected a number from 1 on, found 0"),
        ({"hyperparameters": {"gamma": 9.9}}, "gamma: expected a number from 0 to 1, found 9.9"),
        ({"hyperparameters": {"ent_coef": float("nan")}}, "ent_coef: expected a number, found nan"),
        ({"hyperparameters": {"learning_rate": 0}}, "learning_rate: expected more than 0, found 0"),
        ({"hyperparameters": {"target_kl": "x"}}, "target_kl: expected more than 0, found 'x'"),
        ({"hyperparameters": {"target_kl": -1}}, "target_kl: expected more than 0, found -1"),
        (
            {"algorithm": "dqn", "hyperparameters": {"train_freq": 0}},
            "train_freq: expected a number from 1 on, found 0",
        ),
        ({"hyperparameters": {"batch_size": "a"}}, "batch_size: expected a value such as 64"),
        ({"hyperparameters": {"n_epochs": True}}, "n_epochs: expected a value such as 10"),
        (
            {
                "kernels": "mvt",
                "arguments": {"parameters": {"n": 30}},
                "evaluation": {"kernels": "gemm"},
            },
            "arguments: parameters: expected those of gemm",
        ),
        ({"evaluation": {"kernels": "mvt", "every": 3}}, "evaluation.every: expected one of"),
        ({"evaluation": {"kernels": 0}}, "evaluation.kernels: expected a selection of kernels"),
        ({"evaluation": {"kernels": {}}}, "evaluation.kernels: expected a selection of kernels"),
        ({"evaluation": {"kernels": "mvt", "episodes": 0}}, "evaluation.episodes: expected"),
        ({"seeds": []}, "seeds: expected different seeds in a list"),
        ({"seeds": [1, 1]}, "seeds: expected different seeds in a list"),
        ({"seeds": [-1]}, "seeds: expected a whole number from 0 on"),
        ({"algorithm": "dqn", "network": "sets", "hyperparameters": {}}, "expected mlp for dqn"),
    ],
)
def test_mistakes_are_said_by_their_place(entries: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        small(**entries)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "expected one environment at the top"),
        ("- a", "expected one environment at the top"),
        ("a: b: c", "expected YAML"),
        ("a: 2020-13-45", "expected YAML, found a value that is none"),
        ("a:\n  steps: 1\n  steps: 2\n", "line 3: expected steps once, found it twice"),
        ("a: {b: {c: 1, c: 1}}", "line 1: expected c once, found it twice"),
        ("polygym/Other-v0: {}", "expected one of polygym/Construct-v0"),
        ("polygym/Schedule-v0: 3", "expected entries by their names, found 3"),
        ("polygym/Schedule-v0: {3: 4}", "entries by their names, which are texts, found 3"),
    ],
)
def test_files_that_are_no_experiments(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(text)
    with pytest.raises(InputError, match=said):
        read_experiment(file)
    with pytest.raises(InputError, match="expected an experiment"):
        read_experiment(tmp_path / "other.yaml")


def test_entries_are_overridden(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(yaml.safe_dump(document()))
    experiment = read_experiment(file, ["steps=7", "hyperparameters.gamma=0.5", "seeds=[3, 4]"])
    assert (experiment.steps, experiment.seeds) == (7, (3, 4))
    assert experiment.hyperparameters == {**small().hyperparameters, "gamma": 0.5}
    assert (
        read_experiment(file, ["hyperparameters.learning_rate=3e-4"]).hyperparameters[
            "learning_rate"
        ]
        == 3e-4
    )
    for wrong in ("steps", "=3", "steps.x=3", "steps=[1", "evaluation={episodes: 1, episodes: 2}"):
        with pytest.raises(InputError, match="an override"):
            read_experiment(file, [wrong])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-4", 1e-4),
        ("3E5", 3e5),
        ("-2.5e+1", -25.0),
        ("1.e2", 100.0),
        ("1_000e1", 10000.0),
        ("7", 7),
        ("0.5", 0.5),
        (".inf", float("inf")),
        ("e4", "e4"),
        ("1e", "1e"),
        ("1e-4x", "1e-4x"),
        ("'1e-4'", "1e-4"),
        ("[1e1, a]", [10.0, "a"]),
        ("{a: 1e1, b: {a: 2}}", {"a": 10.0, "b": {"a": 2}}),
        ("{a: &x {c: 1}, b: {<<: *x, c: 2}}", {"a": {"c": 1}, "b": {"c": 2}}),
    ],
)
def test_numbers_are_what_they_look_like(text: str, value: object) -> None:
    loaded = load_yaml(text)
    assert loaded == value
    assert type(loaded) is type(value)
