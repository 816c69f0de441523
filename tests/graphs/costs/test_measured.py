"""Measured costs: what is chosen is measured, and the choice is that of measuring everything."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from polygym.errors import InputError
from polygym.graphs.costs import MeasuredCosts, RooflineCosts, operator_key
from polygym.graphs.execution.timing import operator_timing
from polygym.graphs.ir import build
from polygym.graphs.ir.domain import TENSOR_DOMAIN
from polygym.graphs.ir.graph import Graph
from polygym.graphs.optimization import (
    OptimizationOptions,
    graph_cost,
    optimize_graph,
    typed_nodes,
)
from polygym.graphs.rules import standard_rules
from polygym.rewrite.egraph import EGraph, saturate
from polygym.rewrite.extraction import extract_optimally
from polygym.rewrite.term import Head
from polygym.tc.measured_times import MeasuredTimes


def graph() -> Graph:
    """Three products of one input, two of which are added: many equal graphs."""
    x = build.graph_input("x", 8, 16)
    term, two, three = (build.matmul(x, build.weight(name, 16, 16)) for name in "uvw")
    return Graph.of("three", build.make_node("ewadd", term, two), build.relu(three))


def invented(seed: int) -> Any:
    """Return random times, never below the estimates."""

    def seconds_of(head: Head, children: Any, threads: int) -> float:
        digest = hashlib.sha256(f"{seed} {operator_key(head, children)}".encode()).digest()
        return 1e-6 * (1 + digest[0])

    return seconds_of


@pytest.mark.parametrize("seed", range(8))
def test_the_choice_is_that_of_measuring_everything(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operator_timing, "operator_seconds", invented(seed))
    costs = MeasuredCosts(1, MeasuredTimes(None, 1))
    result = optimize_graph(graph(), costs)
    everything = MeasuredCosts(1, MeasuredTimes(None, 1))
    egraph = EGraph(TENSOR_DOMAIN)
    root = egraph.add_term(graph().root)
    saturate(egraph, standard_rules())
    best = extract_optimally(egraph, root, everything.now)
    assert result.cost == pytest.approx(best.cost)
    assert result.status == "optimal"
    assert 0 < costs.measured_count <= everything.measured_count
    assert not costs.missing(typed_nodes(result.after))


def test_what_does_not_run_is_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    x = build.graph_input("x", 8, 16)
    apart = Graph.of("apart", build.relu(build.matmul(x, build.weight("w", 16, 16))))

    def seconds_of(head: Head, children: Any, threads: int) -> float | None:
        return None if "relu" in [getattr(child, "value", "") for child in children] else 1e-6

    monkeypatch.setattr(operator_timing, "operator_seconds", seconds_of)
    result = optimize_graph(apart, MeasuredCosts(1, MeasuredTimes(None, 1)))
    assert not result.is_changed


def test_a_graph_that_does_not_run_is_refused_by_its_operator(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(operator_timing, "operator_seconds", lambda head, children, threads: None)
    with pytest.raises(InputError, match="found matmul none 8-16 16-16"):
        optimize_graph(graph(), MeasuredCosts(1, MeasuredTimes(None, 1)))


def test_an_operator_is_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def seconds_of(head: Head, children: Any, threads: int) -> float:
        asked.append(operator_key(head, children))
        return 1e-6

    monkeypatch.setattr(operator_timing, "operator_seconds", seconds_of)
    costs = MeasuredCosts(1, MeasuredTimes(None, 1))
    for _ in range(2):
        optimize_graph(graph(), costs)
    assert len(asked) == len(set(asked)) > 0


def test_weights_cost_nothing_and_are_never_measured() -> None:
    w = build.weight("w", 4, 4)
    ahead = Graph.of("ahead", build.matmul(build.graph_input("x", 4, 4), build.matmul(w, w)))
    texts = [operator_key(node[0], node[1]) for node in MeasuredCosts().missing(typed_nodes(ahead))]
    assert texts == ["matmul none 4-4 4-4*"]


def test_the_roofline_is_deterministic_and_adds_up() -> None:
    costs = RooflineCosts()
    parts = [costs.cost(*node) for node in typed_nodes(graph())]
    assert graph_cost(graph(), costs) == pytest.approx(sum(parts))
    assert graph_cost(graph(), RooflineCosts()) == graph_cost(graph(), costs)


def test_the_answer_is_never_dearer() -> None:
    for limits in (OptimizationOptions(),):
        result = optimize_graph(graph(), RooflineCosts(), limits)
        assert result.cost <= result.greedy_cost <= result.initial_cost
        assert result.lower_bound <= result.cost
