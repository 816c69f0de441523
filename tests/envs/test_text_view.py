"""``TextView``: texts as observations and actions, rewards as in the other environments."""

import copy
import math
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from polygym.envs import TextView
from polygym.errors import InputError
from polygym.mdp.rewards import ILLEGAL_ACTION_REWARD
from polygym.text_interface.transcripts import replay_transcript
from tests.envs.episodes import FINAL

KEYS = {
    "kernel": str,
    "line_status": str,
    "steps": tuple,
    "mapping": str,
    "splitting": str,
    "storage": str,
    "evaluations_left": int,
    **FINAL,
}


def made(kernel: str = "gemm", **arguments: Any) -> TextView:
    return TextView(kernel, **{"reward": "static", "dataset": "mini", **arguments})


def play(env: TextView, seed: int, lines: int = 8) -> list[tuple[str, float, bool]]:
    """Send random legal lines, then stop; return what came of them."""
    rng = np.random.default_rng(seed)
    env.reset(seed=seed)
    found = []
    over = False
    while not over:
        suggested = env.suggested_lines()
        line = "stop" if len(found) == lines else suggested[rng.integers(len(suggested))]
        observation, reward, over, truncated, info = env.step(line)
        assert info["line_status"] == "ok", line
        assert env.observation_space.contains(observation)
        assert env.action_space.contains(line)
        assert {key: type(value) for key, value in info.items()} == KEYS
        assert type(reward) is float
        assert truncated is False
        found.append((observation, reward, over))
    return found


def test_gymnasium_accepts_it() -> None:
    check_env(made(), skip_render_check=True)


@pytest.mark.parametrize("kernel", ["gemm", "jacobi-2d", "trisolv"])
def test_a_seed_and_the_lines_fix_observations_and_rewards(kernel: str) -> None:
    first, second = play(made(kernel), 3), play(made(kernel), 3)
    assert first == second
    assert all(reward == 0.0 for _, reward, _ in first[:-1])
    assert 0 < first[-1][1] <= 1


def test_an_observation_has_all_parts() -> None:
    env = made(render_mode="ansi")
    observation, info = env.reset(seed=0)
    for part in (
        "Program gemm (ni = 20", "L1: for (i = 0; i <= ni - 1; i++) {", "Dependences:\nD0: S1",
        "Mapping: default", "Last outcome:\nnone yet", "Left:\n20 evaluations, 200 lines",
        "Reply (ok):\n",
    ):  # fmt: skip
        assert part in observation
    assert {key: type(value) for key, value in info.items()} == KEYS
    assert env.render() == observation
    observation, *_ = env.step("measure")
    assert "Last outcome:\nnot measured: score 0." in observation
    assert "Left:\n19 evaluations, 199 lines" in observation


@pytest.mark.parametrize(
    "line", ["nonsense", "tile L1 L9 4 4", "fuse L2 L3", "", "check fuse L2 L3"]
)
def test_refused_lines_cost_as_forbidden_actions_do(line: str) -> None:
    env = made()
    env.reset(seed=0)
    before = env.session.state
    _, reward, over, _, info = env.step(line)
    assert reward == ILLEGAL_ACTION_REWARD
    assert not over
    assert info["line_status"] != "ok"
    assert env.session.state is before


@pytest.mark.parametrize(
    ("reward", "least", "most"),
    [("speedup", 0.0, math.inf), ("log_speedup", -2.4, math.inf), ("model", 0.0, 1000.0)],
)
def test_the_end_pays_the_reward(reward: str, least: float, most: float) -> None:
    env = made(reward=reward)
    env.reset(seed=0)
    env.step("tile L3 L4 8 8")
    _, value, over, _, info = env.step("stop")
    assert over
    assert least < value <= most
    assert info["is_success"]
    assert info["status"] == ("not measured" if reward == "model" else "ok")
    assert (info["seconds"] > 0) == (reward != "model")
    if reward == "log_speedup":
        assert value == pytest.approx(math.log(info["speedup"]))
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step("show")


def test_the_end_of_the_budget_is_an_end_as_stop_is() -> None:
    for arguments, lines in (({"evaluations": 1}, ["measure"]), ({"lines": 2}, ["show", "show"])):
        env = made(**arguments)
        env.reset(seed=0)
        *_, last = (env.step(line) for line in lines)
        _, value, over, truncated, info = last
        assert over
        assert not truncated
        assert value > 0
        assert info["status"] == "not measured"
        assert env.suggested_lines() == ()


def test_programs_are_chosen_by_seed_and_option(tmp_path: Path) -> None:
    env = made("gemm, mvt, atax")
    kernels = {env.reset(seed=seed)[1]["kernel"] for seed in range(12)}
    assert kernels == {"gemm", "mvt", "atax"}
    assert env.reset(options={"kernel": "lu"})[1]["kernel"] == "lu"
    for options in ({"kernal": "lu"}, [], {"kernel": "nothing"}):
        with pytest.raises(InputError):
            env.reset(options=options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("evaluations", 0), ("lines", 0), ("lines", True), ("seconds", -1), ("threads", 0),
        ("reward", "fun"), ("mapping", "x"), ("seed", -1), ("render_mode", "human"),
        ("storage_limit", -1), ("dataset", "tiny"),
    ],
)  # fmt: skip
def test_arguments_are_refused_by_their_names(name: str, value: object) -> None:
    with pytest.raises(InputError, match=name):
        made(**{name: value})


def test_an_action_is_a_line_of_text() -> None:
    env = made()
    env.reset()
    with pytest.raises(InputError, match="an action"):
        env.step(3)  # type: ignore[arg-type]


def test_forks_and_transcripts() -> None:
    env = made("jacobi-1d")
    env.reset(seed=0)
    env.step("reverse L2")
    fork = env.fork()
    copied = copy.deepcopy(fork)
    fork.step("reverse L3")
    assert len(env.session.history) == len(copied.session.history) == 1
    record = fork.export()
    assert len(record["lines"]) == 2
    replayed = replay_transcript(record, "t.json")
    assert replayed.session.state.schedule == fork.session.state.schedule
    env.close()
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step("show")
