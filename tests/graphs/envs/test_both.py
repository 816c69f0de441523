"""What both environments of graphs promise: conventions, masks, rewards, forks, records."""

from __future__ import annotations

import copy
import json
import pickle
import warnings
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from polygym.errors import InputError
from polygym.graphs.envs import SaturateEnv, SubstituteEnv, replay
from polygym.graphs.envs.base import GraphEnv
from polygym.graphs.envs.records import read
from polygym.graphs.ir.graph import Graph
from polygym.graphs.ir.reference import evaluate
from polygym.graphs.ir.text import parse_graph, text_of
from polygym.rewrite.rule import parse_rules, text_of_rules
from tests.graphs.envs.playing import (
    IDS,
    RULES,
    SATURATE,
    SUBSTITUTE,
    images,
    make,
    played,
    products,
)

every_id = pytest.mark.parametrize("name", IDS)
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
KINDS: dict[str, type[GraphEnv]] = {SATURATE: SaturateEnv, SUBSTITUTE: SubstituteEnv}
MORE = {
    SATURATE: {"nodes": int, "classes": int, "steps": int, "bound": float},
    SUBSTITUTE: {"steps": int, "candidates": int, "left_out": int, "last": str},
}


def arrays_of(graph: Graph, seed: int = 0) -> dict[str, np.ndarray[Any, Any]]:
    """Return small integers for inputs and weights, on which linear operators are exact."""
    dice = np.random.default_rng(seed)
    return {
        one.name: dice.integers(-3, 4, one.tensor.shape).astype(np.float64)
        for one in (*graph.signatures, *graph.weights)
    }


