"""Wrappers say which kernel comes next, and which estimate of a time is paid for."""

from __future__ import annotations

from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.wrappers import TimeLimit

from polygym.agents.experiments.environments import make_env
from polygym.agents.experiments.experiment import Experiment
from polygym.agents.experiments.wrappers import (
    CurriculumByDepth,
    CycleKernels,
    PotentialShaping,
    RandomOrderKernels,
    RuntimePointEstimate,
)
from polygym.errors import InputError
from polygym.mdp.predicted_reward import predicted_log_speedup

SCHEDULE = "polygym/Schedule-v0"
SIX = "mvt, gemm, trisolv, atax, gesummv, jacobi-1d"


def wrapped(wrapper: Any, selection: str, seed: int | None = None, **given: Any) -> Any:
    arguments = {"kernel": selection, "reward": "static", "dataset": "mini", "seed": seed}
    env = gymnasium.make(f"polygym:{SCHEDULE}", **arguments)
    return wrapper(env, **given)


def test_kernels_come_in_their_order() -> None:
    env = wrapped(CycleKernels, "mvt, gemm, trisolv")
    seen = [env.reset(seed={0: 0, 4: 5}.get(k))[1]["kernel"] for k in range(6)]
    assert seen == ["mvt", "gemm", "trisolv", "mvt", "trisolv", "mvt"]
    assert env.reset(options={"kernel": "lu"})[1]["kernel"] == "lu"


def test_the_order_begins_where_it_is_told_to() -> None:
    env = wrapped(CycleKernels, "mvt, gemm, trisolv", start=4)
    seen = [env.reset(seed={2: 0, 4: 2}.get(k))[1]["kernel"] for k in range(5)]
    assert seen == ["gemm", "trisolv", "gemm", "trisolv", "gemm"]
    for start in (-1, 1.0, "mvt", True):
        with pytest.raises(InputError, match="start: expected a number from 0 on, found"):
            CycleKernels(env, start=start)  # type: ignore[arg-type]


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


def drawn(of_reset: int | None, of_environment: int | None = None) -> list[str]:
    """Return the first kernels with a seed of the first reset, or of the environment, or none."""
    env = wrapped(RandomOrderKernels, SIX, seed=of_environment)
    return [env.reset(seed=of_reset if k == 0 else None)[1]["kernel"] for k in range(12)]


def test_without_a_seed_it_is_the_environments_own() -> None:
    assert drawn(None, 7) == drawn(7) == drawn(7, 8) != drawn(8)
    assert drawn(None) != drawn(None)


def together(wrapper: Any, mode: str, seed: int | None, episodes: int = 4) -> list[list[str]]:
    """Return the kernels of three members' episodes, all of which end after one step."""
    envs = gymnasium.make_vec(
        f"polygym:{SCHEDULE}",
        3,
        vectorization_mode=mode,
        wrappers=[wrapper, lambda env: TimeLimit(env, 1)],
        kernel="mvt, gemm, trisolv, atax",
        reward="static",
        dataset="mini",
    )
    seen = [list(envs.reset(seed=seed)[1]["kernel"])]
    while len(seen) < episodes:
        for _ in range(2):  # the end, and the step behind it
            *_, info = envs.step(np.zeros(3, int))
        seen.append(list(info["kernel"]))
    envs.close()
    return seen


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_members_go_round_evenly(mode: str) -> None:
    assert together(CycleKernels, mode, 2) == [
        ["trisolv", "atax", "mvt"],
        ["atax", "mvt", "gemm"],
        ["mvt", "gemm", "trisolv"],
        ["gemm", "trisolv", "atax"],
    ]


@pytest.mark.parametrize("wrapper", [CycleKernels, RandomOrderKernels, CurriculumByDepth])
@pytest.mark.parametrize("seed", [0, None])
def test_members_are_not_about_the_same_kernels(wrapper: Any, seed: int | None) -> None:
    given = {"episodes": 1} if wrapper is CurriculumByDepth else {}

    def members() -> set[tuple[str, ...]]:
        return set(zip(*together(partial(wrapper, **given), "sync", seed), strict=True))

    # Without a seed all may have been drawn alike, but not again and again.
    assert any(len(members()) == 3 for _ in range(1 if seed is not None else 40))


