"""Wrappers say which kernel comes next, and which estimate of a time is paid for."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

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
