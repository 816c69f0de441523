"""One rule for all rewards: success pays no less than failure, an invalid end less than both."""

from math import exp, inf, isfinite, log, nextafter
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import polygym.envs.episode_end as settling
from polygym.envs.schedule import ScheduleEnv
from polygym.errors import LimitError
from polygym.mdp import rewards
from polygym.mdp.episode import Episode
from polygym.mdp.policies.registry import play_episode, policy_named
from polygym.mdp.rewards import RewardKind
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.baselines import original_schedule
from polygym.programs import load_program
from polygym.runtime.evaluation import Evaluation
from polygym.runtime.worker.outcome import OutcomeStatus

FACTORS = st.floats(1.0, 1e6)
SPEEDUPS = st.floats(0.0, exclude_min=True, allow_infinity=False)
KINDS = st.sampled_from(RewardKind)
LOGARITHMS = (RewardKind.LOG_SPEEDUP, RewardKind.LOG_MODEL)
LEAST = {"speedup": 0.0, "static": 0.0, "log_speedup": -log(10)}


@given(KINDS, SPEEDUPS, FACTORS)
@example(RewardKind.LOG_SPEEDUP, 20e-6 / 50e-3, 10.0)
@example(RewardKind.LOG_SPEEDUP, 5e-324, 1.0)
@example(RewardKind.LOG_SPEEDUP, 0.1, 10.0)
@example(RewardKind.LOG_SPEEDUP, 1e-6, 1e6)
@example(RewardKind.STATIC, 5e-324, 10.0)
def test_success_pays_no_less_than_failure_and_failure_more_than_invalid(
    kind: RewardKind, speedup: float, factor: float
) -> None:
    success = rewards.reward_of_success(kind, speedup, factor)
    failure, invalid = (
        rewards.reward_of_failure(kind, factor),
        rewards.reward_of_invalid(kind, factor),
    )
    assert all(map(isfinite, (success, failure, invalid)))
    assert success >= failure > invalid
    # Nine more forbidden actions before a failure cost less than the invalid state.
    assert failure + 9 * rewards.ILLEGAL_ACTION_REWARD > invalid
    if kind not in LOGARITHMS or speedup > nextafter(1 / factor, inf):
        assert success > failure


@given(KINDS, SPEEDUPS, SPEEDUPS, FACTORS)
@example(RewardKind.LOG_SPEEDUP, 1e-300, 1e-3, 10.0)
def test_the_faster_of_two_never_pays_less(
    kind: RewardKind, one: float, other: float, factor: float
) -> None:
    slow, fast = sorted((one, other))
    assert rewards.reward_of_success(kind, slow, factor) <= rewards.reward_of_success(
        kind, fast, factor
    )


@given(st.sampled_from(LOGARITHMS), st.floats(-10, 10), FACTORS)
def test_what_is_fast_enough_pays_the_logarithm(
    kind: RewardKind, logarithm: float, factor: float
) -> None:
    assume(logarithm > -log(factor))
    reward = rewards.reward_of_success(kind, exp(logarithm), factor)
    assert reward == pytest.approx(logarithm, abs=1e-9)


@pytest.mark.parametrize("status", OutcomeStatus)
@pytest.mark.parametrize("kind", [RewardKind.SPEEDUP, RewardKind.LOG_SPEEDUP])
def test_every_status_pays_by_the_rule(kind: RewardKind, status: OutcomeStatus) -> None:
    schedule = Schedule((), ())
    if status is not OutcomeStatus.OK:
        reward = rewards.reward_of_evaluation(kind, Evaluation(schedule, status), 10.0)
        assert reward == pytest.approx(LEAST[kind.value])
        return
    for speedup, worth in ((4.0, log(4.0)), (0.5, log(0.5)), (0.03, -log(10)), (4e-4, -log(10))):
        reward = rewards.reward_of_evaluation(kind, Evaluation(schedule, status, speedup), 10.0)
        assert reward == pytest.approx(speedup if kind is RewardKind.SPEEDUP else worth)


class _Judge:
    """An evaluator that knows the answer."""

    def __init__(self, status: OutcomeStatus, speedup: float) -> None:
        self.answer = status, speedup

    def evaluate(self, schedule: Schedule, mapping: object = None) -> Evaluation:
        return Evaluation(schedule, *self.answer)


def _end(env: ScheduleEnv) -> tuple[float, dict[str, Any]]:
    env.reset(seed=0)
    value, over, info = 0.0, False, {}
    while not over:
        _, value, over, _, info = env.step(env.action_masks().argmax())
    return value, info


@pytest.mark.parametrize("kind", [RewardKind.SPEEDUP, RewardKind.LOG_SPEEDUP])
def test_environments_pay_a_slow_success_no_less_than_any_failure(
    kind: RewardKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    # gemm at SMALL: 20 µs for the original, and 0.6 ms is not cut off.
    paid = {}
    for status in OutcomeStatus:
        judge = _Judge(status, 1 / 30 if status is OutcomeStatus.OK else 0.0)
        monkeypatch.setattr(settling, "evaluator_for", lambda *_, judge=judge: judge)
        env = ScheduleEnv("trisolv", dataset="mini", reward=kind.value)
        paid[status], info = _end(env)
        assert info["status"] == status.value
        assert info["is_success"] is (status is OutcomeStatus.OK)
    success = paid.pop(OutcomeStatus.OK)
    assert len(set(paid.values())) == 1
    assert success >= max(paid.values())
    assert max(paid.values()) > rewards.reward_of_invalid(kind, 10.0)


def test_rules_that_look_ahead_rank_by_the_same_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    env = ScheduleEnv("doitgen", dataset="mini", reward="static")
    env.reset(seed=0)
    start = env.episode
    good = play_episode(start, policy_named("earliest"), env.np_random)
    invalid = start
    while env.episode.mask()[2]:
        env.step(1)
    invalid = env.episode.after(2)
    assert invalid.is_over
    success = rewards.static_reward(good)
    assert 0 < success <= 1
    assert (
        rewards.static_reward(invalid) == rewards.reward_of_invalid(RewardKind.STATIC, 10.0) == -1.0
    )

    def refuse(_: Episode) -> Schedule:
        raise LimitError("a schedule: expected numbers up to 2, found 3")

    monkeypatch.setattr(Episode, "schedule", refuse)
    assert rewards.static_reward(good) == rewards.reward_of_failure(RewardKind.STATIC, 10.0) == 0.0


def test_a_score_is_paid_as_it_is() -> None:
    scop = load_program("mvt").scop
    score = rewards.static_score(scop, original_schedule(scop))
    assert rewards.reward_of_success(RewardKind.STATIC, score, 10.0) == score > 0
