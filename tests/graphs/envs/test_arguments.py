"""Arguments of the graph environments: graphs, rules, options, and refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import pytest

from polygym.errors import InputError
from polygym.graphs.envs import SaturateEnv, SubstituteEnv, replay
from polygym.graphs.envs.base import GraphEnv
from polygym.graphs.ir.graph import Graph
from polygym.graphs.ir.text import graph_text
from polygym.rewrite.rule import rules_text
from tests.graphs.envs.episodes import RULES, SATURATE, SUBSTITUTE, every_id, images, make, products

KINDS: dict[str, type[GraphEnv]] = {SATURATE: SaturateEnv, SUBSTITUTE: SubstituteEnv}


@every_id
def test_graphs_come_from_the_library_from_files_and_as_values(name: str, tmp_path: Path) -> None:
    path = tmp_path / "g.txt"
    path.write_text(graph_text(images()))
    env = make(name, f"bert, {path}", rules="default")
    assert env.targets == ("bert", str(path))
    seen = {env.reset(seed=seed)[1]["graph"] for seed in range(8)}
    assert seen == {"bert", "images"}
    assert env.reset(options={"graph": "nasrnn"})[1]["graph"] == "nasrnn"
    assert env.reset(options={"graph": products()})[1]["graph"] == "products"
    path.write_text(graph_text(products()))
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
    from polygym.graphs.ir.build import graph_input

    with pytest.raises(InputError, match="costs something"):
        make(name, Graph.of("nothing", graph_input("x", 2))).reset()


@every_id
def test_rules_come_from_files(name: str, tmp_path: Path) -> None:
    path = tmp_path / "my.rules"
    path.write_text(rules_text(RULES[:4]))
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
def test_specifications_survive_json(name: str) -> None:
    env = gymnasium.make(f"polygym:{name}", graph="bert", max_steps=9, seed=1)
    assert env.spec is not None
    spec = gymnasium.envs.registration.EnvSpec.from_json(env.spec.to_json())
    again = gymnasium.make(spec).unwrapped
    assert isinstance(again, GraphEnv)
    assert again.observation_space == env.observation_space
    assert again.reset()[1]["graph"] == "bert"
