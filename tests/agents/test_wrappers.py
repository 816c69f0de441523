"""Wrappers say which kernel comes next, and which estimate of a time is paid for."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec

from agents.wrappers import (
    CurriculumByDepth,
    CycleKernels,
    RandomOrderKernels,
    RuntimePointEstimate,
)
from polygym.errors import InputError

SCHEDULE = "polygym/Schedule-v0"


def wrapped(wrapper: Any, selection: str, **given: Any) -> Any:
    env = gymnasium.make(f"polygym:{SCHEDULE}", kernel=selection, reward="static", dataset="mini")
    return wrapper(env, **given)


def test_kernels_come_in_their_order() -> None:
    env = wrapped(CycleKernels, "mvt, gemm, trisolv")
    seen = [env.reset(seed=3 if k == 4 else None)[1]["kernel"] for k in range(6)]
    assert seen == ["mvt", "gemm", "trisolv", "mvt", "mvt", "gemm"]
    assert env.reset(options={"kernel": "lu"})[1]["kernel"] == "lu"


def test_no_kernel_comes_less_often() -> None:
    env = wrapped(RandomOrderKernels, "mvt, gemm, trisolv")
    seen = [env.reset(seed=1 if k == 0 else None)[1]["kernel"] for k in range(9)]
    for k in range(0, 9, 3):
        assert sorted(seen[k : k + 3]) == ["gemm", "mvt", "trisolv"]
    again = [env.reset(seed=1 if k == 0 else None)[1]["kernel"] for k in range(9)]
    assert again == seen
    assert np.array_equal(env.action_masks(), env.unwrapped.action_masks())


def test_small_kernels_come_first() -> None:
    env = wrapped(CurriculumByDepth, "gemm, correlation, jacobi-1d", episodes=4)
    seen = [env.reset(seed=0 if k == 0 else None)[1]["kernel"] for k in range(60)]
    assert set(seen[:4]) == {"jacobi-1d"}
    assert set(seen[:8]) <= {"jacobi-1d", "gemm"}
    assert set(seen) == {"jacobi-1d", "gemm", "correlation"}


EVERY: list[tuple[Any, dict[str, Any]]] = [
    (CycleKernels, {}),
    (RandomOrderKernels, {}),
    (CurriculumByDepth, {"episodes": 2}),
    (RuntimePointEstimate, {"estimate": "mean"}),
]


@pytest.mark.parametrize(("wrapper", "given"), EVERY)
def test_a_specification_makes_them_anew(wrapper: Any, given: dict[str, Any]) -> None:
    env = wrapped(wrapper, "mvt, gemm, trisolv", **given)
    assert env.spec.additional_wrappers[-1].kwargs == given
    text = env.spec.to_json()
    again: Any = gymnasium.make(EnvSpec.from_json(text))
    assert type(again) is wrapper
    assert again.spec.to_json() == text
    for seed in (3, None, None, None, None):
        assert env.reset(seed=seed)[1]["kernel"] == again.reset(seed=seed)[1]["kernel"]


@pytest.mark.parametrize(("wrapper", "given"), EVERY)
def test_other_environments_are_refused(wrapper: Any, given: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="expected one of polygym's environments, found CartPole"):
        wrapper(gymnasium.make("CartPole-v1"), **given)


def test_a_reset_that_fails_leaves_the_kernel_that_is_next() -> None:
    env = wrapped(CycleKernels, "mvt, gemm, trisolv")
    assert env.reset(seed=1)[1]["kernel"] == "mvt"
    wrong: tuple[Any, ...] = ({"kernels": "lu"}, ["lu"], [], {"kernel": "nothing"})
    for options in wrong:
        with pytest.raises(InputError, match="kernel"):
            env.reset(options=options)
    assert env.reset()[1]["kernel"] == "gemm"


@pytest.mark.parametrize("reward", ["speedup", "log_speedup"])
def test_another_estimate_of_the_time_is_paid_for(reward: str) -> None:
    def end(env: Any) -> tuple[float, dict[str, Any]]:
        env.reset(seed=0)
        over, value, info = False, 0.0, {}
        while not over:
            action = int(np.flatnonzero(env.unwrapped.action_masks())[0])
            _, value, over, _, info = env.step(action)
        return float(value), info

    for estimate, of in (("median", np.median), ("mean", np.mean), ("minimum", np.min)):
        env = gymnasium.make(f"polygym:{SCHEDULE}", kernel="mvt", reward=reward, dataset="mini")
        value, info = end(RuntimePointEstimate(env, estimate))
        found = env.unwrapped.evaluation  # type: ignore[attr-defined]
        expected = of(found.baseline_samples) / of(found.samples)
        assert info["speedup"] == pytest.approx(expected)
        assert value == pytest.approx(expected if reward == "speedup" else np.log(expected))
    with pytest.raises(InputError, match="estimate: expected one of minimum, median, mean"):
        RuntimePointEstimate(env, "best")
