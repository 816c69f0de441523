"""A training whose ends of episodes are measured by others learns what one learns that waits."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from polygym.agents.experiments.experiment import Experiment
from polygym.agents.trainers.baselines import LibraryLearner
from polygym.agents.trainers.delayed_rewards import refusal_reason
from polygym.search.runner.ray.episode_rewards import BlockingRewards, RayRewards
from polygym.search.runner.ray.fleet.fleet import Fleet
from polygym.search.runner.ray.fleet.jobs import Json
from tests.search.runner.ray.evaluations.test_episode_rewards import evaluation
from tests.search.runner.ray.fakes import FakeMachine, FakeTransport

EXPERIMENT = Experiment(
    "polygym/Schedule-v0",
    "mvt",
    192,
    network="mlp",
    arguments={"reward": "log_speedup", "dataset": "mini"},
    hyperparameters={"n_steps": 64, "batch_size": 16, "n_epochs": 2},
    every=192,
)


def by_length(job: Json) -> Iterator[list[Json]]:
    """Answer with a speedup that depends on the schedule alone."""
    for place, (schedule, mapping) in zip(job["places"], job["choices"], strict=True):
        json = evaluation(schedule, mapping, 1.0 + len(schedule) % 7)
        yield [{"row": "evaluation", "place": place, "evaluation": json}]


@pytest.mark.parametrize("algorithm", ["maskable-ppo", "a2c"])
def test_the_same_is_learned_whether_rewards_come_at_once_or_later(
    algorithm: str, tmp_path: Path
) -> None:
    given = EXPERIMENT.hyperparameters if algorithm == "maskable-ppo" else {"n_steps": 64}
    experiment = replace(EXPERIMENT, algorithm=algorithm, hyperparameters=given)
    legs, weights = [], []
    for number in range(2):
        machines = {name: FakeMachine(answer=by_length) for name in "ab"}
        with Fleet(FakeTransport(machines)) as fleet, RayRewards(fleet) as ends:
            elsewhere = ends if number else BlockingRewards(ends)
            checkpoint = tmp_path / str(number) / "checkpoint.zip"
            learner = LibraryLearner.resume(experiment, 0, checkpoint, elsewhere)
            legs.append(learner.train_interval())
            weights.append(
                [tensor.tolist() for tensor in learner.model.policy.state_dict().values()]
            )
    assert legs[0] == legs[1]
    assert legs[0]
    assert {episode.status for episode in legs[0]} <= {"ok", "does not compile", "invalid"}
    assert any(episode.status == "ok" for episode in legs[0])
    assert weights[0] == weights[1]


def test_what_cannot_wait_is_refused() -> None:
    assert refusal_reason(EXPERIMENT) == ""
    assert "found dqn" in refusal_reason(replace(EXPERIMENT, algorithm="dqn"))
    assert "found static" in refusal_reason(replace(EXPERIMENT, arguments={"reward": "static"}))
    wrappers = (("RuntimePointEstimate", {}),)
    assert "RuntimePointEstimate" in refusal_reason(replace(EXPERIMENT, wrappers=wrappers))
