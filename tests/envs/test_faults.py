"""What goes wrong in the processes behind an environment is a reward, and training goes on."""

import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from polygym.envs.schedule import ScheduleEnv
from polygym.errors import InputError, LimitError
from polygym.mdp.episode import Episode
from tests.c_programs import Y_AX


def make(**arguments: Any) -> ScheduleEnv:
    return ScheduleEnv("mvt", **{"dataset": "mini", **arguments})


def finish(
    env: ScheduleEnv, choose: Callable[[Any], Any] = lambda allowed: allowed[-1]
) -> tuple[float, dict[str, Any]]:
    """Take one of the allowed actions until the end."""
    info: dict[str, Any] = {}
    over, reward = False, 0.0
    while not over:
        allowed = np.flatnonzero(env.action_masks())
        _, reward, over, _, info = env.step(choose(allowed))
    return reward, info


def descendants(process: int) -> Iterator[int]:
    """Yield the processes that a process has started, and theirs, where they still live."""
    try:
        tasks = [path.read_text() for path in Path(f"/proc/{process}/task").glob("*/children")]
    except (FileNotFoundError, ProcessLookupError):
        return  # it has just ended
    for child in " ".join(tasks).split():
        yield int(child)
        yield from descendants(int(child))


def kill(process: int) -> None:
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return


def test_processes_that_are_killed_are_replaced() -> None:
    env = make()
    env.reset(seed=0)
    assert finish(env)[1]["status"] == "ok"
    number = len(list(descendants(os.getpid())))
    assert number >= 2, "a worker and a compiler"
    for place in (*range(number), None):
        alive = list(descendants(os.getpid()))
        for process in alive if place is None else alive[place : place + 1]:
            kill(process)
        env.reset()
        # Another way through the actions, or what is known of the schedule would be told.
        generator = np.random.default_rng(place)
        reward, info = finish(env, generator.choice)
        assert info["status"] == "ok", info["error_details"]
        assert reward > 0


def test_code_that_takes_too_long_to_generate_is_a_status() -> None:
    for reward, expected in (("speedup", 0.0), ("log_speedup", -np.log(10))):
        env = make(reward=reward)
        env._measuring = replace(env._measuring, compile_seconds=1e-3)
        env.reset(seed=0)
        value, info = finish(env)
        assert info["status"] == "does not compile"
        assert value == pytest.approx(expected)
        assert (info["speedup"], info["samples"], info["is_success"]) == (0.0, (), False)
        assert info["schedule"]
        assert info["error_type"]
        assert info["error_details"]


def test_numbers_that_are_too_large_are_a_status(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Episode) -> object:
        raise LimitError("a schedule: expected numbers up to 2, found 3")

    monkeypatch.setattr(Episode, "schedule", refuse)
    for reward, expected in (("speedup", 0.0), ("static", 0.0), ("log_speedup", -np.log(10))):
        for mode in ("ansi", "rgb_array"):
            env = make(reward=reward, render_mode=mode)
            env.reset(seed=0)
            value, info = finish(env)
            assert info["status"] == "does not compile"
            assert value == pytest.approx(expected)
            assert info["error_type"] == "LimitError"
            assert env.render() is not None
            assert env.export()["schedule"] == ""


def test_a_file_that_is_gone_leaves_the_episode_before(tmp_path: Path) -> None:
    path = tmp_path / "loop.c"
    path.write_text(Y_AX)
    env = ScheduleEnv(str(path), reward="static", dataset="mini", render_mode="ansi")
    env.reset(seed=0)
    path.unlink()
    with pytest.raises(InputError, match=r"loop\.c"):
        env.reset()
    path.write_text("this is no C")
    with pytest.raises(InputError, match=r"loop\.c"):
        env.reset()
    assert "loop.c" in env.render()
    assert finish(env)[1]["is_success"]


def test_a_closed_environment_wants_a_reset() -> None:
    env = make(reward="static")
    env.reset(seed=0)
    env.close()
    env.close()
    for use in (lambda: env.step(0), env.action_masks, env.export, lambda: env.episode):
        with pytest.raises(gymnasium.error.ResetNeeded):
            use()
    env.reset(seed=0)
    assert finish(env)[1]["is_success"]


@pytest.mark.parametrize("action", [6, -1, 1.0, "0", None, [1], np.array([1]), np.bool_(True)])
def test_what_is_no_action_is_refused(action: Any) -> None:
    env = make(reward="static")
    env.reset(seed=0)
    with pytest.raises(InputError, match="an integer from 0 to 5"):
        env.step(action)
    assert env.episode.actions == ()


@pytest.mark.parametrize(
    "options",
    ["lu", 3, ["lu"], {"kernel": 3}, {"kernel": ""}, {3: 4, "a": 1}, {"kernel": "nowhere.c"}],
)
def test_what_is_no_choice_of_a_kernel_is_refused(options: Any) -> None:
    env = make(reward="static")
    env.reset(seed=0)
    before = env.episode
    with pytest.raises(InputError, match="expected"):
        env.reset(options=options)
    assert env.episode is before