EVERY: list[tuple[Any, dict[str, Any]]] = [
    (CycleKernels, {}),
    (CycleKernels, {"start": 2}),
    (RandomOrderKernels, {}),
    (CurriculumByDepth, {"episodes": 2}),
    (RuntimePointEstimate, {"estimate": "mean"}),
    (PotentialShaping, {"gamma": 0.5}),
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
    assert env.reset(seed=0)[1]["kernel"] == "mvt"
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
        evaluation = env.unwrapped.evaluation  # type: ignore[attr-defined]
        expected = of(evaluation.baseline_samples) / of(evaluation.samples)
        assert info["speedup"] == pytest.approx(expected)
        assert value == pytest.approx(expected if reward == "speedup" else np.log(expected))
    with pytest.raises(InputError, match="estimate: expected one of minimum, median, mean"):
        RuntimePointEstimate(env, "best")


@pytest.mark.parametrize("gamma", [1.0, 0.9])
def test_shaped_rewards_tell_each_decision_and_add_up(gamma: float) -> None:
    """Ng, Harada and Russell: discounted, the sum changes by the potential of the beginning."""
    pytest.importorskip("lightgbm")
    plain = gymnasium.make(
        "polygym:polygym/Optimize-v0", kernel="mvt", dataset="mini", reward="log_model",
        start="original", mapping="sequential", threads=2,
    )  # fmt: skip
    env = PotentialShaping(plain, gamma)
    env.reset(seed=0)
    end_now = plain.unwrapped.problem.options.first_answer + 1  # type: ignore[attr-defined]
    rng = np.random.default_rng(2)
    told = 0
    for episode in range(6):
        env.reset(seed=episode)
        begin = predicted_log_speedup(plain.unwrapped.episode)  # type: ignore[attr-defined]
        total, end, discount, over = 0.0, 0.0, 1.0, False
        while not over:
            allowed = np.flatnonzero(env.action_masks())
            action = np.int64(rng.choice(allowed[allowed != end_now]))
            _, reward, over, _, _ = env.step(action)
            told += bool(reward) and not over
            total += discount * float(reward)
            if over:
                value = plain.unwrapped.worth(plain.unwrapped.episode)  # type: ignore[attr-defined]
                end = discount * value
            discount *= gamma
        assert total == pytest.approx(end - begin, abs=1e-9)
    assert told > 6
    for wrong in (0, 1.1, "1", None):
        with pytest.raises(InputError, match="gamma: expected a number above 0"):
            PotentialShaping(plain, wrong)  # type: ignore[arg-type]


def test_evaluations_are_paid_what_episodes_are_worth() -> None:
    pytest.importorskip("lightgbm")
    arguments = {"reward": "log_model", "dataset": "mini", "start": "isl", "threads": 2}
    wrappers = (("CycleKernels", {}), ("PotentialShaping", {}))
    training = Experiment("polygym/Optimize-v0", "mvt", 1, arguments=arguments, wrappers=wrappers)

    def reward_of_defaults(env: Any) -> float:
        env.reset(seed=0)
        *_, reward, _, _, info = env.step(env.unwrapped.problem.options.first_answer + 1)
        assert info["is_success"]
        return float(reward)

    assert reward_of_defaults(make_env(training)) == pytest.approx(0.0)
    assert reward_of_defaults(make_env(training, "mvt")) > 0.5


def test_an_estimate_does_not_lose_the_last_shaped_reward() -> None:
    pytest.importorskip("lightgbm")
    env = gymnasium.make("polygym:polygym/Optimize-v0", kernel="mvt", start="isl")
    PotentialShaping(RuntimePointEstimate(env))
    with pytest.raises(InputError, match="expected PotentialShaping around it, found it inside"):
        RuntimePointEstimate(PotentialShaping(env))
