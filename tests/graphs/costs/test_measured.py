"""Measured costs of operators: what is chosen is measured, as if everything had been."""

from __future__ import annotations

from typing import Any

import pytest

from polygym.errors import InputError
from polygym.graphs.costs import RooflineCosts
from polygym.graphs.execution.timing import plan_timing
from polygym.graphs.execution.timing.plan_timing import PlannedStep
from polygym.graphs.ir import build
from polygym.graphs.ir.graph import Graph
from polygym.graphs.measured_costs import MeasuredCosts, StepTimes
from polygym.graphs.operators.types import Data
from polygym.graphs.optimization import (
    OptimizationOptions,
    graph_cost,
    optimize_graph,
    typed_nodes,
)
from polygym.rewrite.term import Head
from tests.graphs.costs.invented import invented_seconds


def graph() -> Graph:
    """Three products of one input, two of which are added: many equal graphs."""
    x = build.graph_input("x", 8, 16)
    term, two, three = (build.matmul(x, build.weight(name, 16, 16)) for name in "uvw")
    return Graph.of("three", build.make_node("ewadd", term, two), build.relu(three))


class _Everything:
    """Costs of which everything is measured as soon as it is asked for."""

    name, unit = "everything", "µs"

    def __init__(self) -> None:
        self.times = StepTimes()
        self._costs = MeasuredCosts(self.times)

    def cost(self, head: Head, children: tuple[Any, ...], data: Data) -> float:
        return self._costs.now(head, children, data)


@pytest.mark.parametrize("seed", range(8))
def test_the_choice_is_that_of_measuring_everything(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_timing, "step_seconds", invented_seconds(seed))
    costs = MeasuredCosts()
    result = optimize_graph(graph(), costs)
    everything = _Everything()
    best = optimize_graph(graph(), everything)
    assert result.cost == pytest.approx(best.cost)
    assert result.status == "optimal"
    assert 0 < costs.measured_count <= everything.times.measured_count
    assert not costs.missing(typed_nodes(result.after))


def test_what_does_not_run_is_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    x = build.graph_input("x", 8, 16)
    apart = Graph.of("apart", build.relu(build.matmul(x, build.weight("w", 16, 16))))

    def seconds_of(step: PlannedStep) -> float | None:
        return None if step.label.startswith("matmul+relu") else 1e-6

    monkeypatch.setattr(plan_timing, "step_seconds", seconds_of)
    assert not optimize_graph(apart, MeasuredCosts()).is_changed


def test_a_graph_that_does_not_run_is_refused_by_its_operator(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(plan_timing, "step_seconds", lambda step: None)
    with pytest.raises(InputError, match="found one that does not: matmul 8-16 16-16"):
        optimize_graph(graph(), MeasuredCosts())


def test_a_step_is_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def seconds_of(step: PlannedStep) -> float:
        asked.append(step.kind)
        return 1e-6

    monkeypatch.setattr(plan_timing, "step_seconds", seconds_of)
    costs = MeasuredCosts()
    for _ in range(2):
        optimize_graph(graph(), costs)
    assert len(asked) == len(set(asked)) > 0


def test_weights_cost_nothing_and_are_never_measured() -> None:
    w = build.weight("w", 4, 4)
    ahead = Graph.of("ahead", build.matmul(build.graph_input("x", 4, 4), build.matmul(w, w)))
    labels = [step.label for step in MeasuredCosts().missing(typed_nodes(ahead))]
    assert labels == ["matmul 4-4 4-4"]


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
