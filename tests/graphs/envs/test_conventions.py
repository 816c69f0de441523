"""Promises of both graph environments: conventions, masks, rewards, forks, pictures."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from polygym.errors import InputError
from polygym.graphs.ir.graph import Graph
from polygym.graphs.ir.reference import evaluate
from polygym.graphs.ir.text import parse_graph
from tests.graphs.envs.episodes import (
    SATURATE,
    SUBSTITUTE,
    every_id,
    images,
    make,
    played,
    products,
)

INFO = {
    "action_mask": np.ndarray,
    "graph": str,
    "status": str,
    "cost": float,
    "initial_cost": float,
    "gain": float,
    "refused": str,
    "is_success": bool,
}
MORE = {
    SATURATE: {"nodes": int, "classes": int, "steps": int, "bound": float},
    SUBSTITUTE: {"steps": int, "candidates": int, "left_out": int, "last": str},
}


def arrays_of(graph: Graph, seed: int = 0) -> dict[str, np.ndarray[Any, Any]]:
    """Return small integers for inputs and weights, on which linear operators are exact."""
    rng = np.random.default_rng(seed)
    return {
        signature.name: rng.integers(-3, 4, signature.tensor.shape).astype(np.float64)
        for signature in (*graph.signatures, *graph.weights)
    }


def assert_equal_results(one: Graph, other: Graph) -> None:
    values = arrays_of(one)
    pairs = zip(evaluate([one.root], values), evaluate([other.root], values), strict=True)
    for expected, array in pairs:
        np.testing.assert_allclose(array, expected, rtol=1e-9)


def as_bytes(observation: dict[str, Any]) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in observation.items()}


@every_id
@pytest.mark.parametrize("graph", [products, images])
def test_gymnasium_checks_it(name: str, graph: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = make(name, graph())
        assert env.spec is not None
        env.spec.nondeterministic = False  # with static costs it is not
        check_env(env, skip_render_check=True)


@every_id
def test_stable_baselines_checks_it(name: str) -> None:
    from stable_baselines3.common.env_checker import check_env as check

    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        check(make(name))


@every_id
@pytest.mark.parametrize("wild", [False, True])
def test_spaces_types_and_keys_are_always_the_same(name: str, wild: bool) -> None:
    env = make(name)
    expected = {**INFO, **MORE[name]}
    for seed in range(4):
        for _, observation, reward, terminated, truncated, info in played(env, seed, wild=wild):
            assert env.observation_space.contains(observation)
            assert type(reward) is float
            assert type(terminated) is bool
            assert truncated is False
            assert {key: type(value) for key, value in info.items()} == expected
            for mask in (info["action_mask"], observation["action_mask"]):
                assert mask.dtype == np.int8
                assert np.array_equal(mask, env.action_masks())
        assert info["action_mask"].all(), "after the end every action is allowed"
        assert not any(env.episode.mask())


@every_id
@pytest.mark.parametrize("graph", [products, images])
def test_masks_are_exact_and_say_why(name: str, graph: Any) -> None:
    env = make(name, graph(), max_steps=6)
    for seed in range(3):
        env.reset(seed=seed)
        rng = np.random.default_rng(seed)
        while not env.episode.is_over:
            before, mask = env.episode, env.action_masks()
            assert len(env.action_meanings) == len(mask)
            for action, allowed in enumerate(mask):
                after = before.after(action)
                assert (after.rejection == "") == bool(allowed)
                assert (after.reward == -0.1 and after.illegal == 1) == (not allowed)
                if not allowed:
                    assert after.cost == before.cost
                    assert after.graph == before.graph
                    assert after.actions == before.actions
            env.step(int(rng.choice(np.flatnonzero(mask))))


@every_id
def test_a_hundred_forbidden_actions_end_it(name: str) -> None:
    env = make(name)
    observation, info = env.reset(seed=0)
    action = int(np.flatnonzero(info["action_mask"] == 0)[-1])
    for _ in range(99):
        after, reward, over, _, info = env.step(action)
        assert (reward, over, info["status"]) == (-0.1, False, "running")
        assert info["refused"]
        assert info["gain"] == 0.0
    assert {key for key in after if after[key].tobytes() != observation[key].tobytes()} == {
        "progress"
    }
    _, reward, over, _, info = env.step(action)
    assert (reward, over, info["status"], info["is_success"]) == (-1.0, True, "invalid", False)
    assert env.graph == products()
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)


@every_id
def test_what_is_no_action_is_refused(name: str) -> None:
    env = make(name)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.export()
    env.reset(seed=0)
    for action in (-1, env.action_space.n, "0", 1.0):
        with pytest.raises(InputError, match="an action: expected"):
            env.step(action)  # type: ignore[arg-type]


@every_id
@pytest.mark.parametrize("graph", [products, images])
def test_the_graph_computes_what_it_did(name: str, graph: Any) -> None:
    start = graph()
    env = make(name, start, max_steps=12)
    seen = {start}
    for seed in range(4):
        for *_, info in played(env, seed):
            if env.graph not in seen:
                assert_equal_results(start, env.graph)
                seen.add(env.graph)
            assert info["cost"] == pytest.approx(
                env.episode.task.cost_cache.of_graph(env.graph.root)[0]
            )
            assert parse_graph(env.text()) == env.graph
    assert len(seen) > 2


@every_id
def test_a_seed_decides_everything(name: str) -> None:
    def run() -> list[Any]:
        env = make(name, "bert,squeezenet", max_steps=4)
        return [
            (as_bytes(observation), reward, {**info, "action_mask": None})
            for seed in (1, 2, 3)
            for _, observation, reward, _, _, info in played(env, seed)
        ]

    first = run()
    assert first == run()
    assert {info["graph"] for *_, info in first} == {"bert", "squeezenet"}


@every_id
def test_the_constructor_s_seed_is_that_of_the_first_reset(name: str) -> None:
    def graphs(own: int | None, seed: int | None) -> list[str]:
        env = make(name, "all", rules="default", seed=own)
        return [env.reset(seed=seed if not number else None)[1]["graph"] for number in range(4)]

    assert graphs(3, None) == graphs(None, 3) == graphs(5, 3)
    assert graphs(3, None) != graphs(4, None)


@every_id
def test_copies_go_their_own_way(name: str) -> None:
    def rest(env: Any, seed: int) -> list[Any]:
        rng, seen, over = np.random.default_rng(seed), [], False
        while not over:
            action = int(rng.choice(np.flatnonzero(env.action_masks())))
            observation, reward, over, _, info = env.step(action)
            seen.append((action, as_bytes(observation), reward, {**info, "action_mask": None}))
        return seen

    fresh, env = make(name), make(name)
    for graph_env in (fresh, env):
        _, info = graph_env.reset(seed=4)
        graph_env.step(int(np.flatnonzero(info["action_mask"])[1]))
    expected = rest(fresh, 9)
    copies = [env.fork(), copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    for seed, graph_env in enumerate([env.fork(), env.fork()]):
        rest(graph_env, seed)  # what copies do changes nothing
    assert all(rest(copy_, 9) == expected for copy_ in (*copies, env))
    assert env.fork().np_random is not env.np_random
    assert copies[2].export() == env.export()


@every_id
def test_an_observation_belongs_to_who_got_it(name: str) -> None:
    env = make(name)
    first, info = env.reset(seed=0)
    kept = as_bytes(first)
    for array in (*first.values(), info["action_mask"], env.action_masks()):
        array[:] = 1
    assert as_bytes(env.reset(seed=0)[0]) == kept


@every_id
def test_texts_and_svg(name: str) -> None:
    for mode, begin in (("ansi", "products:"), ("svg", "<svg")):
        env = make(name, render_mode=mode)
        env.reset(seed=0)
        for _ in range(2):
            shown = env.render()
            assert "products" in shown
            assert shown.startswith(begin)
            env.step(int(np.flatnonzero(env.action_masks())[1]))


@every_id
def test_pixels(name: str) -> None:
    env = gymnasium.make(f"polygym:{name}", graph=products(), render_mode="rgb_array")
    env.reset(seed=0)
    first = env.render()
    env.step(11 if name == SATURATE else 1)
    second = env.render()
    assert first.shape == second.shape == (640, 960, 3)
    assert first.dtype == np.uint8
    assert not np.array_equal(first, second)


@every_id
def test_the_docstring_has_what_gymnasium_documents(name: str) -> None:
    text = type(make(name)).__doc__ or ""
    for heading in ("Description", "Action Space", "Observation Space", "Rewards", "Masks"):
        if heading == "Masks":
            heading = "Forbidden Actions"
        assert f"## {heading}" in text
    for heading in ("Starting State", "Episode End", "Arguments", "Information", "Version History"):
        assert f"## {heading}" in text
