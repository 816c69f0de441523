"""One rule for all rewards: success pays no less than failure, an invalid end less than both."""

from math import exp, inf, isfinite, log, nextafter
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import polygym.envs.settling as settling
from polygym.compiler.poly.baselines import original
from polygym.compiler.poly.schedule import Schedule
from polygym.envs.schedule import ScheduleEnv
from polygym.episodes import reward
from polygym.episodes.episode import Episode
from polygym.episodes.policies import play, policy
from polygym.episodes.reward import Reward
from polygym.errors import LimitError
from polygym.measure.evaluation import Evaluation
from polygym.measure.worker.outcome import Status
from polygym.programs import load_program

FACTORS = st.floats(1.0, 1e6)
SPEEDUPS = st.floats(0.0, exclude_min=True, allow_infinity=False)
KINDS = st.sampled_from(Reward)
LOGARITHMS = (Reward.LOG_SPEEDUP, Reward.LOG_MODEL)
LEAST = {"speedup": 0.0, "static": 0.0, "log_speedup": -log(10)}


@given(KINDS, SPEEDUPS, FACTORS)
@example(Reward.LOG_SPEEDUP, 20e-6 / 50e-3, 10.0)
@example(Reward.LOG_SPEEDUP, 5e-324, 1.0)
@example(Reward.LOG_SPEEDUP, 0.1, 10.0)
@example(Reward.LOG_SPEEDUP, 1e-6, 1e6)
@example(Reward.STATIC, 5e-324, 10.0)
def test_success_pays_no_less_than_failure_and_failure_more_than_invalid(
    kind: Reward, speedup: float, factor: float
) -> None:
    success = reward.of_success(kind, speedup, factor)
    failure, invalid = reward.of_failure(kind, factor), reward.of_invalid(kind, factor)
    assert all(map(isfinite, (success, failure, invalid)))
    assert success >= failure > invalid
    # Nine more forbidden actions before a failure cost less than the invalid state.
    assert failure + 9 * reward.ILLEGAL > invalid
    if kind not in LOGARITHMS or speedup > nextafter(1 / factor, inf):
        assert success > failure


@given(KINDS, SPEEDUPS, SPEEDUPS, FACTORS)
@example(Reward.LOG_SPEEDUP, 1e-300, 1e-3, 10.0)
def test_the_faster_of_two_never_pays_less(
    kind: Reward, one: float, other: float, factor: float
) -> None:
    slow, fast = sorted((one, other))
    assert reward.of_success(kind, slow, factor) <= reward.of_success(kind, fast, factor)


@given(st.sampled_from(LOGARITHMS), st.floats(-10, 10), FACTORS)
def test_what_is_fast_enough_pays_the_logarithm(
    kind: Reward, logarithm: float, factor: float
) -> None:
    assume(logarithm > -log(factor))
    found = reward.of_success(kind, exp(logarithm), factor)
    assert found == pytest.approx(logarithm, abs=1e-9)


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("kind", [Reward.SPEEDUP, Reward.LOG_SPEEDUP])
def test_every_status_pays_by_the_rule(kind: Reward, status: Status) -> None:
    schedule = Schedule((), ())
    if status is not Status.OK:
        found = reward.of_evaluation(kind, Evaluation(schedule, status), 10.0)
        assert found == pytest.approx(LEAST[kind.value])
        return
    for speedup, worth in ((4.0, log(4.0)), (0.5, log(0.5)), (0.03, -log(10)), (4e-4, -log(10))):
        found = reward.of_evaluation(kind, Evaluation(schedule, status, speedup), 10.0)
        assert found == pytest.approx(speedup if kind is Reward.SPEEDUP else worth)


class _Judge:
    """An evaluator that knows the answer."""

    def __init__(self, status: Status, speedup: float) -> None:
        self.answer = status, speedup

    def evaluate(self, schedule: Schedule, mapping: object = None) -> Evaluation:
        return Evaluation(schedule, *self.answer)


def _end(env: ScheduleEnv) -> tuple[float, dict[str, Any]]:
    env.reset(seed=0)
    value, over, info = 0.0, False, {}
    while not over:
        _, value, over, _, info = env.step(env.action_masks().argmax())
    return value, info


@pytest.mark.parametrize("kind", [Reward.SPEEDUP, Reward.LOG_SPEEDUP])
def test_environments_pay_a_slow_success_no_less_than_any_failure(
    kind: Reward, monkeypatch: pytest.MonkeyPatch
) -> None:
    # gemm at SMALL: 20 µs for the original, and 0.6 ms is not cut off.
    paid = {}
    for status in Status:
        judge = _Judge(status, 1 / 30 if status is Status.OK else 0.0)
        monkeypatch.setattr(settling, "evaluator_for", lambda *_, judge=judge: judge)
        env = ScheduleEnv("trisolv", dataset="mini", reward=kind.value)
        paid[status], info = _end(env)
        assert info["status"] == status.value
        assert info["is_success"] is (status is Status.OK)
    success = paid.pop(Status.OK)
    assert len(set(paid.values())) == 1
    assert success >= max(paid.values())
    assert max(paid.values()) > reward.of_invalid(kind, 10.0)


def test_rules_that_look_ahead_rank_by_the_same_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    env = ScheduleEnv("doitgen", dataset="mini", reward="static")
    env.reset(seed=0)
    start = env.episode
    good = play(start, policy("earliest"), env.np_random)
    invalid = start
    while env.episode.mask()[2]:
        env.step(1)
    invalid = env.episode.after(2)
    assert invalid.is_over
    success = reward.without_a_clock(good)
    assert 0 < success <= 1
    assert reward.without_a_clock(invalid) == reward.of_invalid(Reward.STATIC, 10.0) == -1.0

    def refuse(_: Episode) -> Schedule:
        raise LimitError("a schedule: expected numbers up to 2, found 3")

    monkeypatch.setattr(Episode, "schedule", refuse)
    assert reward.without_a_clock(good) == reward.of_failure(Reward.STATIC, 10.0) == 0.0


def test_a_score_is_paid_as_it_is() -> None:
    scop = load_program("mvt").scop
    score = reward.static_score(scop, original(scop))
    assert reward.of_success(Reward.STATIC, score, 10.0) == score > 0
