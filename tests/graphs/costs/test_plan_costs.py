"""Costs of plans: a graph costs what its steps take, and is exchanged only for a faster plan."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.errors import InputError
from polygym.graphs import library
from polygym.graphs.execution.lowering.graph_lowering import lower_graph
from polygym.graphs.execution.planning.execution_plan import KernelLaunch, plan_execution
from polygym.graphs.execution.timing import plan_timing
from polygym.graphs.execution.timing.plan_timing import PlannedStep, planned_steps
from polygym.graphs.ir import build
from polygym.graphs.ir.graph import Graph, random_weights
from polygym.graphs.measured_costs import PlanCosts, StepTimes
from polygym.graphs.optimization import OptimizationOptions, optimize_graph
from polygym.rewrite.egraph import CycleFilter, SaturationLimits
from polygym.rewrite.term import Term
from polygym.tc.measured_times import MeasuredTimes
from tests.graphs.costs.invented import invented_seconds
from tests.graphs.optimization.test_optimizer import equal_results
from tests.graphs.random_graphs import random_graph


def product(x: Term, name: str, columns: int = 16) -> Term:
    """Return a product with a weight."""
    return build.matmul(x, build.weight(name, build.shape_of(x)[-1], columns))


def pairs() -> Graph:
    """Two pairs of products, each of which can be one product, with a function between them."""
    x = build.graph_input("x", 8, 16)
    inner = build.binary("ewmul", product(x, "a"), product(x, "b"))
    middle = build.make_node("softmax", 1, inner)
    return Graph.of("pairs", build.binary("ewmul", product(middle, "c"), product(middle, "d")))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 12))
def test_a_plan_costs_what_its_steps_take(seed: int, nodes: int) -> None:
    graph = random_graph(seed, nodes)
    costs, seconds = PlanCosts(), invented_seconds(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan_timing, "step_seconds", seconds)
        cost = costs.measure(graph)
    assert cost == pytest.approx(sum(1 + 1e6 * seconds(step) for step in costs.steps(graph)))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 12))
def test_the_values_of_weights_do_not_matter(seed: int, nodes: int) -> None:
    graph = random_graph(seed, nodes)
    with np.errstate(all="ignore"):
        model = lower_graph(graph, random_weights(graph, seed))
    ran = plan_execution(model, 1, fuse=True).steps
    planned = planned_steps(graph, 1)
    assert [isinstance(step, KernelLaunch) for step in ran] == [
        not step.text.startswith("copy") for step in planned
    ]
    texts = [step.recipe.text for step in ran if isinstance(step, KernelLaunch)]
    assert texts == [step.text for step in planned if not step.text.startswith("copy")]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("cycles", [CycleFilter.EFFICIENT, CycleFilter.NONE])
def test_the_answer_is_equal_never_dearer_and_the_same_again(
    seed: int, cycles: CycleFilter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_timing, "step_seconds", invented_seconds(seed))
    costs, options = PlanCosts(), OptimizationOptions(cycles=cycles)
    result = optimize_graph(pairs(), costs, options)
    equal_results(result)
    assert result.cost <= result.initial_cost
    assert result.cost == pytest.approx(costs.cost(result.after))
    assert result.initial_cost == pytest.approx(costs.cost(result.before))
    assert not costs.times.missing(costs.steps(result.after))
    again = optimize_graph(pairs(), PlanCosts(costs.times), options)
    assert again.after == result.after
    assert again.measured_operators == 0


@pytest.mark.parametrize("name", ["squeezenet", "nasrnn"])
def test_networks_compute_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_timing, "step_seconds", invented_seconds(1))
    options = OptimizationOptions(SaturationLimits(nodes=1000), extraction_seconds=3)
    result = optimize_graph(library.graph(name), PlanCosts(), options)
    equal_results(result)
    assert result.cost <= result.initial_cost
    assert result.compared_plans > 1


def test_merging_functions_within_a_kernel_gains_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = build.graph_input("x", 8, 16), build.graph_input("y", 8, 16)
    inner = build.binary("ewadd", build.binary("ewadd", product(x, "a"), y), build.tanh(y))
    graph = Graph.of("chain", build.relu(product(build.relu(inner), "b")))
    monkeypatch.setattr(plan_timing, "step_seconds", lambda step: 1e-6 * (1 + len(step.label)))
    result = optimize_graph(graph, PlanCosts())
    assert not result.is_changed
    assert result.saturation.applications["relu-matmul"] > 0


def product_seconds(step: PlannedStep) -> float:
    """Return times by which two products as one pay for 16 columns each, and not for 24."""
    if "matmul" not in step.label:
        return 1e-6
    return 1e-6 * (30 if "16-32" in step.label else 50 if "16-48" in step.label else 20)


def test_each_region_is_decided_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_timing, "step_seconds", product_seconds)
    x = build.graph_input("x", 8, 16)
    first = build.make_node("softmax", 1, build.binary("ewmul", product(x, "a"), product(x, "b")))
    for columns, left in ((16, 2), (24, 3)):
        second = (product(first, name, columns) for name in "cd")
        graph = Graph.of("apart", build.binary("ewmul", *second))
        result = optimize_graph(graph, PlanCosts())
        assert [node.head for node in result.after.nodes()].count("matmul") == left


def test_a_gain_within_noise_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def seconds_of(step: PlannedStep) -> float:
        if "matmul" not in step.label:
            return 0.0
        return 1e-6 * (198 if "16-32" in step.label else 100)

    monkeypatch.setattr(plan_timing, "step_seconds", seconds_of)
    assert not optimize_graph(pairs(), PlanCosts()).is_changed


def test_what_does_not_run_is_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        plan_timing, "step_seconds", lambda step: None if "16-32" in step.label else 2e-5
    )
    assert not optimize_graph(pairs(), PlanCosts()).is_changed


def test_a_graph_that_does_not_run_is_refused_by_its_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_timing, "step_seconds", lambda step: None)
    with pytest.raises(InputError, match="found one that does not: matmul 8-16 16-16"):
        optimize_graph(pairs(), PlanCosts())


def test_what_was_measured_before_an_interruption_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, usual = tmp_path / "kernels.sqlite", invented_seconds(0)
    left = 3

    def interrupted(step: PlannedStep) -> float:
        nonlocal left
        if not left:
            raise KeyboardInterrupt
        left -= 1
        return usual(step)

    monkeypatch.setattr(plan_timing, "step_seconds", interrupted)
    with pytest.raises(KeyboardInterrupt):
        optimize_graph(pairs(), PlanCosts(StepTimes(1, MeasuredTimes(path, 1))))
    monkeypatch.setattr(plan_timing, "step_seconds", usual)
    costs = PlanCosts(StepTimes(1, MeasuredTimes(path, 1)))
    assert len(costs.times.store) == 3
    whole = PlanCosts()
    result, expected = optimize_graph(pairs(), costs), optimize_graph(pairs(), whole)
    assert result.after == expected.after
    assert costs.measured_count == whole.measured_count - 3


class _Stop:
    """A wish to stop that comes as an exception."""

    is_requested = False

    def allowed(self) -> AbstractContextManager[None]:
        return nullcontext()


@pytest.mark.parametrize("left", range(0, 12, 2))
def test_a_stopped_search_has_the_best_so_far(left: int, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = 0

    def interrupted(step: PlannedStep) -> float:
        nonlocal measured
        measured += 1
        if measured > left:
            raise KeyboardInterrupt
        return product_seconds(step)

    monkeypatch.setattr(plan_timing, "step_seconds", interrupted)
    costs = PlanCosts()
    result = optimize_graph(pairs(), costs, stop=_Stop())
    equal_results(result)
    assert result.status == ("interrupted" if measured > left else "feasible")
    assert result.cost <= result.initial_cost
    assert not result.is_changed or not costs.times.missing(costs.steps(result.after))


def test_the_user_hears_what_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_timing, "step_seconds", invented_seconds(0))
    said: list[str] = []
    optimize_graph(pairs(), PlanCosts(), progress=said.append)
    assert "measured matmul 8-16 16-16" in said


def test_a_tuned_kernel_has_the_time_of_its_fastest_form() -> None:
    graph = Graph.of("layer", product(build.graph_input("x", 8, 16), "w"))
    costs = PlanCosts()
    (step,) = costs.steps(graph)
    costs.times.store.put(f"usual: {step.text}", 8e-6)
    assert not costs.times.missing([step])
    costs.times.store.put(f"unroll_jam=8: {step.text}", 4e-6)
    assert costs.cost(graph) == pytest.approx(1 + 4)
