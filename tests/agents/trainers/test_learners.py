"""Cloning and expert iteration: what they learn from, and that they go on bit for bit."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from gymnasium import spaces

from polygym.agents.experiments.environments import make_env
from polygym.agents.experiments.experiment import Experiment
from polygym.agents.experiments.models import algorithm_class, new_model
from polygym.agents.experiments.options import CloningOptions
from polygym.agents.experiments.reading import parse_experiment, read_experiment
from polygym.agents.experiments.train_test_leakage import learned_from
from polygym.agents.policies.env_policy import inner_env, run_episode
from polygym.agents.policies.guide import NetworkGuide
from polygym.agents.policies.trained_network import TrainedPolicy
from polygym.agents.trainers.demonstrations import load_demonstrations
from polygym.agents.trainers.policy_dataset import PolicyDataset, fit_batch
from polygym.agents.trainers.search_demonstrations import search_programs
from polygym.agents.trainers.training import train_experiment, trained_models
from polygym.agents.trainers.training_tables import read_rows
from polygym.cli import dispatch
from polygym.envs.base import PolygymEnv
from polygym.errors import InputError
from polygym.mapping.machine import Machine
from polygym.mdp.observation.arrays import Observation
from polygym.mdp.policies.registry import POLICIES
from polygym.poly.scheduling.alternatives import alternative_schedules
from polygym.programs import load_program
from polygym.runtime.evaluation.fingerprint import machine_fingerprint
from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.search.corpus.rows import CaseVisit, CorpusCase, CorpusRow
from polygym.search.corpus.store import open_corpus
from tests.agents.killed_training import killed

EXPLORE, SCHEDULE = "polygym/Explore-v0", "polygym/Schedule-v0"
OPTIMIZE = "polygym/Optimize-v0"
TRANSFORM = "polygym/Transform-v0"
CLONING = {"algorithm": "cloning", "teacher": "earliest"}
ITERATION = {
    "algorithm": "expert-iteration",
    "hyperparameters": {"simulations": 3, "updates": 3, "batch_size": 16, "replay_size": 90},
}


def document(id: str = SCHEDULE, **entries: Any) -> dict[str, Any]:
    """Return a small experiment's document, some entries of it others; None leaves one out."""
    own = {
        "kernels": "mvt, trisolv",
        "steps": 192,
        "every": 64,
        "arguments": {"reward": "static", "dataset": "mini"},
        "evaluation": {"kernels": "mvt", "episodes": 1},
        "network": "mlp",
        **entries,
    }
    return {id: {name: value for name, value in own.items() if value is not None}}


def small(id: str = SCHEDULE, **entries: Any) -> Experiment:
    return parse_experiment(document(id, **entries), "x.yaml")


def weights(path: Path) -> dict[str, bytes]:
    model = algorithm_class("maskable-ppo").load(path, device="cpu")
    return {name: value.numpy().tobytes() for name, value in model.policy.state_dict().items()}


def quiet(text: str) -> None:
    """Say nothing."""


