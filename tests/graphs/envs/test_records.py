"""Records of episodes about graphs: played again they come to the same, or are refused."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from polygym.errors import InputError
from polygym.graphs.envs import replay
from polygym.graphs.envs.records import read_record
from polygym.graphs.ir.text import graph_text
from polygym.rewrite.rule import parse_rules, rules_text
from tests.graphs.envs.episodes import RULES, every_id, images, make, played, products


@every_id
def test_records_are_played_again(name: str) -> None:
    env = make(name, max_steps=5, seed=3)
    for seed in range(2):
        steps = played(env, seed)
        next(steps)
        for record in (env.export(), *(env.export() for _ in steps)):
            again = replay(read_record(json.dumps(record), "x.json"), "x.json")
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
        message = refusal(record, "x.json")
        assert what in message, (place, message)
    for text in ("", "[]", "{}", '{"format": "polygym graph episode", "version": 99}', "[" * 9999):
        with pytest.raises(InputError, match=r"x\.json"):
            read_record(text, "x.json")


def refusal(record: dict[str, Any], name: str) -> str:
    with pytest.raises(InputError) as caught:
        replay(record, name)
    return str(caught.value)


def damaged(data: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return records with one defect each, with a part of the message that refuses them."""
    first, *_, last = data["actions"]
    rules = {**data["rules"], "table": rules_text(RULES[1:])}
    return [
        ("x.json: cost: expected", {**data, "cost": data["cost"] * 2 + 1}),
        ("expected the actions to lead to 'running'", {**data, "status": "running"}),
        ("x.json: expected the result", {**data, "result": graph_text(images())}),
        ("x.json: expected the rules of the record", {**data, "rules": rules}),
        ("entry rules is missing", {key: value for key, value in data.items() if key != "rules"}),
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
