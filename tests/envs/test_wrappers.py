"""Every environment under Gymnasium's wrappers and those of agents: what each says is true."""

from __future__ import annotations

import statistics
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import (
    FlattenObservation,
    NormalizeReward,
    RecordEpisodeStatistics,
    RecordVideo,
    TimeLimit,
)

from polygym.agents.experiments.wrappers import (
    CurriculumByDepth,
    CycleKernels,
    RandomOrderKernels,
    RuntimePointEstimate,
)
from polygym.mdp.env_ids import EXPLORE, TRANSFORM
from polygym.pictures.scenes import canvas
from tests.envs.episodes import FINAL, IDS

every_id = pytest.mark.parametrize("name", IDS)
Step = tuple[Any, float, bool, bool, dict[str, Any]]


def made(name: str, **arguments: Any) -> Any:
    given = {"kernel": "mvt", "reward": "static", "dataset": "mini", **arguments}
    return gymnasium.make(f"polygym:{name}", **given)


def steps(env: Any, seed: int, *, wild: bool = False) -> Iterator[Step]:
    """Play a random episode, under the mask or, ``wild``, not; yield every step of it."""
    rng = np.random.default_rng(seed)
    _, info = env.reset(seed=seed)
    over = False
    while not over:
        mask = np.ones_like(info["action_mask"]) if wild else info["action_mask"]
        step = env.step(int(rng.choice(np.flatnonzero(mask))))
        _, _, terminated, truncated, info = step
        over = terminated or truncated
        yield step


def is_whole(info: dict[str, Any]) -> bool:
    """Whether an info has what is always there, and at the end what there is at an end."""
    return {key: type(info[key]) for key in FINAL} == FINAL and {"action_mask", "kernel"} <= {*info}


# Gymnasium's


@every_id
@pytest.mark.parametrize("wild", [False, True])
def test_statistics_are_those_of_the_episode(name: str, wild: bool) -> None:
    env = RecordEpisodeStatistics(made(name))
    sums, costs = [], False
    for seed in range(3):
        played = list(steps(env, seed, wild=wild))
        costs |= any(reward < 0 for _, reward, *_ in played[:-1])
        assert all("episode" not in info for *_, info in played[:-1])
        *_, info = played[-1]
        sums.append(sum(reward for _, reward, *_ in played))
        assert info["episode"]["r"] == pytest.approx(sums[-1], abs=1e-4)
        assert info["episode"]["l"] == len(played)
        assert is_whole(info)
    assert env.return_queue == pytest.approx(sums, abs=1e-4)
    # What the mask forbids costs, so a sum is more than its last reward; Explore-v0 forbids little.
    assert costs == (wild and name != EXPLORE)


@every_id
def test_a_limit_of_steps_truncates_exactly_there(name: str) -> None:
    length = len(list(steps(made(name), 1)))
    assert length > 3
    for limit in (1, 3, length - 1):
        env = TimeLimit(made(name), limit)
        for seed in (1, 1):  # again behind a truncation
            *before, (_, _, terminated, truncated, info) = steps(env, seed)
            assert not any(step[3] for step in before)
            assert (terminated, truncated, len(before) + 1) == (False, True, limit)
            own = {"steps_complete", "hidden_loops"} if name == TRANSFORM else set()
            assert set(info) == {"action_mask", "kernel", "space_complete", *own}
            assert np.array_equal(info["action_mask"], env.unwrapped.action_masks())
    *_, (_, _, terminated, truncated, info) = steps(TimeLimit(made(name), length), 1)
    assert terminated
    assert truncated
    assert is_whole(info)
    *_, (_, _, terminated, truncated, info) = steps(TimeLimit(made(name), length + 1), 1)
    assert terminated
    assert not truncated
    assert is_whole(info)


@every_id
def test_flat_observations_lie_in_their_space_and_say_the_same(name: str) -> None:
    bare = made(name)
    env = FlattenObservation(made(name))
    space = env.observation_space
    assert isinstance(space, gymnasium.spaces.Box)
    assert space.shape is not None
    assert len(space.shape) == 1
    first, _ = env.reset(seed=2)
    for observation in (first, *(step[0] for step in steps(env, 2))):
        assert observation.shape == space.shape
        assert observation.dtype == space.dtype
        assert space.contains(observation)
    for flat, deep in zip(steps(env, 3), steps(bare, 3), strict=True):
        back: Any = gymnasium.spaces.unflatten(bare.observation_space, flat[0])
        assert set(back) == set(deep[0])
        assert all(np.array_equal(back[key], deep[0][key]) for key in back)


