"""Environments of graphs for the tests: small graphs, few rules, random episodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest

from polygym.graphs.envs.base import GraphEnv
from polygym.graphs.ir.build import binary, concat, conv, graph_input, matmul, relu, tanh, weight
from polygym.graphs.ir.graph import Graph
from polygym.rewrite.rule import parse_rules

SATURATE, SUBSTITUTE = "polygym/Saturate-v0", "polygym/Substitute-v0"
every_id = pytest.mark.parametrize("name", [SATURATE, SUBSTITUTE])

RULES = tuple(
    parse_rules(
        """
        add-commutes: (ewadd ?x ?y) => (ewadd ?y ?x)
        mul-distributes: (ewmul (ewadd ?x ?y) ?z) <=> (ewadd (ewmul ?x ?z) (ewmul ?y ?z))
        matmul-relu: (relu (matmul none ?x ?y)) <=> (matmul relu ?x ?y)
        matmul-associates: (matmul none ?x (matmul none ?y ?z))
            <=> (matmul none (matmul none ?x ?y) ?z)
        conv-relu: (relu (conv ?a ?b ?p none ?x ?w)) => (conv ?a ?b ?p relu ?x ?w)
        transpose-twice: (transpose (transpose ?x ?p) ?q) => (transpose ?x (=compose ?p ?q))
        columns: (concat2 1 (matmul ?a ?x ?y) (matmul ?a ?x ?z)) => (matmul ?a ?x (concat2 1 ?y ?z))
            if (rank ?x 2)
        split-first: (split0 (split ?n ?i (concat2 ?n ?x ?y))) => ?x if (equal ?i (=extent ?x ?n))
        filters: (concat2 1 (conv ?a ?b ?p ?c ?x ?w) (conv ?a ?b ?p ?c ?x ?v))
            => (conv ?a ?b ?p ?c ?x (concat2 0 ?w ?v)) if (equal (=groups ?x ?w) 1)
        two-products: (matmul ?a ?x ?v) & (matmul ?a ?x ?w) => (split0 =m) & (split1 =m)
            let m = (split 1 (=extent ?v 1) (matmul ?a ?x (concat2 1 ?v ?w))) if (rank ?x 2)
        two-convolutions: (conv ?a ?b ?p ?c ?x ?w) & (conv ?a ?b ?p ?c ?x ?v)
            => (split0 =m) & (split1 =m)
            let m = (split 1 (=extent ?w 0) (conv ?a ?b ?p ?c ?x (concat2 0 ?w ?v)))
            if (equal (=groups ?x ?w) 1)
        two-sums: (ewadd ?x ?v) & (ewadd ?x ?w) => (split0 =m) & (split1 =m)
            let m = (split 0 (=extent ?v 0) (ewadd (concat2 0 ?x ?x) (concat2 0 ?v ?w)))
        """
    )
)


def products() -> Graph:
    """Return two products of one input that are joined, and a chain of two."""
    x = graph_input("x", 4, 8)
    first = relu(matmul(x, weight("a", 8, 8)))
    second = relu(matmul(x, weight("b", 8, 8)))
    chain = matmul(matmul(x, weight("c", 8, 16)), weight("d", 16, 4))
    sum_ = binary("ewadd", first, second)
    return Graph.of("products", concat(1, [sum_, binary("ewmul", sum_, first)]), tanh(chain))


def images() -> Graph:
    """Return two convolutions of one image."""
    x = graph_input("x", 1, 3, 6, 6)
    term, other = (relu(conv(x, weight(name, 4, 3, 3, 3))) for name in "vw")
    return Graph.of("images", concat(1, [term, other]), binary("ewadd", term, other))


def make(name: str, graph: Any = None, **arguments: Any) -> GraphEnv:
    """Return an environment on a small graph, without wrappers; e-graphs stay small too."""
    graph = products() if graph is None else graph
    given = {"graph": graph, "rules": RULES, "max_nodes": 400, **arguments}
    env = gymnasium.make(f"polygym:{name}", **given).unwrapped
    assert isinstance(env, GraphEnv)
    return env


ENDS = {SATURATE: (13, 14), SUBSTITUTE: (0,)}


def played(env: Any, seed: int, *, wild: bool = False) -> Iterator[tuple[Any, ...]]:
    """Play a random episode, under the mask or, ``wild``, not; yield action and step.

    Random actions seldom end it while others are allowed.
    """
    ends = ENDS[env.unwrapped.ID]
    rng = np.random.default_rng(seed)
    _, info = env.reset(seed=seed)
    over = False
    while not over:
        mask = np.ones_like(info["action_mask"]) if wild else info["action_mask"]
        others = [action for action in np.flatnonzero(mask) if action not in ends]
        goes_on = others and rng.random() < 0.9
        action = int(rng.choice(others if goes_on else np.flatnonzero(mask)))
        observation, reward, terminated, truncated, info = env.step(action)
        over = terminated or truncated
        yield action, observation, reward, terminated, truncated, info
