"""Observations as graphs: what the flat arrays say, and nothing beside it."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from polygym.envs import GraphView
from polygym.envs.graph_view import edge_columns, loop_node_columns, node_columns
from polygym.errors import InputError
from polygym.mdp.observation.arrays import MOST_STATEMENTS
from polygym.mdp.observation.episode_arrays import (
    DEPENDENCE_COLUMNS,
    ROW_COLUMNS,
    STATEMENT_COLUMNS,
)
from polygym.mdp.observation.transform_arrays import LOOP_COLUMNS
from tests.c_programs import Y_AX
from tests.envs.episodes import IDS, make

EVERY = [(name, {}) for name in IDS] + [("polygym/Optimize-v0", {"start": "isl", "threads": 2})]


@pytest.mark.parametrize(("name", "arguments"), EVERY)
@pytest.mark.parametrize("kernel", ["mvt", "lu"])
def test_it_says_what_the_flat_arrays_say(
    name: str, kernel: str, arguments: dict[str, Any]
) -> None:
    env = make(name, kernel=kernel, **arguments)
    view = GraphView(env)
    shown, info = view.reset(seed=3)
    rng, over = np.random.default_rng(3), False
    for _ in range(60):
        flat, _ = env._observation_and_info()
        assert view.observation_space.contains(shown)
        assert np.array_equal(view.action_masks(), env.action_masks())
        expect_equal(shown, flat)
        if over:
            break
        action = int(rng.choice(np.flatnonzero(info["action_mask"])))
        shown, _, over, _, info = view.step(action)


def expect_equal(shown: dict[str, Any], flat: dict[str, np.ndarray]) -> None:
    """Compare number by number, each found by its name."""
    graph = shown["graph"]
    statements = flat["statements"].reshape(MOST_STATEMENTS, -1)
    dependences = flat["dependences"].reshape(-1, len(DEPENDENCE_COLUMNS))
    rows = flat["rows"].reshape(-1, MOST_STATEMENTS, len(ROW_COLUMNS))
    names = node_columns(len(rows), decides="nest_of" in flat)
    count, edges = statements[:, 0].sum(), dependences[:, 0].sum()
    if "loops" in flat:
        expect_loops(graph, flat, count, edges)
        names += loop_node_columns()
    else:
        assert (len(graph.nodes), len(graph.edges)) == (count, edges)
    assert graph.nodes.shape[1] == len(names)
    for number, node in enumerate(graph.nodes[:count]):
        fields = dict(zip(names, node, strict=True))
        for column, name in enumerate(STATEMENT_COLUMNS):
            assert fields.pop(name) == statements[number, column]
        for column, name in enumerate(ROW_COLUMNS):
            for dimension in range(len(rows)):
                assert fields.pop(f"row_{dimension + 1}_{name}") == rows[dimension, number, column]
            for table in ("generator", "point"):
                value = flat[table].reshape(MOST_STATEMENTS, -1)[number, column]
                assert fields.pop(f"{table}_{name}") == value
        if "nest_of" in flat:
            assert fields.pop("nest") == flat["nest_of"][number]
        assert not any(fields.pop(name) for name in loop_node_columns() if name in fields)
        assert not fields
    assert len(graph.edges) == len(graph.edge_links)
    of_dependences = zip(graph.edges[:edges], graph.edge_links[:edges], strict=True)
    for row, (edge, link) in zip(dependences, of_dependences, strict=False):
        fields = dict(zip(DEPENDENCE_COLUMNS, row, strict=True))
        assert (fields.pop("exists"), fields.pop("source"), fields.pop("sink")) == (1, *link)
        assert fields == dict(zip(edge_columns(), edge, strict=True))
    beside = {"statements", "rows", "generator", "point", "nest_of", "dependences"}
    beside |= {"loops", "loop_of"}
    assert set(shown) == {"graph", *(set(flat) - beside)}
    for name in set(shown) - {"graph"}:
        assert np.array_equal(shown[name], flat[name])


def expect_loops(graph: Any, flat: dict[str, np.ndarray], count: int, edges: int) -> None:
    """Compare the nodes of loops, and the edges to what is in their bodies."""
    loops = flat["loops"].reshape(-1, len(LOOP_COLUMNS))
    loops = loops[loops[:, LOOP_COLUMNS.index("exists")] == 1]
    assert len(graph.nodes) == count + len(loops)
    assert np.array_equal(graph.nodes[count:, -len(LOOP_COLUMNS) :], loops)
    assert not graph.nodes[count:, : -len(LOOP_COLUMNS)].any()
    around = {count + k: int(row[LOOP_COLUMNS.index("parent")]) for k, row in enumerate(loops)}
    around |= {k: int(flat["loop_of"][k]) for k in range(count)}
    expected = {(parent - 1 + count, node) for node, parent in around.items() if parent}
    links = list(map(tuple, graph.edge_links[edges:].tolist()))
    assert len(links) == len(expected) == len(set(links))
    assert set(links) == expected
    assert not graph.edges[edges:].any()


def test_the_example_of_the_module(tmp_path: Any) -> None:
    file = tmp_path / "yax.c"
    file.write_text(Y_AX)
    shown, _ = GraphView(make("polygym/Schedule-v0", kernel=str(file))).reset(seed=0)
    assert len(shown["graph"].nodes) == 2
    assert sorted(map(tuple, shown["graph"].edge_links.tolist())) == [(0, 1), (1, 1)]
    shown, _ = GraphView(make("polygym/Transform-v0", kernel=str(file))).reset(seed=0)
    links = [(0, 1), (1, 1), (2, 0), (3, 4), (4, 1)]
    assert len(shown["graph"].nodes) == 5
    assert sorted(map(tuple, shown["graph"].edge_links.tolist())) == links


def test_a_program_without_dependences_has_no_edges(tmp_path: Any) -> None:
    file = tmp_path / "copy.c"
    file.write_text(
        "void f(int n, double A[n], double B[n]) {\n#pragma scop\n"
        "  for (int i = 0; i < n; i++)\n    A[i] = B[i];\n#pragma endscop\n}\n"
    )
    view = GraphView(make("polygym/Schedule-v0", kernel=str(file)))
    shown, _ = view.reset(seed=0)
    assert shown["graph"].edges.shape == (0, len(edge_columns()))
    assert view.observation_space.contains(shown)


@pytest.mark.filterwarnings("ignore:.*different from the unwrapped version")
@pytest.mark.parametrize("name", IDS)
def test_gymnasium_takes_it(name: str) -> None:
    env = gymnasium.make(f"polygym:{name}", kernel="mvt", reward="static", dataset="mini")
    check_env(GraphView(env), skip_render_check=True)


def test_vectors_have_it_as_a_wrapper() -> None:
    envs = gymnasium.make_vec(
        "polygym:polygym/Schedule-v0",
        2,
        vectorization_mode="sync",
        wrappers=[GraphView],
        kernel="mvt,lu",
        reward="static",
    )
    shown, _ = envs.reset(seed=0)
    assert len(shown["graph"]) == 2
    envs.close()


def test_other_observations_are_refused() -> None:
    env = make("polygym/Schedule-v0", kernel="mvt")
    flat = gymnasium.wrappers.FlattenObservation(env)
    with pytest.raises(InputError, match="expected one of polygym's environments with its own"):
        GraphView(flat)
    with pytest.raises(InputError, match="expected one of polygym's environments"):
        GraphView(gymnasium.make("CartPole-v1"))
