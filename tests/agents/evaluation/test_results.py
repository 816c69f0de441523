"""What agents did is written down, put beside each other, and played again."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from polygym.agents.evaluation import comparison
from polygym.agents.evaluation.results import EpisodeResultLine, read_results, write_results
from polygym.agents.trainers.training import train_experiment
from polygym.cli import dispatch
from polygym.errors import InputError
from polygym.mdp.env_ids import ENVIRONMENT_IDS, OPTIMIZE
from tests.agents.small_experiments import small

SMALL = ["--set", "dataset=mini"]


def result(
    agent: str, seed: int, kernel: str, reward: float, speedup: float = 0.0
) -> EpisodeResultLine:
    return EpisodeResultLine(agent, seed, kernel, 0, reward, speedup, "not measured", {})


# Writing them down


def test_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    result_lines = [result("a", 0, "mvt", 0.5), result("a", 1, "gemm", 1.0, 2.5)]
    write_results(tmp_path / "x.jsonl", result_lines)
    assert read_results(tmp_path / "x.jsonl") == result_lines


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"reward": "a"}, "x.jsonl:1: reward: expected float"),
        ({"reward": float("nan")}, "reward: expected float"),
        ({"reward": 10**400}, "reward: expected float"),
        ({"seed": True}, "seed: expected int"),
        ({"trained_on": 1}, "trained_on: expected bool"),
        ({"record": []}, "record: expected dict"),
        ({"more": 1}, "expected the entries agent, seed"),
    ],
)
def test_what_is_no_result_is_refused(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    data = {name: getattr(result("a", 0, "mvt", 0.5), name) for name in EpisodeResultLine.__slots__}
    file.write_text(json.dumps({**data, **change}) + "\n")
    with pytest.raises(InputError, match=said):
        read_results(file)
    for text in ("", "{", "[]\n"):
        file.write_text(text)
        with pytest.raises(InputError):
            read_results(file)
    with pytest.raises(InputError, match="expected results"):
        read_results(tmp_path / "none")


# Evaluating


def test_rules_act_and_their_results_hold(tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "x.jsonl"
    given = ["earliest", "--programs", "mvt,trisolv", *SMALL, "--out", str(file)]
    assert dispatch.run(["evaluate", *given]) == 0
    printed = capsys.readouterr().out
    assert printed.splitlines()[0].split() == ["kernel", "reward", "speedup", "status"]
    assert printed.splitlines()[-1].split()[0] == "all"
    assert [result_line.kernel for result_line in read_results(file)] == ["mvt", "trisolv"]
    assert dispatch.run(["validate", str(file)]) == 0
    assert "2 of 2 hold" in capsys.readouterr().out


def test_rules_that_roll_dice_have_seeds(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    given = ["uniform", "--programs", "mvt", "--seed-count", "3", "--episodes", "2", *SMALL]
    assert dispatch.run(["evaluate", *given, "--out", str(file)]) == 0
    result_lines = read_results(file)
    assert [(result_line.seed, result_line.episode) for result_line in result_lines] == [
        (seed, episode) for seed in range(3) for episode in range(2)
    ]
    assert len({episode_result_line.record["schedule"] for episode_result_line in result_lines}) > 1


def test_trained_agents_act(trained_experiment: Path, tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "x.jsonl"
    run = shutil.copytree(trained_experiment, tmp_path / "run")
    shutil.rmtree(run / "seed-6")
    given = [str(run), "--programs", "gemm", "--out", str(file)]
    assert dispatch.run(["evaluate", *given, "--set", "reward=speedup"]) == 0
    (result_line,) = read_results(file)
    assert result_line.status == "ok"
    assert result_line.speedup == pytest.approx(result_line.record["outcome"]["speedup"], abs=1e-5)
    assert dispatch.run(["validate", str(file), "--run", "--slack", "1000"]) == 0
    claim = replace(
        result_line, speedup=result_line.speedup * 1e6, reward=result_line.speedup * 1e6
    )
    outcome = claim.record["outcome"]
    outcome["speedup"] = claim.speedup
    write_results(file, [claim])
    assert dispatch.run(["validate", str(file)]) == 1  # that does not follow from the samples
    outcome["baseline_seconds"] *= 1e6
    outcome["baseline_samples"] = [1e6 * time for time in outcome["baseline_samples"]]
    write_results(file, [claim])
    assert dispatch.run(["validate", str(file)]) == 0  # it is only run where that is asked for
    assert dispatch.run(["validate", str(file), "--run"]) == 1
    assert "as claimed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["nobody", "--programs", "mvt"], "an agent: expected the folder of a training"),
        (["earliest", "--programs", "nothing"], "nothing"),
        (["earliest", "--programs", "mvt", "--set", "reward"], "--set: expected ARGUMENT=VALUE"),
        (["earliest", "--programs", "mvt", "--set", "reward=fast"], "reward: expected one of"),
        (["earliest", "--programs", "mvt", "--episodes", "0"], "'--episodes': expected a whole"),
        (["earliest", "--programs", "mvt", "--out", "none/x.jsonl"], "--out: expected a folder"),
        (["earliest", "--programs", "mvt", "--out", "tests"], "'tests' is a directory"),
    ],
)
def test_what_cannot_be_evaluated(given: list[str], said: str, capsys: Any) -> None:
    assert dispatch.run(["evaluate", *given]) == 2
    assert said in capsys.readouterr().err


# Playing them again


def test_claims_that_do_not_hold_are_found(tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "x.jsonl"
    assert (
        dispatch.run(["evaluate", "earliest", "--programs", "mvt", *SMALL, "--out", str(file)]) == 0
    )
    (result_line,) = read_results(file)
    for wrong in (
        replace(result_line, speedup=7.0),
        replace(result_line, reward=result_line.reward + 0.01),
        replace(result_line, kernel="gemm"),
        replace(result_line, status="ok"),
        replace(result_line, record={**result_line.record, "schedule": "{ S0[i, j] -> [i, j] }"}),
        replace(
            result_line,
            record={**result_line.record, "actions": [*result_line.record["actions"][:-1], 0]},
        ),
        replace(result_line, record={}),
    ):
        write_results(file, [result_line, wrong])
        assert dispatch.run(["validate", str(file)]) == 1
        assert "1 of 2 hold" in capsys.readouterr().out


def test_what_the_mask_forbids_is_counted_again(tmp_path: Path, capsys: Any) -> None:
    lines, rng = [], np.random.default_rng(0)
    for name in ENVIRONMENT_IDS:
        given = {"kernel": "jacobi-1d", "dataset": "mini", "reward": "static"}
        env: Any = gymnasium.make(f"polygym:{name}", **given)
        for number in range(4):
            _, info = env.reset(seed=number)
            total, over = 0.0, False
            while not over:
                wild = rng.random() < 0.3 * number
                places = (
                    np.arange(env.action_space.n) if wild else np.flatnonzero(info["action_mask"])
                )
                _, reward, over, _, info = env.step(int(rng.choice(places)))
                total += float(reward)
            record = env.unwrapped.export()
            lines.append(
                EpisodeResultLine(
                    name, 0, info["kernel"], number, round(total, 6), 0.0, info["status"], record
                )
            )
    assert {line.status for line in lines} >= {"not measured", "invalid"}
    write_results(tmp_path / "x.jsonl", lines)
    assert dispatch.run(["validate", str(tmp_path / "x.jsonl")]) == 0
    assert f"{len(lines)} of {len(lines)} hold" in capsys.readouterr().out
    write_results(tmp_path / "x.jsonl", [replace(line, reward=line.reward + 0.1) for line in lines])
    assert dispatch.run(["validate", str(tmp_path / "x.jsonl")]) == 1
    assert f"0 of {len(lines)} hold" in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["model", "log_model", "speedup", "log_speedup"])
def test_other_rewards_hold_too(kind: str, tmp_path: Path, capsys: Any) -> None:
    if kind.endswith("model"):
        pytest.importorskip("lightgbm")
    file = tmp_path / "x.jsonl"
    given = ["earliest", "--environment", OPTIMIZE, "--programs", "mvt", *SMALL]
    assert dispatch.run(["evaluate", *given, "--set", f"reward={kind}", "--out", str(file)]) == 0
    assert dispatch.run(["validate", str(file)]) == 0
    (result_line,) = read_results(file)
    write_results(file, [replace(result_line, reward=result_line.reward + 1.0)])
    assert dispatch.run(["validate", str(file)]) == 1
    assert "expected the reward" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"speedup": 7.0}, "expected the speedup of its samples"),
        ({"seconds": 7.0}, "expected the seconds of its samples"),
        ({"baseline_seconds": 7.0}, "expected the baseline_seconds of its samples"),
        ({"samples": []}, "expected samples, found none"),
        ({"baseline_samples": []}, "expected samples, found none"),
        ({"status": "timeout"}, "expected no samples of what has failed"),
        ({"status": "timeout", "samples": []}, "expected the speedup of its samples, 0, found"),
    ],
)
def test_an_outcome_is_that_of_its_samples(
    change: dict[str, Any], said: str, measured: EpisodeResultLine, tmp_path: Path, capsys: Any
) -> None:
    outcome = {**measured.record["outcome"], **change}
    claim = replace(
        measured,
        speedup=outcome["speedup"],
        status=outcome["status"],
        record={**measured.record, "outcome": outcome},
    )
    write_results(tmp_path / "x.jsonl", [claim])
    assert dispatch.run(["validate", str(tmp_path / "x.jsonl")]) == 1
    assert said in capsys.readouterr().out


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> EpisodeResultLine:
    file = tmp_path_factory.mktemp("measured") / "x.jsonl"
    given = ["earliest", "--programs", "mvt", *SMALL, "--set", "reward=speedup"]
    assert dispatch.run(["evaluate", *given, "--out", str(file)]) == 0
    assert dispatch.run(["validate", str(file)]) == 0
    return read_results(file)[0]


def test_another_program_is_not_the_one_that_was_acted_on(tmp_path: Path, capsys: Any) -> None:
    own, file = tmp_path / "own.c", tmp_path / "x.jsonl"
    loop = "for (int i = 0; i < n; i++) a[i] = a[i] %s;"
    text = f"void f(int n, double a[n]) {{\n#pragma scop\n{loop}\n#pragma endscop\n}}\n"
    own.write_text(text % "* 2.0")
    given = ["earliest", "--programs", str(own), "--set", "parameters=n=20", "--out", str(file)]
    assert dispatch.run(["evaluate", *given]) == 0
    assert dispatch.run(["validate", str(file)]) == 0
    own.write_text(text % "+ 2.0")
    capsys.readouterr()
    assert dispatch.run(["validate", str(file)]) == 1
    assert "expected the program of the record, found another text at" in capsys.readouterr().out


def test_records_of_other_versions_are_said(
    measured: EpisodeResultLine, tmp_path: Path, capsys: Any
) -> None:
    for change, said in (
        ({"version": 3}, "expected version 2 of the format, found 3"),
        ({"version": True}, "expected version 2 of the format, found True"),
        ({"format": "polygym search"}, "expected an episode"),
    ):
        write_results(
            tmp_path / "x.jsonl", [replace(measured, record={**measured.record, **change})]
        )
        assert dispatch.run(["validate", str(tmp_path / "x.jsonl")]) == 1
        assert said in capsys.readouterr().out


def test_another_estimate_of_the_time_holds(tmp_path: Path) -> None:
    wrappers = [{"RuntimePointEstimate": {"estimate": "mean"}}]
    train_experiment(
        small(steps=64, evaluation=None, wrappers=wrappers), tmp_path / "run", lambda text: None
    )
    file = tmp_path / "x.jsonl"
    given = [str(tmp_path / "run"), "--programs", "mvt", "--out", str(file)]
    assert dispatch.run(["evaluate", *given, "--set", "reward=speedup"]) == 0
    assert dispatch.run(["validate", str(file)]) == 0


def test_a_slack_that_makes_no_sense(tmp_path: Path, capsys: Any) -> None:
    for slack in ("nan", "0.5", "inf"):
        assert dispatch.run(["validate", str(tmp_path / "x.jsonl"), "--run", "--slack", slack]) == 2
        assert "'--slack'" in capsys.readouterr().err


# Putting them beside each other


def test_agents_beside_the_first_by_hand(tmp_path: Path, capsys: Any) -> None:
    result_lines = [
        *(result("one", seed, name, 1.0, 2.0) for seed in (0, 1) for name in ("mvt", "gemm")),
        *(result("two", seed, name, 2.0, 8.0) for seed in (0, 1) for name in ("mvt", "gemm")),
        result("two", 0, "lu", 50.0, 50.0),
        result("two", 1, "lu", 50.0, 50.0),
    ]
    agent, two = comparison.compare_agents(result_lines, "reward")
    assert (agent.seeds, agent.kernels) == (2, 2)
    assert agent.mean == (1.0, 1.0, 1.0)
    assert two.mean == (2.0, 2.0, 2.0)
    assert two.relative == (1.0, 1.0, 1.0)
    _, fast = comparison.compare_agents(result_lines, "speedup")
    assert fast.mean == pytest.approx((8.0, 8.0, 8.0))
    assert fast.relative == pytest.approx((4.0, 4.0, 4.0))
    write_results(tmp_path / "x.jsonl", result_lines)
    picture = tmp_path / "x.svg"
    given = [str(tmp_path / "x.jsonl"), "--by", "speedup", "--picture", str(picture)]
    assert dispatch.run(["compare", *given]) == 0
    assert "| two | 2 | 2 | 8.000 (8.000 to 8.000) | 4.000" in capsys.readouterr().out
    assert picture.read_text().startswith("<?xml")


def test_intervals_hold_the_mean_and_grow_with_the_noise() -> None:
    rng = np.random.default_rng(0)

    def some(noise: float) -> comparison.ComparedAgent:
        result_lines = [
            result("a", seed, name, 1.0 + noise * float(rng.normal()))
            for seed in range(5)
            for name in ("mvt", "gemm", "lu")
        ]
        (row,) = comparison.compare_agents(result_lines, "reward")
        return row

    quiet, loud = some(0.01), some(1.0)
    for row in (quiet, loud):
        middle, low, high = row.mean
        assert low < middle < high
    assert loud.mean[2] - loud.mean[1] > 10 * (quiet.mean[2] - quiet.mean[1])


def test_what_cannot_be_compared(tmp_path: Path, capsys: Any) -> None:
    write_results(tmp_path / "x.jsonl", [result("a", 0, "mvt", 1.0), result("b", 0, "lu", 1.0)])
    assert dispatch.run(["compare", str(tmp_path / "x.jsonl")]) == 2
    assert "kernels that all agents have" in capsys.readouterr().err
    result_lines = [
        result("a", 0, "mvt", 1.0),
        result("a", 1, "mvt", 1.0),
        result("a", 1, "lu", 1.0),
    ]
    with pytest.raises(InputError, match="a: expected lu of seed 0 too"):
        comparison.compare_agents(result_lines, "reward")
    with pytest.raises(
        InputError, match="a: expected episode 0 of mvt, seed 0, once, found it twice"
    ):
        comparison.compare_agents([result_lines[0], result_lines[0]], "reward")
    for name in ("x.nothing", "none/x.svg"):
        write_results(tmp_path / "y.jsonl", result_lines[:1])
        assert (
            dispatch.run(["compare", str(tmp_path / "y.jsonl"), "--picture", str(tmp_path / name)])
            == 2
        )
        assert capsys.readouterr().err.startswith("error: --picture: ")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"arguments": {"reward": "model", "threads": 1}}, "reward of a, static, found model"),
        ({"arguments": {"reward": "static", "threads": 2}}, "threads of a, 1, found 2"),
        ({"program": {"parameters": {"n": 5}}}, "parameters of a, {'n': 4}, found {'n': 5}"),
    ],
)
def test_what_was_asked_for_otherwise_is_not_compared(change: dict[str, Any], said: str) -> None:
    asked = {
        "arguments": {"reward": "static", "threads": 1}, "program": {"parameters": {"n": 4}}
    }  # fmt: skip
    result_line, other = (result(agent, 0, "mvt", 1.0) for agent in ("a", "b"))
    alike = [replace(result_line, record=asked), replace(other, record=asked)]
    assert len(comparison.compare_agents(alike, "reward")) == 2
    with pytest.raises(InputError, match=f"b: expected for mvt the {said}"):
        comparison.compare_agents([alike[0], replace(other, record={**asked, **change})], "reward")
