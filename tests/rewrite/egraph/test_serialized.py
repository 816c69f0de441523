"""E-graphs as JSON: both forms are read, and what is damaged is refused by name."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from polygym.errors import InputError
from polygym.rewrite.domain import TrivialDomain
from polygym.rewrite.egraph import CycleFilter, EGraph, saturate
from polygym.rewrite.egraph.serialized import (
    SerializedEGraph,
    egraph_document,
    parse_egraph,
    read_egraph,
)
from polygym.rewrite.extraction import extract_optimally, extract_serialized
from polygym.rewrite.extraction.costs import node_costs
from polygym.rewrite.rule import parse_rules
from polygym.rewrite.s_expressions import parse_term


def document(**changes: Any) -> dict[str, Any]:
    """Return f(x) = g(y) with one class that needs itself."""
    nodes: dict[str, Any] = {
        "a": {"op": "f", "eclass": "0", "children": ["x"], "cost": 2.0},
        "b": {"op": "g", "eclass": "0", "children": ["y"], "cost": 0.5},
        "x": {"op": "x", "eclass": "1", "children": [], "cost": 0},
        "y": {"op": "y", "eclass": "2", "children": [], "cost": 1},
        "z": {"op": "z", "eclass": "2", "children": ["y"], "cost": 0},
    }
    return {"nodes": nodes, "root_eclasses": ["0"], "class_data": {}, **changes}


def with_node(**changes: Any) -> dict[str, Any]:
    made = document()
    made["nodes"]["a"] = {**made["nodes"]["a"], **changes}
    return made


def best(graph: SerializedEGraph) -> tuple[float, dict[str, str]]:
    _, found = extract_serialized(graph, 10.0)
    return found.dag_cost, graph.choices(found.nodes)


def test_nodes_with_their_classes() -> None:
    graph = parse_egraph(document())
    assert graph.ids == ("a", "b", "x", "y", "z")
    assert graph.operators == ("f", "g", "x", "y", "z")
    assert graph.keys == ((0, 2), (0, 3), (0,), (0,), (0, 3), (0, 0))
    assert graph.costs == (2.0, 0.5, 0.0, 1.0, 0.0, 0.0)
    assert best(graph) == (1.5, {"0": "b", "2": "y"})


def test_a_child_may_be_a_class_and_a_name_a_number() -> None:
    nodes = {
        "0.0": {"op": "f", "eclass": 0, "children": [1], "cost": 1},
        "1.0": {"op": "x", "eclass": 1},
    }
    graph = parse_egraph({"nodes": nodes, "root_eclasses": [0]})
    assert best(graph) == (2.0, {"0": "0.0", "1": "1.0"})


def test_lists_of_nodes_and_classes() -> None:
    by_place = {"nodes": [[1], [2], [], [], [2]], "classes": [[0, 1], [2], [3, 4]]}
    graph = parse_egraph(by_place)
    assert graph.roots == (0,)
    assert best(graph)[0] == 2.0
    by_name = {
        "nodes": {"a": ["1"], "b": ["2"], "x": [], "y": [], "z": ["2"]},
        "classes": {"0": ["a", "b"], "1": ["x"], "2": ["y", "z"]},
        "labels": {"a": "f"},
        "costs": {"a": 2, "b": 0.5, "x": 0, "z": 0},
    }
    graph = parse_egraph(by_name)
    assert graph.operators[:2] == ("f", "b")
    assert best(graph) == (1.5, {"0": "b", "2": "y"})


def test_roots_are_counted_once_and_may_be_chosen() -> None:
    graph = parse_egraph(document(root_eclasses=["2", "0", "2"]))
    assert [graph.class_names[root] for root in graph.roots] == ["2", "0"]
    assert best(graph) == (1.5, {"2": "y", "0": "b"})
    assert best(parse_egraph(document(), ["1"])) == (0.0, {"1": "x"})


def test_what_is_subsumed_is_not_chosen() -> None:
    made = document()
    made["nodes"]["b"]["subsumed"] = True
    assert best(parse_egraph(made)) == (2.0, {"0": "a", "1": "x"})


@pytest.mark.parametrize(
    ("damaged", "message"),
    [
        ([], 'expected an object with "nodes"'),
        ({"nodes": {}}, 'expected an object with "nodes"'),
        ({"nodes": ["a"]}, "expected an object of nodes by their ids"),
        ({"nodes": {"a": 1}, "root_eclasses": ["0"]}, "node a: expected an object, found 1"),
        (with_node(eclass=None), "node a: eclass: expected a name, found None"),
        (with_node(children="x"), "node a: children: expected a list, found 'x'"),
        (with_node(children=["q"]), "node a: expected the id of a node or a class, found 'q'"),
        (with_node(children=[1.5]), "node a: expected the id of a node or a class, found 1.5"),
        (with_node(cost=-1), "node a: cost: expected 0 or more, found -1"),
        (with_node(cost="2"), "node a: cost: expected 0 or more, found '2'"),
        (with_node(cost=math.nan), "node a: cost: expected 0 or more, found nan"),
        (document(root_eclasses=["9"]), "root_eclasses: expected the id .* found '9'"),
        (document(root_eclasses="0"), "root_eclasses: expected a list of classes, found '0'"),
        (document(root_eclasses=[]), r"found none: --class names them \(.*no node needs: 0\)"),
        ({"nodes": {"a": {"eclass": 0, "children": ["a"]}}}, "no node needs: none"),
        ({"nodes": [[0]], "classes": [[0]]}, "no node needs: none"),
        ({"nodes": [[]], "classes": [[]]}, "class 0: expected a list of nodes"),
        ({"nodes": [[]], "classes": [[0], [0]]}, "class 1: expected nodes of this class alone"),
        ({"nodes": [[], []], "classes": [[0]]}, "node 1: expected a class that has it"),
        ({"nodes": [[7]], "classes": [[0]]}, "node 0: expected the id .* found 7"),
        ({"nodes": [3], "classes": [[0]]}, "node 0: expected a list of classes, found 3"),
        ({"nodes": [[]], "classes": 3}, '"classes": expected an object or a list, found 3'),
    ],
)
def test_damaged_documents_are_refused(damaged: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_egraph(damaged)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "expected an e-graph as JSON"),
        ('{"nodes": {"a": {}, "a": {}}}', "a twice in one object"),
        ("[" * 100_000, "expected an e-graph as JSON"),
        ("\ud800".encode("utf-8", "surrogatepass"), "expected an e-graph as JSON"),
    ],
)
def test_damaged_files_are_refused(tmp_path: Path, text: str | bytes, message: str) -> None:
    path = tmp_path / "e.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError, match=message):
        read_egraph(path)
    with pytest.raises(InputError, match=r"none\.json: expected a file"):
        read_egraph(tmp_path / "none.json")


def test_a_class_without_a_term_is_named() -> None:
    nodes = {
        "a": {"eclass": "ring", "children": ["b"]},
        "b": {"eclass": "b", "children": ["a"]},
        "c": {"eclass": "c", "children": []},
    }
    graph = parse_egraph({"nodes": nodes, "root_eclasses": ["c", "ring"]})
    with pytest.raises(InputError, match="class ring: expected a term without cycles"):
        extract_serialized(graph, 1.0)


def test_an_egraph_written_and_read_again_has_the_same_best_term(tmp_path: Path) -> None:
    graph = EGraph(TrivialDomain())
    root = graph.add_term(parse_term("(add (mul a (add b c)) (mul (add c b) a))"))
    rules = parse_rules("""
    commutes: (add ?x ?y) => (add ?y ?x)
    commutes-too: (mul ?x ?y) => (mul ?y ?x)
    distributes: (mul ?x (add ?y ?z)) <=> (add (mul ?x ?y) (mul ?x ?z))
    """)
    saturate(graph, rules, cycles=CycleFilter.NONE)

    def cost(head: object, children: object, data: object) -> float:
        return {"mul": 3.0, "add": 1.0}.get(str(head), 0.0)

    path = tmp_path / "e.json"
    path.write_text(json.dumps(egraph_document(graph, [root], node_costs(graph, cost))))
    assert best(read_egraph(path))[0] == extract_optimally(graph, root, cost).cost == 5.0
