"""Stages of saturation: never dearer for more of them, bounded, and stopped at any time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from benchmarks.bias_study.sums import SUMS
from polygym.graphs import library
from polygym.graphs.costs import RooflineCosts
from polygym.graphs.extraction import stored_bytes
from polygym.graphs.ir import build
from polygym.graphs.ir.graph import Graph
from polygym.graphs.optimization import OptimizationOptions, graph_cost, optimize_graph
from polygym.rewrite.egraph import SaturationLimits
from tests.graphs.optimization.test_optimizer import equal_results

COSTS = RooflineCosts()


@pytest.mark.parametrize("name", ["bert", "nasrnn", "squeezenet"])
def test_more_stages_are_never_dearer(name: str) -> None:
    """Also where the e-graph is full before the rules with one source are applied again."""
    graph = library.graph(name)
    costs = []
    for k_multi in range(4):
        limits = SaturationLimits(nodes=2_000, k_multi=k_multi)
        result = optimize_graph(graph, COSTS, OptimizationOptions(limits))
        assert result.lower_bound <= result.cost <= result.greedy_cost
        costs.append(result.cost)
    assert costs == sorted(costs, reverse=True)


@pytest.mark.parametrize("name", SUMS)
def test_long_sums_are_rearranged_within_bounds(name: str) -> None:
    """Thirty inputs have 2^30 partial sums, and a few hundred nodes here."""
    options = OptimizationOptions(SaturationLimits(nodes=8_000), extraction_seconds=2.0)
    result = optimize_graph(SUMS[name], COSTS, options)
    equal_results(result)
    if "inputs" in name and "products" not in name:
        assert result.saturation.stop.value == "saturated"
        assert result.saturation.nodes < 1_000
        assert not result.is_changed
    else:
        assert result.cost < 0.75 * result.initial_cost


def test_addends_that_share_an_operand_meet() -> None:
    """One product of each input is left of ten and ten, whatever stands between them."""
    result = optimize_graph(SUMS["30, products and inputs"], COSTS)
    heads = [node.head for node in result.after.nodes() if not result.after.tensor(node).constant]
    assert heads.count("matmul") <= 2


def test_what_is_known_is_not_stored_again_and_again() -> None:
    """A bias for rows and one for columns are cheaper as one matrix, which is far larger."""
    x = build.graph_input("x", 1024, 2048)
    rows, columns = build.weight("r", 1024, 1), build.weight("c", 2048)
    graph = Graph.of("large", build.binary("add", build.binary("add", x, rows), columns))
    assert stored_bytes(graph.root) == 4 * (1024 + 2048)
    result = optimize_graph(graph, COSTS)
    assert stored_bytes(result.after.root) <= 2 * stored_bytes(graph.root) + (1 << 20)
    equal_results(result)
    small = Graph.of("small", build.binary("add", build.binary("add", *_small()), columns))
    assert optimize_graph(small, COSTS).is_changed


def _small():
    return build.graph_input("x", 16, 2048), build.weight("r", 16, 1)


class _Stop:
    """A stop that comes the n-th time somebody asks, or when n extractions have begun."""

    def __init__(self, asked: int = 1 << 60, extractions: int = 1 << 60) -> None:
        self._asked, self._extractions = asked, extractions

    @property
    def is_requested(self) -> bool:
        self._asked -= 1
        return self._asked < 0

    @contextmanager
    def allowed(self) -> Iterator[None]:
        self._extractions -= 1
        if self._extractions < 0:
            raise KeyboardInterrupt
        yield


@pytest.mark.parametrize("asked", [0, 1, 40, 200, 600])
def test_a_stop_while_exploring_keeps_the_best_so_far(asked: int) -> None:
    graph = library.graph("nasrnn")
    result = optimize_graph(graph, COSTS, stop=_Stop(asked=asked))
    assert result.status == "interrupted"
    assert result.cost <= result.initial_cost
    assert result.cost == pytest.approx(graph_cost(result.after, COSTS))
    equal_results(result)


@pytest.mark.parametrize("extractions", [0, 1])
def test_a_stop_while_extracting_keeps_the_best_so_far(extractions: int) -> None:
    graph = library.graph("nasrnn")
    result = optimize_graph(graph, COSTS, stop=_Stop(extractions=extractions))
    assert result.status == "interrupted"
    assert result.cost < result.initial_cost  # greedy's answer is there at once
    equal_results(result)


def test_an_interrupt_without_a_listener_is_one() -> None:
    def interrupt(_: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        optimize_graph(library.graph("bert"), COSTS, progress=interrupt)


def test_rules_that_rest_are_named() -> None:
    limits = SaturationLimits(nodes=8_000)
    result = optimize_graph(SUMS["30 inputs"], COSTS, OptimizationOptions(limits))
    assert "ewadd-2" in result.saturation.resting
