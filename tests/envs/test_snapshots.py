"""Copies of an environment in the middle of an episode, and processes forked there."""

import copy
import multiprocessing
import pickle
from multiprocessing.connection import Connection
from typing import Any

import gymnasium
import numpy as np
import pytest

from polygym.envs.base import PolygymEnv

IDS = ("polygym/Construct-v0", "polygym/Explore-v0", "polygym/Schedule-v0")


def make(name: str, **arguments: Any) -> gymnasium.Env[Any, Any]:
    arguments = {"kernel": "trisolv", "reward": "static", "dataset": "mini", **arguments}
    return gymnasium.make(f"polygym:{name}", **arguments)


def play(env: gymnasium.Env[Any, Any], steps: int, seed: int = 5) -> list[Any]:
    """Take random allowed actions; return all that was seen, as bytes that compare."""
    seen: list[Any] = []
    generator = np.random.default_rng(seed)
    masks = env.get_wrapper_attr("action_masks")
    over = False
    while steps and not over:
        observation, reward, over, truncated, info = env.step(
            generator.choice(np.flatnonzero(masks()))
        )
        arrays = {name: array.tobytes() for name, array in observation.items()}
        rest = {name: value for name, value in info.items() if name != "action_mask"}
        seen.append((arrays, reward, over, truncated, rest))
        steps -= 1
    return seen


@pytest.mark.parametrize("policy", ["uniform", "greedy"])
@pytest.mark.parametrize("name", IDS)
def test_a_copy_gives_what_a_fresh_environment_gives(name: str, policy: str) -> None:
    fresh, original = make(name, policy=policy), make(name, policy=policy)
    for env in (fresh, original):
        env.reset(seed=8)
    copied = copy.deepcopy(original)
    assert copied is not original
    expected = play(fresh, -1)
    assert expected[-1][2]
    assert play(copied, -1) == expected
    assert play(original, -1) == expected


@pytest.mark.parametrize("name", IDS)
def test_a_copy_leaves_the_original_alone(name: str) -> None:
    fresh, original = make(name, policy="uniform"), make(name, policy="uniform")
    for env in (fresh, original):
        env.reset(seed=8)
        play(env, 2)
    base = original.unwrapped
    assert isinstance(base, PolygymEnv)
    for seed in range(3):
        fork = base.fork()
        play(fork, -1, seed)
        fork.reset(seed=seed)
        fork.close()
    assert play(original, -1) == play(fresh, -1)
    again = [env.reset()[1]["kernel"] for env in (original, fresh)]
    assert again[0] == again[1]


def test_copies_of_measured_episodes_are_measured() -> None:
    env = make(IDS[2], reward="speedup")
    env.reset(seed=0)
    play(env, 3)
    endings = [play(twin, -1, seed)[-1] for seed, twin in enumerate([copy.deepcopy(env), env])]
    assert {ending[4]["status"] for ending in endings} == {"ok"}


def test_a_copy_of_what_has_not_begun_or_has_ended() -> None:
    env = make(IDS[1]).unwrapped
    assert isinstance(env, PolygymEnv)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.fork().step(0)
    env.reset(seed=0)
    play(env, -1)
    fork = env.fork()
    assert fork.export() == env.export()
    with pytest.raises(gymnasium.error.ResetNeeded):
        fork.step(0)
    fork.reset()


def _go_on(env: gymnasium.Env[Any, Any], answer: Connection) -> None:
    answer.send_bytes(pickle.dumps(play(env, -1)))
    answer.close()


def test_a_forked_process_goes_its_own_way() -> None:
    env = make(IDS[2], reward="speedup")
    env.reset(seed=0)
    play(env, -1)  # the parent's worker and compiler are at work
    env.reset(seed=1)
    play(env, 2)
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_go_on, args=(env, theirs))
    child.start()
    here = play(env, -1)
    assert ours.poll(60)
    there = pickle.loads(ours.recv_bytes())
    child.join(30)
    assert child.exitcode == 0
    assert [step[0] for step in there] == [step[0] for step in here]
    assert there[-1][4]["schedule"] == here[-1][4]["schedule"]
    assert there[-1][4]["status"] == here[-1][4]["status"] == "ok"


@pytest.mark.parametrize("name", IDS)
def test_an_observation_belongs_to_who_got_it(name: str) -> None:
    env = make(name)
    first, info = env.reset(seed=0)
    masks = env.get_wrapper_attr("action_masks")
    kept = {key: array.copy() for key, array in first.items()}
    play(env, 1)
    assert all(np.array_equal(first[key], kept[key]) for key in kept)
    for array in (*first.values(), info["action_mask"], masks()):
        array[:] = 1
    second, _ = env.reset(seed=0)
    assert all(np.array_equal(second[key], kept[key]) for key in kept)
