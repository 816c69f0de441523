"""From a graph to a cheaper equal one: the same results, never dearer, and the paper's examples."""

from __future__ import annotations

import numpy as np
import pytest

from polygym.graphs import library
from polygym.graphs.costs import RooflineCosts
from polygym.graphs.ir import build
from polygym.graphs.ir.graph import Graph, random_inputs, random_weights
from polygym.graphs.ir.reference import evaluate
from polygym.graphs.optimization import (
    ExtractionMethod,
    OptimizationOptions,
    OptimizationResult,
    graph_cost,
    optimize_by_backtracking,
    optimize_graph,
    result_summary,
)
from polygym.graphs.rules import standard_rules
from polygym.graphs.saved_model import open_source
from polygym.rewrite.egraph import CycleFilter, SaturationLimits
from polygym.rewrite.extraction import CycleConstraints

COSTS = RooflineCosts()
NAMES = library.NAMES


def equal_results(result: OptimizationResult) -> None:
    before, after = result.before, result.after
    assert [name for name, _ in before.outputs] == [name for name, _ in after.outputs]
    assert before.inputs == after.inputs
    weights = random_weights(before, 1)
    values = dict(
        zip(
            (signature.name for signature in before.signatures),
            random_inputs(before, 2),
            strict=True,
        )
    )
    # In double precision what is left of a difference is a defect and no rounding.
    wide = {
        name: array.astype(np.float64) if array.dtype == np.float32 else array
        for name, array in {**values, **weights}.items()
    }
    for signature, other in zip(
        *(evaluate([term for _, term in graph.outputs], wide) for graph in (before, after)),
        strict=True,
    ):
        scale = max(float(np.abs(signature).max(initial=0.0)), 1e-30)
        assert float(np.abs(signature - other).max(initial=0.0)) <= 1e-9 * scale


@pytest.mark.parametrize("name", NAMES)
def test_networks_compute_the_same_and_cost_no_more(name: str) -> None:
    limits = SaturationLimits(nodes=3000, seconds=20)
    result = optimize_graph(
        library.graph(name), COSTS, OptimizationOptions(limits, extraction_seconds=3)
    )
    equal_results(result)
    assert result.lower_bound <= result.cost <= result.greedy_cost <= result.initial_cost
    assert result.cost == pytest.approx(graph_cost(result.after, COSTS))
    assert result.initial_cost == pytest.approx(graph_cost(result.before, COSTS))


@pytest.mark.timing
@pytest.mark.parametrize("order", [CycleConstraints.REAL, CycleConstraints.INTEGER])
def test_extraction_keeps_its_limit(order: CycleConstraints) -> None:
    """50,000 nodes in circles: landmarks alone would take ten seconds of the processor.

    What has no limit of its own (reading the e-graph, the tables of the program, a step of the
    solver) takes four at most.
    """
    options = OptimizationOptions(
        SaturationLimits(k_multi=2),
        CycleFilter.NONE,
        cycle_constraints=order,
        extraction_seconds=2.0,
    )
    result = optimize_graph(library.graph("nasrnn"), COSTS, options)
    assert result.saturation.nodes == 50_000
    assert result.cost <= result.greedy_cost < result.initial_cost
    assert 0 < result.lower_bound <= result.cost
    assert result.cpu_seconds.extraction < 6
    assert (
        result.cpu_seconds.exploration + result.cpu_seconds.extraction <= result.cpu_seconds.total
    )


@pytest.mark.parametrize(
    ("name", "k", "cost"),
    [
        ("inception-v3", 0, 139105.9),
        ("inception-v3", 1, 139095.9),
        ("inception-v3", 2, 139086.9),
        ("nasnet-a", 2, 391937.5),
        ("resnext50", 2, 107204.3),
    ],
)
def test_the_best_of_whole_networks_is_proved(name: str, k: int, cost: float) -> None:
    """At the paper's sizes; what backtracking comes to on these is the cost at k = 2."""
    graph = open_source(name).graph
    result = optimize_graph(
        graph, COSTS, OptimizationOptions(SaturationLimits(k_multi=k), extraction_seconds=120)
    )
    assert (result.status, result.lower_bound) == ("optimal", result.cost)
    assert result.cost == pytest.approx(cost, abs=0.05)


@pytest.mark.parametrize("name", ["bert", "nasrnn", "vgg19"])
def test_backtracking_computes_the_same(name: str) -> None:
    result = optimize_by_backtracking(library.graph(name), COSTS, standard_rules(), 1.0, 20, 10.0)
    equal_results(result)
    assert result.cost <= result.initial_cost


def test_two_products_of_one_input_become_one() -> None:
    x = build.graph_input("x", 1, 64)
    v, w = build.weight("v", 64, 64), build.weight("w", 64, 64)
    graph = Graph.of("two", build.matmul(x, v), build.matmul(x, w))
    dear_calls = RooflineCosts(call=100.0)
    result = optimize_graph(graph, dear_calls)
    assert result_summary(result, dear_calls)["operators"]["after"].get("matmul") == 1
    # Each half alone seems as dear as the whole, so greedy extraction does not see it.
    greedy = optimize_graph(
        graph, dear_calls, OptimizationOptions(extraction=ExtractionMethod.GREEDY)
    )
    assert greedy.cost >= result.cost
    equal_results(result)


def test_nothing_to_gain_returns_the_graph_itself() -> None:
    graph = Graph.of("one", build.relu(build.graph_input("x", 4, 4)))
    result = optimize_graph(graph, COSTS)
    assert result.after is graph
    assert not result.is_changed
    assert result.status == "optimal"


def test_without_rules_nothing_changes() -> None:
    result = optimize_graph(library.graph("bert"), COSTS, rules=[])
    assert not result.is_changed
    assert result.saturation.stop.value == "saturated"


def test_results_that_are_inputs_or_equal() -> None:
    x = build.graph_input("x", 4, 4)
    y = build.relu(x)
    graph = Graph.of("odd", x, y, y)
    result = optimize_graph(graph, COSTS)
    equal_results(result)
    assert len(result.after.outputs) == 3


def test_the_same_twice() -> None:
    first, second = (optimize_graph(library.graph("nasrnn"), COSTS) for _ in range(2))
    assert first.after == second.after
    assert first.saturation.applications == second.saturation.applications


def test_progress_is_told() -> None:
    said: list[str] = []
    optimize_graph(library.graph("vgg19"), COSTS, progress=said.append)
    assert any("nodes" in line for line in said)