# Files


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        (
            {"algorithm": "cloning"},
            "Schedule-v0: the entry teacher is missing, which cloning needs",
        ),
        ({"teacher": "greedy"}, "teacher: expected none for maskable-ppo, only cloning has one"),
        ({**ITERATION, "teacher": "corpus"}, "teacher: expected none for expert-iteration"),
        ({**CLONING, "teacher": "erliest"}, "teacher: expected a rule .uniform, .*found 'erliest'"),
        ({**CLONING, "teacher": 3}, "teacher: expected a rule"),
        ({**CLONING, "teacher": "corpus"}, "teacher: expected polygym/Optimize-v0 with a start"),
        ({**CLONING, "teacher": "search"}, "teacher: expected polygym/Optimize-v0 with a start"),
        ({**CLONING, "kernels": "mvt, lu"}, "kernels: expected none of the kernels for tests.* lu"),
        ({**CLONING, "n_envs": 2}, "n_envs: expected 1 for cloning, found 2"),
        ({"n_envs": 0}, "n_envs: expected a whole number from 1 on, found 0"),
        ({"initial": 3}, "initial: expected a text, found 3"),
        ({"initial": "x", "algorithm": "ppo"}, "initial: expected none but for maskable-ppo"),
        (
            {**CLONING, "hyperparameters": {"advantage_temperature": -1}},
            "hyperparameters.advantage_temperature: expected a number from 0 on, found -1",
        ),
        ({**CLONING, "hyperparameters": {"gamma": 1}}, "hyperparameters.gamma: expected one of"),
        (
            {**CLONING, "hyperparameters": {"batch_size": 0}},
            r"hyperparameters.batch_size: expected a number from 1 on, found 0",
        ),
        (
            {**CLONING, "hyperparameters": {"demonstrations": 0}},
            r"hyperparameters.demonstrations: expected a number from 1 on, found 0",
        ),
        (
            {**CLONING, "hyperparameters": {"learning_rate": 0}},
            r"hyperparameters.learning_rate: expected more than 0, found 0",
        ),
        (
            {**CLONING, "hyperparameters": {"policy_kwargs": {"widht": 3}}},
            r"hyperparameters: expected values that cloning takes: .*widht",
        ),
        (
            {**ITERATION, "hyperparameters": {"simulations": 1.5}},
            r"hyperparameters.simulations: expected a value such as 32, found 1.5",
        ),
        (
            {**ITERATION, "hyperparameters": {"simulations": 10**6}},
            r"hyperparameters.simulations: expected a number from 1 to 10000, found 1000000",
        ),
        (
            {**ITERATION, "hyperparameters": {"simulations": True}},
            r"hyperparameters.simulations: expected a value such as 32, found True",
        ),
        (
            {**ITERATION, "hyperparameters": {"noise": 1.5}},
            r"hyperparameters.noise: expected a number from 0 to 1, found 1.5",
        ),
        (
            {**ITERATION, "hyperparameters": {"temperature": float("nan")}},
            r"hyperparameters.temperature: expected a number from 0 on, found nan",
        ),
        (
            {**ITERATION, "hyperparameters": {"demonstrations": 3}},
            "demonstrations: expected one of",
        ),
        ({**ITERATION, "hyperparameters": {"policy_kwargs": 3}}, "policy_kwargs: expected"),
    ],
)
def test_mistakes_are_said_by_their_place(entries: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        small(**entries)


def test_an_initial_training_that_is_not_there(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(yaml.safe_dump(document(initial="nowhere")))
    said = r"initial: expected a training with a model of seed 0, found no file nowhere"
    with pytest.raises(InputError, match=said):
        read_experiment(file)
    with pytest.raises(InputError, match=said):
        train_experiment(small(initial="nowhere"), tmp_path / "out", quiet)


def test_a_corpus_that_is_not_there(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    arguments = {"reward": "static", "start": "isl"}
    own = document(OPTIMIZE, algorithm="cloning", teacher="none.sqlite", arguments=arguments)
    file.write_text(yaml.safe_dump(own))
    with pytest.raises(InputError, match=r"teacher: expected a corpus that is there, found"):
        read_experiment(file)


# Going on


@pytest.mark.parametrize("own", [CLONING, ITERATION], ids=["cloning", "iteration"])
def test_what_was_killed_goes_on_bit_for_bit(own: dict[str, Any], tmp_path: Path) -> None:
    given = document(EXPLORE, **own, wrappers=["RandomOrderKernels"], seeds=[5, 6])
    whole, folder, file = tmp_path / "whole", tmp_path / "out", tmp_path / "x.yaml"
    train_experiment(parse_experiment(given, "x"), whole, quiet)
    file.write_text(yaml.safe_dump(given))
    killed(file, folder, 5)
    assert not (folder / "seed-6" / "model.zip").exists()
    assert dispatch.run(["train", str(file), "--out", str(folder), "--resume"]) == 0
    for seed in (5, 6):
        path, other = (where / f"seed-{seed}" for where in (whole, folder))
        assert weights(path / "model.zip") == weights(other / "model.zip")
        for table in ("episodes.csv", "evaluations.csv"):
            assert (path / table).read_text() == (other / table).read_text()
        assert len(list(other.glob("replay-*"))) == (own is ITERATION)
    models = trained_models(folder)[1]
    assert weights(models[5]) != weights(models[6])


@pytest.mark.parametrize("own", [CLONING, ITERATION], ids=["cloning", "iteration"])
def test_what_was_interrupted_in_each_leg_goes_on_bit_for_bit(
    own: dict[str, Any], tmp_path: Path
) -> None:
    experiment = small(EXPLORE, **own, evaluation=None, network="sets", steps=96, every=32)
    train_experiment(experiment, tmp_path / "whole", quiet)

    def interrupt(text: str) -> None:
        raise KeyboardInterrupt

    legs = 0
    while not (tmp_path / "parts" / "seed-0" / "model.zip").exists():
        try:
            train_experiment(experiment, tmp_path / "parts", interrupt, resume=True)
        except KeyboardInterrupt:
            legs += 1
    assert legs >= 2
    path, other = (tmp_path / name / "seed-0" / "model.zip" for name in ("whole", "parts"))
    assert weights(path) == weights(other)


def test_episodes_of_an_iteration_are_counted(tmp_path: Path) -> None:
    train_experiment(small(EXPLORE, **ITERATION), tmp_path, quiet)
    rows = read_rows(tmp_path / "seed-0" / "episodes.csv")
    steps = 0
    for row in rows:
        steps += int(row["length"])
        assert int(row["steps"]) == steps
        assert 0 <= float(row["reward"]) <= 1
    (kept,) = (tmp_path / "seed-0").glob("replay-*.npz")
    assert kept.stem == f"replay-{steps}"
    assert 192 <= steps < 192 + 32
    replay = PolicyDataset(inner_env(make_env(small(EXPLORE))).observation_space, 90)
    replay.load(kept)
    assert 32 < len(replay) <= 90
    batch = replay.batch(range(len(replay)))
    assert np.allclose(batch.targets.sum(1), 1.0)
    assert not batch.targets[~batch.action_masks].any()
    assert (batch.action_masks.sum(1) > 1).all()
    (tmp_path / "seed-0" / "model.zip").unlink()
    kept.unlink()
    with pytest.raises(InputError, match=r"npz: expected what the checkpoint has learned from"):
        train_experiment(small(EXPLORE, **ITERATION), tmp_path, quiet, resume=True)


# What is learned


def test_a_clone_does_what_its_teacher_does(tmp_path: Path) -> None:
    experiment = small(**CLONING, steps=2048, every=2048, evaluation=None)
    train_experiment(experiment, tmp_path, quiet)
    shown = read_rows(tmp_path / "demonstrations.csv")
    assert [row["kernel"] for row in shown] == ["mvt", "trisolv"]
    model = algorithm_class("cloning").load(tmp_path / "seed-0" / "model.zip", device="cpu")
    for row in shown:
        env = make_env(experiment, row["kernel"])
        ending = run_episode(env, TrainedPolicy(model), seed=0)
        assert ending.reward == pytest.approx(float(row["reward"]), abs=1e-6)
        assert ending.steps == int(row["length"])
        env.reset(seed=0)
        own = inner_env(env)
        _, value = NetworkGuide(model, is_scaled=True)(own, own.episode)
        assert value == pytest.approx(np.log2(1 + ending.reward), abs=0.1)


def test_dice_play_as_many_episodes_as_are_wanted(tmp_path: Path) -> None:
    given = {**CLONING, "teacher": "uniform", "hyperparameters": {"demonstrations": 5}}
    experiment = small(**given)
    dataset = load_demonstrations(experiment, tmp_path)
    rows = read_rows(tmp_path / "demonstrations.csv")
    assert [row["kernel"] for row in rows] == ["mvt", "trisolv", "mvt", "trisolv", "mvt"]
    assert len(dataset) == sum(int(row["length"]) for row in rows)
    first = (tmp_path / "demonstrations.csv").read_text()
    (tmp_path / "demonstrations.npz").unlink()
    again = load_demonstrations(experiment, tmp_path)
    assert (tmp_path / "demonstrations.csv").read_text() == first
    kept = load_demonstrations(experiment, tmp_path)
    for policy_dataset in (again, kept):
        batches = [positions.batch(range(len(dataset))) for positions in (dataset, policy_dataset)]
        assert all(
            np.array_equal(batches[0].observations[name], batches[1].observations[name])
            for name in batches[0].observations
        )
        assert np.array_equal(batches[0].targets, batches[1].targets)
        assert np.array_equal(batches[0].value_targets, batches[1].value_targets)


def left_out(folder: Path) -> list[dict[str, str]]:
    with (folder / "left-out.csv").open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def test_a_rule_teaches_nothing_of_what_does_the_same_as_a_test_kernel(
    tmp_path: Path, capsys: Any
) -> None:
    given = {**CLONING, "kernels": "random:2, mvt", "arguments": {"reward": "static"}}
    load_demonstrations(small(**given), tmp_path)
    assert [row["kernel"] for row in read_rows(tmp_path / "demonstrations.csv")] == ["mvt"]
    (left,) = left_out(tmp_path)
    assert left == {
        "program": "random:2",
        "reason": "it does what one of the kernels for tests does",
    }
    assert "1 cases teach nothing" in capsys.readouterr().err
    (tmp_path / "demonstrations.npz").unlink()
    with pytest.raises(InputError, match="expected decisions to learn from, found none of uniform"):
        load_demonstrations(
            small(**{**given, "teacher": "uniform", "kernels": "random:2"}), tmp_path
        )


def corpus(path: Path) -> Path:
    """Write a corpus of three cases: one to learn from, one of a test kernel, one out of reach."""
    here = machine_fingerprint()
    with open_corpus(path, begin=True) as corpus_file:
        corpus_file.add_machine(here, Machine())
        for number, name in enumerate(("2mm", "bicg", "mvt")):
            program = load_program(name)
            schedules = list(alternative_schedules(program.scop).values())
            case = CorpusCase(name, program.parameters)
            place = corpus_file.begin(CaseVisit(case, number, 0, 2, here.key, 1e9))
            out_of_reach = [f"threads=2 tile={size}" for size in (5, 9, 11, 15)]
            mappings = [*out_of_reach, "threads=2 tile=8", "threads=2"]
            if name == "mvt":
                mappings = [*out_of_reach, "threads=2 tile=21"]
            for seconds, mapping in enumerate(mappings, start=1):
                text = str(schedules[-1])
                row = CorpusRow(text, mapping, mapping, OutcomeStatus.OK, float(seconds), 10.0)
                corpus_file.add(place, row)
            corpus_file.finish(place, 0.0)
    return path


@pytest.mark.parametrize(("reward", "paid"), [("static", None), ("speedup", 2.0)])
def test_the_best_of_a_corpus_that_can_be_reached_is_shown(
    reward: str, paid: float | None, tmp_path: Path
) -> None:
    file = corpus(tmp_path / "some.sqlite")
    experiment = small(
        OPTIMIZE,
        algorithm="cloning",
        teacher=str(file),
        network="sets",
        arguments={"reward": reward, "start": "isl", "features": False},
    )
    dataset = load_demonstrations(experiment, tmp_path)
    (row,) = read_rows(tmp_path / "demonstrations.csv")
    assert (row["kernel"], row["status"]) == ("2mm", "ok")
    assert len(dataset) == int(row["length"])
    (left,) = left_out(tmp_path)
    assert left == {"program": "mvt", "reason": "no episode leads to a row of it"}
    if paid is not None:
        assert float(row["reward"]) == paid
    batch = dataset.batch(range(len(dataset)))
    assert batch.action_masks[batch.targets == 1].all()


def test_a_corpus_with_nothing_to_learn_from_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "none.sqlite"
    with open_corpus(file, begin=True):
        pass
    experiment = small(OPTIMIZE, algorithm="cloning", teacher=str(file), arguments={"start": "isl"})
    with pytest.raises(InputError, match="teacher: expected decisions to learn from, found none"):
        train_experiment(experiment, tmp_path / "out", quiet)


def test_every_rule_may_teach() -> None:
    for name in POLICIES:
        assert small(**{**CLONING, "teacher": name}).teacher == name


# Parts


def test_positions_come_back_as_they_were(tmp_path: Path) -> None:
    space = spaces.Dict(
        {
            "a": spaces.Box(-9, 9, (3,), np.float32),
            "b": spaces.Box(-9, 9, (2,), np.int8),
        }
    )
    some, rng = PolicyDataset(space, 4), np.random.default_rng(0)
    shown = []
    for number in range(6):
        observation = {
            "a": rng.normal(size=3).astype(np.float32),
            "b": rng.integers(-2, 3, 2).astype(np.int8),
        }
        target = np.array([0.25, 0.75, 0.0])
        shown.append(observation)
        weight = 1.0 / (1 + number)
        some.extend([some.sample(observation, (True, True, False), target, number, weight)])
    assert len(some) == 4
    some.save(tmp_path / "kept.npz")
    again = PolicyDataset(space, 3)
    again.load(tmp_path / "kept.npz")
    assert len(again) == 3
    batch, same = some.batch([1, 3]), again.batch([0, 2])
    for policy_batch in (batch, same):
        assert policy_batch.value_targets.tolist() == [3.0, 5.0]
        assert policy_batch.weights.tolist() == pytest.approx([1 / 4, 1 / 6])
        assert policy_batch.targets.tolist() == [[0.25, 0.75, 0.0]] * 2
        assert policy_batch.action_masks.tolist() == [[True, True, False]] * 2
        for name in ("a", "b"):
            assert policy_batch.observations[name].dtype == space[name].dtype
            expected = np.stack([shown[number][name] for number in (3, 5)])
            assert np.array_equal(policy_batch.observations[name], expected)
    nothing = PolicyDataset(space)
    nothing.save(tmp_path / "nothing.npz")
    nothing.load(tmp_path / "nothing.npz")
    assert len(nothing) == 0


def untrained() -> tuple[Any, PolygymEnv, Observation, tuple[bool, ...]]:
    """Return a new model with an environment, what is seen first there, and what is allowed."""
    from stable_baselines3.common.vec_env import DummyVecEnv

    experiment = small(**CLONING)
    model = new_model(experiment, DummyVecEnv([lambda: make_env(experiment)]), 0)
    env = make_env(experiment)
    observation, _ = env.reset(seed=0)
    own = inner_env(env)
    return model, own, observation, own.allowed(own.episode)


def test_a_network_is_fitted_under_the_mask() -> None:
    model, own, observation, allowed = untrained()
    some = PolicyDataset(own.observation_space)
    target = np.array(allowed, float) / sum(allowed)
    some.extend([some.sample(observation, allowed, target, 2.0)] * 2)
    options = CloningOptions(learning_rate=1e-2)
    losses = [fit_batch(model, some.batch([0, 1]), options) for _ in range(60)]
    assert losses[0][0] >= np.log(sum(allowed)) - 1e-6
    assert losses[-1][0] == pytest.approx(np.log(sum(allowed)), abs=1e-2)
    assert losses[-1][1] < 0.1 < losses[0][1]


def test_positions_count_by_their_weights() -> None:
    model, own, observation, allowed = untrained()
    first, second, *_ = np.flatnonzero(allowed).tolist()
    some = PolicyDataset(own.observation_space)
    for action, weight in ((first, 3.0), (second, 1.0)):
        target = np.zeros(len(allowed))
        target[action] = 1.0
        some.extend([some.sample(observation, allowed, target, 0.0, weight)])
    for _ in range(200):
        fit_batch(model, some.batch([0, 1]), CloningOptions(learning_rate=1e-2))
    priors, _ = NetworkGuide(model, is_scaled=True)(own, own.episode)
    assert priors[first] == pytest.approx(0.75, abs=0.03)
    assert priors[second] == pytest.approx(0.25, abs=0.03)


# Searches teach


FROM_NOTHING = {
    "reward": "log_model", "start": "original", "adopt": False, "mapping": "sequential",
    "threads": 2, "dataset": "mini",
}  # fmt: skip
SEARCHING = {
    "algorithm": "cloning", "teacher": "search", "network": "sets", "evaluation": None,
    "kernels": "atax, tc:matmul", "arguments": FROM_NOTHING,
    "hyperparameters": {"trials": 40, "kept": 3, "advantage_temperature": 0.5},
}  # fmt: skip


TRANSFORMING = {
    "reward": "log_model", "threads": 2, "dataset": "mini", "max_steps": 3, "max_actions": 96,
}  # fmt: skip


@pytest.mark.parametrize(
    ("environment", "arguments"), [(OPTIMIZE, FROM_NOTHING), (TRANSFORM, TRANSFORMING)]
)
def test_a_search_teaches_the_best_that_it_finds(
    environment: str, arguments: dict[str, Any], tmp_path: Path
) -> None:
    pytest.importorskip("lightgbm")
    experiment = small(environment, **(SEARCHING | {"arguments": arguments}))
    dataset = load_demonstrations(experiment, tmp_path)
    rows = read_rows(tmp_path / "demonstrations.csv")
    assert len(dataset) == sum(int(row["length"]) for row in rows)
    found = dict(search_programs(experiment, ("atax", "tc:matmul"), tmp_path / "search.jsonl"))
    assert [row["kernel"] for row in rows] == [name for name in found for _ in found[name]]
    batch = dataset.batch(range(len(dataset)))
    weights_of_rows = []
    for name, episodes in found.items():
        rewards = [episode.reward for episode in episodes]
        assert rewards == sorted(rewards, reverse=True)
        env = make_env(experiment, name)
        for episode in episodes:
            weights_of_rows += [np.exp((episode.reward - rewards[0]) / 0.5)] * len(episode.actions)
            env.reset(seed=0)
            for action in episode.actions:
                assert env.unwrapped.action_masks()[action]
                *_, reward, terminated, _, _ = env.step(action)
            assert terminated
            assert reward == pytest.approx(episode.reward)
    assert batch.weights.tolist() == pytest.approx(weights_of_rows)
    assert batch.targets.argmax(1).tolist() == [
        action for episodes in found.values() for episode in episodes for action in episode.actions
    ]


def test_a_search_that_was_interrupted_goes_on(tmp_path: Path) -> None:
    pytest.importorskip("lightgbm")
    experiment, kernels = small(OPTIMIZE, **SEARCHING), ("atax", "tc:matmul")
    whole = dict(search_programs(experiment, kernels, tmp_path / "whole.jsonl"))
    lines = (tmp_path / "whole.jsonl").read_text().splitlines()
    first = next(line for line in lines if "atax" in line)
    partial = tmp_path / "partial.jsonl"
    partial.write_text(first + "\n" + lines[1][:9])
    assert dict(search_programs(experiment, kernels, partial)) == whole
    assert sorted(partial.read_text().splitlines()) == sorted(lines)
    partial.write_text(first + "\n{}\n")
    with pytest.raises(InputError, match=r"partial.jsonl:2: expected a program's episodes"):
        dict(search_programs(experiment, kernels, partial))


# Several environments, and networks to begin with


def test_several_environments_fill_a_rollout(tmp_path: Path) -> None:
    together = small(
        n_envs=3, wrappers=["RandomOrderKernels"], evaluation=None, steps=480, every=240,
        hyperparameters={"n_steps": 40, "batch_size": 24},
    )  # fmt: skip
    train_experiment(together, tmp_path / "whole", quiet)
    rows = read_rows(tmp_path / "whole" / "seed-0" / "episodes.csv")
    assert {row["kernel"] for row in rows} == {"mvt", "trisolv"}
    assert sum(int(row["length"]) for row in rows) <= 480

    def interrupt(text: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_experiment(together, tmp_path / "parts", interrupt)
    train_experiment(together, tmp_path / "parts", quiet, resume=True)
    path, other = (tmp_path / name / "seed-0" / "model.zip" for name in ("whole", "parts"))
    assert weights(path) == weights(other)


def test_a_training_begins_with_the_networks_of_another(tmp_path: Path) -> None:
    given = {"evaluation": None, "steps": 16, "every": 16, "seeds": [0, 1]}
    small_steps = {"n_steps": 16, "batch_size": 8, "learning_rate": 1e-12}
    train_experiment(small(**given, **CLONING), tmp_path / "cloned", quiet)
    cloned = str(tmp_path / "cloned")
    tuned = small(**given, initial=cloned, hyperparameters=small_steps)
    assert parse_experiment(tuned.document(), "x.yaml") == tuned
    train_experiment(tuned, tmp_path / "tuned", quiet)
    for seed in (0, 1):
        begin, end = (
            algorithm_class("maskable-ppo").load(where / f"seed-{seed}" / "model.zip")
            for where in (tmp_path / "cloned", tmp_path / "tuned")
        )
        for name, value in begin.policy.state_dict().items():
            assert np.allclose(value.numpy(), end.policy.state_dict()[name].numpy(), atol=1e-6)
    other = {"network": "sets", "hyperparameters": small_steps, "initial": cloned}
    with pytest.raises(InputError, match="expected a network of the form"):
        train_experiment(small(**given, **other), tmp_path / "other", quiet)


def test_what_initial_models_have_seen_counts(tmp_path: Path) -> None:
    given = {"evaluation": None, "steps": 16, "every": 16}
    own = {"hyperparameters": {"n_steps": 16, "batch_size": 8}}
    train_experiment(small(**given, **own, kernels="lu"), tmp_path / "seen", quiet)
    tuned = small(**given, **own, initial=str(tmp_path / "seen"))
    assert learned_from(tuned) == ("lu",)


def test_a_search_and_storage_are_refused_together() -> None:
    pytest.importorskip("lightgbm")
    arguments = {**FROM_NOTHING, "storage": True}
    with pytest.raises(InputError, match="teacher: expected arguments without storage"):
        small(OPTIMIZE, **{**SEARCHING, "arguments": arguments})


def test_positions_of_other_versions_are_refused(tmp_path: Path) -> None:
    space = spaces.Dict({"a": spaces.Box(-9, 9, (3,), np.float32)})
    PolicyDataset(space).save(tmp_path / "new.npz")
    with np.load(tmp_path / "new.npz") as archive:
        rest = {name: archive[name] for name in archive.files if name != "weights"}
    np.savez(tmp_path / "old.npz", **rest)
    with pytest.raises(InputError, match=r"old\.npz: expected positions of this version"):
        PolicyDataset(space).load(tmp_path / "old.npz")