def assert_equal_results(one: Graph, other: Graph) -> None:
    values = arrays_of(one)
    pairs = zip(evaluate([one.root], values), evaluate([other.root], values), strict=True)
    for expected, found in pairs:
        np.testing.assert_allclose(found, expected, rtol=1e-9)


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
        dice = np.random.default_rng(seed)
        while not env.episode.is_over:
            before, mask = env.episode, env.action_masks()
            assert len(env.action_meanings) == len(mask)
            for action, allowed in enumerate(mask):
                after = before.after(action)
                assert (after.refused == "") == bool(allowed)
                assert (after.reward == -0.1 and after.illegal == 1) == (not allowed)
                if not allowed:
                    assert after.cost == before.cost
                    assert after.graph == before.graph
                    assert after.actions == before.actions
            env.step(int(dice.choice(np.flatnonzero(mask))))


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
                env.episode.task.prices.of_graph(env.graph.root)[0]
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
        dice, seen, over = np.random.default_rng(seed), [], False
        while not over:
            action = int(dice.choice(np.flatnonzero(env.action_masks())))
            observation, reward, over, _, info = env.step(action)
            seen.append((action, as_bytes(observation), reward, {**info, "action_mask": None}))
        return seen

    fresh, env = make(name), make(name)
    for one in (fresh, env):
        _, info = one.reset(seed=4)
        one.step(int(np.flatnonzero(info["action_mask"])[1]))
    expected = rest(fresh, 9)
    copies = [env.fork(), copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    for seed, one in enumerate([env.fork(), env.fork()]):
        rest(one, seed)  # what copies do changes nothing
    assert all(rest(one, 9) == expected for one in (*copies, env))
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
def test_records_are_played_again(name: str) -> None:
    env = make(name, max_steps=5, seed=3)
    for seed in range(2):
        steps = played(env, seed)
        next(steps)
        for record in (env.export(), *(env.export() for _ in steps)):
            again = replay(read(json.dumps(record), "x.json"), "x.json")
            assert again.export() == record
        assert again.graph == env.graph
        assert again.episode.status == env.episode.status


@every_id
def test_records_of_episodes_that_were_given_up(name: str) -> None:
    env = make(name)
    _, info = env.reset(seed=0)
    for _ in range(3):
        env.step(int(np.flatnonzero(info["action_mask"] == 0)[-1]))
    assert replay(env.export()).export() == env.export()
    assert replay(env.export()).episode.illegal == 3
    while not env.episode.is_over:
        env.step(int(np.flatnonzero(info["action_mask"] == 0)[-1]))
    assert replay(env.export()).episode.status == "invalid"


@every_id
def test_damaged_records_are_refused(name: str) -> None:
    env = make(name, seed=3)
    for _ in played(env, 1):
        pass
    data = env.export()
    for place, (what, record) in enumerate(damaged(data)):
        found = refusal(record, "x.json")
        assert what in found, (place, found)
    for text in ("", "[]", "{}", '{"format": "polygym graph episode", "version": 99}', "[" * 9999):
        with pytest.raises(InputError, match=r"x\.json"):
            read(text, "x.json")


def refusal(record: dict[str, Any], name: str) -> str:
    with pytest.raises(InputError) as caught:
        replay(record, name)
    return str(caught.value)


def damaged(data: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return records with one defect each, with a part of the message that refuses them."""
    first, *_, last = data["actions"]
    rules = {**data["rules"], "table": text_of_rules(RULES[1:])}
    return [
        ("x.json: cost: expected", {**data, "cost": data["cost"] * 2 + 1}),
        ("expected the actions to lead to 'running'", {**data, "status": "running"}),
        ("x.json: expected the result", {**data, "result": text_of(images())}),
        ("x.json: expected the rules of the record", {**data, "rules": rules}),
        ("entry rules is missing", {key: one for key, one in data.items() if key != "rules"}),
        ("entry more is unknown", {**data, "more": 1}),
        ("entry polygym: expected a version", {**data, "polygym": "hope"}),
        ("entry polygym: expected a text", {**data, "polygym": 3}),
        ("entry polygym is missing", {key: data[key] for key in data if key != "polygym"}),
        ("hope", {**data, "actions": [{**first, "action": "hope"}]}),
        ("entry actions.0.action is missing", {**data, "actions": [{"cost": 1.0}]}),
        ("x.json: action 1: the cost", {**data, "actions": [{**first, "cost": 1e9}]}),
        ("the episode has ended", {**data, "actions": [*data["actions"], last]}),
        ("found 'running'", {**data, "actions": data["actions"][:-1]}),
        ("x.json: the entry arguments", {**data, "arguments": {**data["arguments"], "hope": 1}}),
        ("x.json: the entry environment", {**data, "environment": "polygym/Schedule-v0"}),
        ("x.json: graph", {**data, "graph": "graph g"}),
    ]


@every_id
def test_graphs_come_from_the_library_from_files_and_as_values(name: str, tmp_path: Path) -> None:
    path = tmp_path / "g.txt"
    path.write_text(text_of(images()))
    env = make(name, f"bert, {path}", rules="default")
    assert env.targets == ("bert", str(path))
    seen = {env.reset(seed=seed)[1]["graph"] for seed in range(8)}
    assert seen == {"bert", "images"}
    assert env.reset(options={"graph": "nasrnn"})[1]["graph"] == "nasrnn"
    assert env.reset(options={"graph": products()})[1]["graph"] == "products"
    path.write_text(text_of(products()))
    assert env.reset(options={"graph": str(path)})[1]["graph"] == "products", "it is read again"
    path.write_text("graph broken")
    before = env.episode
    with pytest.raises(InputError):
        env.reset(options={"graph": str(path)})
    assert env.episode is before, "all or nothing"


@every_id
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"graph": "bret"}, "bert"),
        ({"graph": ""}, "commas"),
        ({"graph": 3}, "a name"),
        ({"size": "huge"}, "paper"),
        ({"costs": "fame"}, "measured"),
        ({"costs": 3}, "measured"),
        ({"rules": "nowhere.rules"}, "nowhere"),
        ({"rules": 3}, "rules"),
        ({"rules": [*RULES, RULES[0]]}, "different names"),
        ({"threads": 0}, "threads"),
        ({"seed": -1}, "seed"),
        ({"max_steps": 0}, "max_steps"),
        ({"max_nodes": True}, "max_nodes"),
        ({"render_mode": "human"}, "ansi"),
    ],
)
def test_bad_arguments_are_refused_with_advice(
    name: str, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        KINDS[name](**{"graph": "bert", **arguments})


@every_id
def test_bad_options_are_refused(name: str) -> None:
    env = make(name)
    for options in ({"kernel": "gemm"}, {"graph": "bret"}, []):
        with pytest.raises(InputError):
            env.reset(options=options)  # type: ignore[arg-type]


@every_id
def test_a_graph_that_costs_nothing_is_refused(name: str) -> None:
    from polygym.graphs.ir.build import entering

    with pytest.raises(InputError, match="costs something"):
        make(name, Graph.of("nothing", entering("x", 2))).reset()


@every_id
def test_rules_come_from_files(name: str, tmp_path: Path) -> None:
    path = tmp_path / "my.rules"
    path.write_text(text_of_rules(RULES[:4]))
    env = make(name, rules=str(path))
    assert env.table == RULES[:4]
    env.reset(seed=0)
    path.unlink()
    assert replay(env.export()).export() == env.export(), "a record has the table"
    for text, message in (
        ("odd: (ewadd ?x ?y) => (ewadd ?y ?x) if (odder ?x)", "odder"),
        ("wrong: (ewadd ?x ?y) => (ewmul ?x ?y)", "wrong is not sound"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=message):
            KINDS[name]("bert", rules=str(path))


@every_id
def test_records_with_unsound_rules_are_refused(name: str) -> None:
    env = make(name, rules=parse_rules("wrong: (ewadd ?x ?y) => (ewmul ?x ?y)"))
    env.reset(seed=0)
    with pytest.raises(InputError, match="wrong is not sound"):
        replay(env.export())


@every_id
def test_costs_may_be_a_value(name: str) -> None:
    class Nodes:
        name, unit = "nodes", "1"

        def cost(self, head: Any, children: tuple[Any, ...], data: Any) -> float:
            return 1.0

    env = make(name, costs=Nodes())
    _, info = env.reset(seed=0)
    assert info["initial_cost"] == len([*products().nodes()]) + 1, "and the node that joins results"
    for _ in played(env, 0):
        pass
    record = env.export()
    assert replay(record, costs=Nodes()).export() == record
    with pytest.raises(InputError, match="costs"):
        replay(record)


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
def test_specifications_survive_json(name: str) -> None:
    env = gymnasium.make(f"polygym:{name}", graph="bert", max_steps=9, seed=1)
    assert env.spec is not None
    spec = gymnasium.envs.registration.EnvSpec.from_json(env.spec.to_json())
    again = gymnasium.make(spec).unwrapped
    assert isinstance(again, GraphEnv)
    assert again.observation_space == env.observation_space
    assert again.reset()[1]["graph"] == "bert"


@every_id
def test_the_docstring_has_what_gymnasium_documents(name: str) -> None:
    text = type(make(name)).__doc__ or ""
    for heading in ("Description", "Action Space", "Observation Space", "Rewards", "Masks"):
        if heading == "Masks":
            heading = "Forbidden Actions"
        assert f"## {heading}" in text
    for heading in ("Starting State", "Episode End", "Arguments", "Information", "Version History"):
        assert f"## {heading}" in text
