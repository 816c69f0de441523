"""Measured costs: what is chosen is measured, and the choice is that of measuring everything."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from polygym.errors import InputError
from polygym.graphs.costs import Measured, Roofline
from polygym.graphs.costs.measured import operator_text
from polygym.graphs.costs.store import CostStore
from polygym.graphs.ir import build
from polygym.graphs.ir.domain import TENSORS
from polygym.graphs.ir.graph import Graph
from polygym.graphs.optimize import Options, cost_of, nodes_of, optimize
from polygym.graphs.rules import standard
from polygym.graphs.running import timed
from polygym.rewrite.egraph import EGraph, saturate
from polygym.rewrite.extraction import ilp
from polygym.rewrite.term import Head


def graph() -> Graph:
    """Three products of one input, two of which are added: many equal graphs."""
    x = build.entering("x", 8, 16)
    one, two, three = (build.matmul(x, build.weight(name, 16, 16)) for name in "uvw")
    return Graph.of("three", build.node("ewadd", one, two), build.relu(three))


def invented(seed: int) -> Any:
    """Return times by the dice, never below the estimates."""

    def seconds_of(head: Head, children: Any, threads: int) -> float:
        digest = hashlib.sha256(f"{seed} {operator_text(head, children)}".encode()).digest()
        return 1e-6 * (1 + digest[0])

    return seconds_of


@pytest.mark.parametrize("seed", range(8))
def test_the_choice_is_that_of_measuring_everything(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timed, "seconds_of", invented(seed))
    costs = Measured(1, CostStore(None, 1))
    found = optimize(graph(), costs)
    everything = Measured(1, CostStore(None, 1))
    egraph = EGraph(TENSORS)
    root = egraph.add_term(graph().root)
    saturate(egraph, standard())
    best = ilp(egraph, root, everything.now)
    assert found.cost == pytest.approx(best.cost)
    assert found.status == "optimal"
    assert 0 < costs.measured_now <= everything.measured_now
    assert not costs.missing(nodes_of(found.after))


def test_what_does_not_run_is_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    x = build.entering("x", 8, 16)
    apart = Graph.of("apart", build.relu(build.matmul(x, build.weight("w", 16, 16))))

    def seconds_of(head: Head, children: Any, threads: int) -> float | None:
        return None if "relu" in [getattr(one, "value", "") for one in children] else 1e-6

    monkeypatch.setattr(timed, "seconds_of", seconds_of)
    found = optimize(apart, Measured(1, CostStore(None, 1)))
    assert not found.is_changed


def test_a_graph_that_does_not_run_is_refused_by_its_operator(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(timed, "seconds_of", lambda head, children, threads: None)
    with pytest.raises(InputError, match="found matmul none 8-16 16-16"):
        optimize(graph(), Measured(1, CostStore(None, 1)))


def test_an_operator_is_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def seconds_of(head: Head, children: Any, threads: int) -> float:
        asked.append(operator_text(head, children))
        return 1e-6

    monkeypatch.setattr(timed, "seconds_of", seconds_of)
    costs = Measured(1, CostStore(None, 1))
    for _ in range(2):
        optimize(graph(), costs)
    assert len(asked) == len(set(asked)) > 0


def test_weights_cost_nothing_and_are_never_measured() -> None:
    w = build.weight("w", 4, 4)
    ahead = Graph.of("ahead", build.matmul(build.entering("x", 4, 4), build.matmul(w, w)))
    texts = [operator_text(node[0], node[1]) for node in Measured().missing(nodes_of(ahead))]
    assert texts == ["matmul none 4-4 4-4*"]


def test_the_roofline_is_deterministic_and_adds_up() -> None:
    costs = Roofline()
    parts = [costs.cost(*node) for node in nodes_of(graph())]
    assert cost_of(graph(), costs) == pytest.approx(sum(parts))
    assert cost_of(graph(), Roofline()) == cost_of(graph(), costs)


def test_the_answer_is_never_dearer() -> None:
    for limits in (Options(),):
        found = optimize(graph(), Roofline(), limits)
        assert found.cost <= found.greedy_cost <= found.initial_cost
        assert found.bound <= found.cost
