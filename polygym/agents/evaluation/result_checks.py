"""Check of a result against its record: every claim must agree with it.

A line of a file of results says twice what it is worth: in its own entries, which tables are made
of, and in its record, which is played again. A caller that edits the first has to be found out as
well as who edits the second. So of an episode that was played again it is known

* the program: one whose text is another now says nothing about the one that was acted on;
* the kernel, and the status: that of the outcome where something was measured, else what a look at
  the end says (``invalid``, ``does not compile``, ``not measured``);
* the speedup: an estimate of the outcome's times, 0 where nothing was measured. Of an outcome the
  speedup follows from its times, and these from its samples; one that failed has none;
* the reward: -0.1 for every forbidden action but the one that ends the episode, and what its end is
  worth, by the outcome under a reward with a clock and computed again under one without.

Example: an episode of 30 actions of which two were forbidden, whose schedule has a static score of
0.62, has the reward 0.42, whatever the line says.
"""

from collections.abc import Sequence
from math import isclose
from typing import Any

from polygym.agents.evaluation.results import EpisodeResultLine
from polygym.agents.experiments.wrappers import ESTIMATES
from polygym.envs.episode_end import RewardTerms
from polygym.mdp import rewards
from polygym.mdp.episode import Episode
from polygym.mdp.records.episode_record import Replay
from polygym.mdp.rewards import RewardKind
from polygym.runtime.evaluation.measurement_rule import speedup_ratio
from polygym.runtime.worker.outcome import OutcomeStatus

_TOLERANCE = 1e-5
"""Numbers of results are rounded to six places."""


def recorded_outcome(line: EpisodeResultLine) -> dict[str, Any] | None:
    """Return what a record says that was measured; None where nothing was."""
    result = line.record.get("outcome")
    return result if isinstance(result, dict) else None


def mismatch_with_record(result: EpisodeResultLine, replay: Replay) -> str | None:
    """Return what a result says otherwise than its record, which was played again.

    Raises:
        PolygymError: its reward cannot be computed.
    """
    kernel = replay.problem.program.name
    if result.kernel != kernel:
        return f"expected the kernel of the record, {kernel}, found {result.kernel}"
    if replay.is_source_changed:
        return f"expected the program of the record, found another text at {replay.problem.file}"
    if replay.episode is None or not replay.episode.is_over:
        return "expected an episode to its end, found none"
    outcome = recorded_outcome(result)
    if outcome is None:
        return _mismatch_unmeasured(result, replay, replay.episode)
    if result.status != outcome["status"]:
        return f"expected the status of the record, {outcome['status']}, found {result.status}"
    if wrong := _sample_mismatch(outcome):
        return f"the outcome of the record: {wrong}"
    speedups = _speedups(outcome)
    if not any(_is_near(result.speedup, known) for known in speedups):
        return f"expected the speedup of the record, {speedups[0]:.3f}, found {result.speedup:.3f}"
    kind, factor = (
        RewardKind.named(result.record["arguments"]["reward"]),
        replay.evaluation_options.timeout_factor,
    )
    if not kind.is_measured:
        return f"expected no outcome under the reward {kind.value}, found one"
    worth = rewards.reward_of_failure(kind, factor)
    if result.status == OutcomeStatus.OK.value:
        worth = rewards.reward_of_success(kind, result.speedup, factor)
    return _reward_mismatch(result, worth, replay.episode)


def _mismatch_unmeasured(line: EpisodeResultLine, played: Replay, episode: Episode) -> str | None:
    """Return what is wrong with a result of an episode that nobody measured."""
    if line.speedup != 0:
        return f"expected the speedup of the record, which has none, found {line.speedup:.3f}"
    kind = RewardKind.named(line.record["arguments"]["reward"])
    if played.schedule is not None and kind.is_measured:
        return f"expected an outcome under the reward {kind.value}, found none"
    # Without a schedule nothing is measured, whatever the reward.
    result = RewardTerms(kind, played.evaluation_options, None).result_of(played.problem, episode)
    if line.status != result.info["status"]:
        return f"expected the status {result.info['status']}, found {line.status}"
    return _reward_mismatch(line, result.reward, episode)


def _reward_mismatch(line: EpisodeResultLine, worth: float, episode: Episode) -> str | None:
    expected = worth + rewards.ILLEGAL_ACTION_REWARD * _illegal_action_count(episode)
    if _is_near(line.reward, expected):
        return None
    return f"expected the reward {expected:.6f}, found {line.reward:.6f}"


def _illegal_action_count(episode: Episode) -> int:
    """Return how many actions the mask forbade, but for the one that ended the episode."""
    literal, state = 0, _first_episode(episode)
    for action in episode.actions[:-1]:
        literal += not state.mask()[action]
        state = state.after(action)
    return literal


def _first_episode(episode: Episode) -> Episode:
    task = episode.task if episode.task.source_task is None else episode.task.source_task
    return task.start()


def _sample_mismatch(outcome: dict[str, Any]) -> str | None:
    """Return what an outcome says of its times that does not follow from its samples."""
    times, before = outcome["samples"], outcome["baseline_samples"]
    said = {name: float(outcome[name]) for name in ("speedup", "seconds", "baseline_seconds")}
    if outcome["status"] != OutcomeStatus.OK.value:
        said.pop("baseline_seconds")  # the original order may have been timed before
        follows = dict.fromkeys(said, 0.0)
        if times:
            return f"expected no samples of what has failed, found {len(times)}"
    elif not times or not before:
        return "expected samples, found none"
    else:
        best, usual = float(min(times)), float(min(before))
        ratio = speedup_ratio(usual, best)
        follows = {"speedup": ratio, "seconds": best, "baseline_seconds": usual}
    for name, value in follows.items():
        if not isclose(said[name], value, rel_tol=_TOLERANCE):
            return f"expected the {name} of its samples, {value:g}, found {said[name]:g}"
    return None


def _speedups(outcome: dict[str, Any]) -> Sequence[float]:
    """Return the speedups that an outcome's times have, by each way to estimate them."""
    first = float(outcome["speedup"])
    times, before = outcome["samples"], outcome["baseline_samples"]
    if not times or not before or min(times) <= 0:
        return (first,)
    return (first, *(float(of(before)) / float(of(times)) for of in ESTIMATES.values()))


def _is_near(value: float, expected: float) -> bool:
    return abs(value - expected) <= _TOLERANCE * max(1.0, abs(expected))
