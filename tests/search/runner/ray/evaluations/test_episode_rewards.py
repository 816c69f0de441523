"""Ends of episodes on a pretended fleet, and rewards that come later in a rollout."""

import threading
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest

import polygym  # noqa: F401 (registers the environments)
from polybench import Dataset
from polygym.envs.episode_end import PENDING_STATUS
from polygym.mapping.mapping import DEFAULT_MAPPING
from polygym.mdp.problems.loading import ProgramSource
from polygym.poly.scheduling.baselines import original_schedule
from polygym.runtime.evaluation import EvaluationOptions
from polygym.runtime.worker.outcome import WorkerError
from polygym.search.runner.ray.episode_rewards import BlockingRewards, RayRewards
from polygym.search.runner.ray.fleet.fleet import Fleet
from polygym.search.runner.ray.fleet.jobs import Json
from tests.search.runner.ray.fakes import FakeMachine, FakeTransport
from tests.search.runner.ray.fleet.test_fleet import HASTY

MVT = ProgramSource("mvt", None, Dataset.MINI, ())


def evaluation(schedule: str, mapping: str, speedup: float = 3.0) -> Json:
    times = {"seconds": 1.0, "baseline_seconds": speedup, "samples": [1.0]}
    rest = {"baseline_samples": [speedup], "error_type": "", "error_details": ""}
    rest |= {"applied_mapping": None, "canonical_key": ""}
    result = {"schedule": schedule, "mapping": mapping, "status": "ok", "speedup": speedup}
    return result | times | rest


def answers(job: Json) -> Iterator[list[Json]]:
    """Answer every question."""
    for place, choice in zip(job["places"], job["choices"], strict=True):
        yield [{"row": "evaluation", "place": place, "evaluation": evaluation(*choice)}]


def refuses(job: Json) -> Iterator[list[Json]]:
    yield [{"row": "failed", "reason": "no such program", "machine": False}]


def test_a_question_is_asked_once() -> None:
    machine = FakeMachine(answer=answers)
    schedule = original_schedule(MVT.load().scop)
    with Fleet(FakeTransport({"a": machine}), timeouts=HASTY) as fleet, RayRewards(fleet) as ends:
        first, second = (
            ends.submit(MVT, EvaluationOptions(), schedule, DEFAULT_MAPPING) for _ in range(2)
        )
        assert first is second
        assert first.result(20).speedup == 3.0
    assert len(machine.jobs) == 1


def test_a_node_that_dies_is_not_noticed() -> None:
    machines = {"a": FakeMachine(answer=answers, dies_after=3), "b": FakeMachine(answer=answers)}
    schedule = original_schedule(MVT.load().scop)
    with Fleet(FakeTransport(machines), timeouts=HASTY) as fleet, RayRewards(fleet) as ends:
        asked = [
            ends.submit(MVT, EvaluationOptions(timeout_factor=2.0 + k), schedule, DEFAULT_MAPPING)
            for k in range(6)
        ]
        assert [future.result(20).speedup for future in asked] == [3.0] * 6


def test_what_cannot_be_measured_is_an_error() -> None:
    machine = FakeMachine(answer=refuses)
    schedule = original_schedule(MVT.load().scop)
    with Fleet(FakeTransport({"a": machine}), timeouts=HASTY) as fleet, RayRewards(fleet) as ends:
        with pytest.raises(WorkerError, match="no such program"):
            ends.submit(MVT, EvaluationOptions(), schedule, DEFAULT_MAPPING).result(20)
        machine.answer = answers  # a failure is not remembered
        assert ends.submit(MVT, EvaluationOptions(), schedule, DEFAULT_MAPPING).result(20).is_ok
    with pytest.raises(WorkerError, match="closed"):
        ends.submit(MVT, EvaluationOptions(timeout_factor=3), schedule, DEFAULT_MAPPING).result(20)


def test_an_environment_goes_on_or_waits() -> None:
    may_answer = threading.Event()

    def late(job: Json) -> Iterator[list[Json]]:
        may_answer.wait(20)
        yield from answers(job)

    env = gymnasium.make(
        "polygym:polygym/Schedule-v0", kernel="mvt", dataset="mini", reward="log_speedup"
    )
    inner: Any = env.unwrapped
    cluster = FakeTransport({"a": FakeMachine(answer=late)})
    with Fleet(cluster, timeouts=HASTY) as fleet, RayRewards(fleet) as ends:
        inner.remote_evaluator = ends
        reward, info = _played(env)
        assert (reward, info["status"]) == (0.0, PENDING_STATUS)
        may_answer.set()
        worth, answer = info["pending"].wait()
        assert answer.speedup == 3.0
        inner.remote_evaluator = BlockingRewards(ends)
        again, info = _played(env)
        assert (again, info["status"], info["speedup"]) == (worth, "ok", 3.0)
        assert "pending" not in info


def test_a_vector_goes_on_while_nobody_has_answered() -> None:
    """Episodes of all places begin and end; their rewards come when the fleet has measured."""
    may_answer = threading.Event()

    def late(job: Json) -> Iterator[list[Json]]:
        may_answer.wait(20)
        yield from answers(job)

    arguments = {"kernel": "mvt", "dataset": "mini", "reward": "log_speedup"}
    envs: Any = gymnasium.make_vec("polygym:polygym/Schedule-v0", 3, **arguments)
    rng, pending = np.random.default_rng(1), []
    with (
        Fleet(FakeTransport({"a": FakeMachine(answer=late)}), timeouts=HASTY) as fleet,
        RayRewards(fleet) as ends,
    ):
        for env in envs.envs:
            env.remote_evaluator = ends
        envs.reset(seed=1)
        ended = np.zeros(3, int)
        while ended.min() < 2:  # each place has begun anew after an end without a reward
            actions = [rng.choice(np.flatnonzero(mask)) for mask in envs.action_masks()]
            _, rewards, over, _, infos = envs.step(np.array(actions))
            ended += over
            if "pending" in infos:
                there = infos["_pending"]
                pending += list(infos["pending"][there])
                assert not rewards[there].any()
        assert pending
        assert not any(pending_reward.future.done() for pending_reward in pending)
        may_answer.set()
        assert {pending_reward.wait()[1].speedup for pending_reward in pending} == {3.0}


def _played(env: Any) -> tuple[float, dict[str, Any]]:
    _, info = env.reset(seed=3)
    rng = np.random.default_rng(3)
    while True:
        (allowed,) = np.nonzero(info["action_mask"])
        _, reward, terminated, truncated, info = env.step(int(rng.choice(allowed)))
        if terminated or truncated:
            return float(reward), info