@every_id
def test_normal_rewards_are_finite_and_change_nothing_else(name: str) -> None:
    env, bare = NormalizeReward(made(name)), made(name)
    seen = []
    for seed in range(4):
        wild = seed % 2 == 1
        pairs = zip(steps(env, seed, wild=wild), steps(bare, seed, wild=wild), strict=True)
        for normal, plain in pairs:
            assert np.isfinite(normal[1])
            assert np.sign(normal[1]) == np.sign(plain[1])
            assert normal[2:4] == plain[2:4]
            assert normal[4].keys() == plain[4].keys()
            seen.append((float(normal[1]), plain[1]))
        assert normal[2] is True
        assert is_whole(normal[4])
    assert any(normal != plain for normal, plain in seen)


@pytest.mark.nightly
@every_id
def test_a_video_has_a_frame_for_every_step(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import imageio_ffmpeg

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the library says of itself
        import moviepy  # noqa: F401
    drawn = canvas.render
    monkeypatch.setattr(canvas, "render", lambda scene: drawn(scene)[::4, ::4])
    env = RecordVideo(
        TimeLimit(made(name, render_mode="rgb_array"), 4),
        str(tmp_path / "videos"),
        episode_trigger=lambda number: number != 1,
    )
    lengths = [len(list(steps(env, seed))) for seed in range(3)]
    env.close()
    videos = sorted((tmp_path / "videos").iterdir())
    assert [video.name for video in videos] == ["rl-video-episode-0.mp4", "rl-video-episode-2.mp4"]
    for path, length in zip(videos, lengths[::2], strict=True):
        frames, seconds = imageio_ffmpeg.count_frames_and_secs(str(path))
        assert frames == length + 1
        assert seconds == pytest.approx(frames / env.metadata["render_fps"], abs=0.3)


# Those of agents


@every_id
def test_kernels_come_as_the_wrappers_say(name: str) -> None:
    kernels = ["mvt", "trisolv", "jacobi-1d"]

    def seen(wrapper: Any, count: int, **given: Any) -> list[str]:
        env = wrapper(made(name, kernel=",".join(kernels)), **given)
        result = []
        for number in range(count):
            _, info = env.reset(seed=5 if number == 0 else None)
            assert np.array_equal(env.action_masks(), info["action_mask"])
            action = int(np.flatnonzero(info["action_mask"])[-1])
            observation, *_, later = env.step(action)
            assert env.observation_space.contains(observation)
            assert later["kernel"] == info["kernel"]
            result.append(info["kernel"])
        return result

    own = [made(name, kernel=kernel).reset()[1]["kernel"] for kernel in kernels]
    assert seen(CycleKernels, 7) == [own[(5 + number) % 3] for number in range(7)]
    for order in (seen(RandomOrderKernels, 9), seen(RandomOrderKernels, 9)):
        assert all(set(order[first : first + 3]) == set(own) for first in (0, 3, 6))
    first = seen(CurriculumByDepth, 12, episodes=3)
    assert len(set(first[:3])) == 1
    assert len(set(first)) > 1


@every_id
@pytest.mark.parametrize("estimate", ["median", "mean"])
def test_another_estimate_of_the_time_is_paid_for(name: str, estimate: str) -> None:
    env = RuntimePointEstimate(made(name, reward="speedup"), estimate)
    *before, (_, reward, terminated, _, info) = steps(env, 1)
    assert terminated
    assert not any(step[1] for step in before)
    assert is_whole(info)
    assert info["status"] == "ok"
    evaluation = env.unwrapped.evaluation
    of = statistics.median if estimate == "median" else statistics.fmean
    assert info["seconds"] == pytest.approx(of(evaluation.samples))
    assert info["baseline_seconds"] == pytest.approx(of(evaluation.baseline_samples))
    assert reward == pytest.approx(of(evaluation.baseline_samples) / of(evaluation.samples))
    assert info["speedup"] == pytest.approx(reward)


@every_id
def test_where_nothing_is_measured_nothing_is_estimated(name: str) -> None:
    pairs = zip(steps(RuntimePointEstimate(made(name)), 1), steps(made(name), 1), strict=True)
    *_, (ours, bare) = pairs
    assert ours[1] == bare[1] > 0
    assert ours[4]["status"] == bare[4]["status"] == "not measured"


def test_wrappers_stand_on_each_other() -> None:
    env = CycleKernels(made(EXPLORE, kernel="mvt,trisolv"))
    stacked: Any = FlattenObservation(NormalizeReward(RecordEpisodeStatistics(TimeLimit(env, 40))))
    kernels = []
    for seed in (1, None, None):
        observation, info = stacked.reset(seed=seed)
        over = False
        while not over:
            assert stacked.observation_space.contains(observation)
            action = int(np.flatnonzero(env.action_masks())[0])
            observation, _, terminated, truncated, info = stacked.step(action)
            over = terminated or truncated
        assert info["episode"]["l"] > 0
        kernels.append(info["kernel"])
    assert kernels[0] == kernels[2] != kernels[1]
