"""Times and costs of equal variants of a network, all in one process and in turn.

The shortest call of a variant counts: what disturbs a machine only ever adds.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from polygym.graphs.costs import RooflineCosts
from polygym.graphs.execution import compile_model
from polygym.graphs.ir.graph import Graph, Model, random_inputs
from polygym.graphs.measured_costs import MeasuredCosts, PlanCosts
from polygym.graphs.optimization import graph_cost, typed_nodes

__all__ = ["VariantRow", "measured_variants"]

_TOLERANCE = 1e-3
_CALLS = 3
"""Calls of a variant in a turn that count; one more before them fills the caches."""


@dataclass(frozen=True, slots=True)
class VariantRow:
    """A variant: the microseconds of its shortest call, and its cost by each kind of costs."""

    network: str
    variant: int
    steps: int
    microseconds: float
    static: float
    operators: float
    plan: float


def measured_variants(
    network: str,
    variants: Sequence[Graph],
    weights: Mapping[str, np.ndarray[Any, Any]],
    threads: int,
    seconds: float,
) -> list[VariantRow]:
    """Return a row for every variant; they are called for so many seconds together."""
    plans = PlanCosts.of_user(threads)
    operators = MeasuredCosts(plans.times)
    for graph in variants:
        plans.measure(graph)
        operators.measure(typed_nodes(graph))
    models = [
        compile_model(Model(graph, weights), threads, forms=plans.times.forms) for graph in variants
    ]
    arrays = random_inputs(variants[0], 1)
    _check_equal(network, [model(*arrays) for model in models])
    times = _shortest([partial(model, *arrays) for model in models], seconds)
    return [
        VariantRow(
            network,
            place,
            len(plans.steps(graph)),
            round(times[place], 2),
            round(graph_cost(graph, RooflineCosts()), 3),
            round(graph_cost(graph, operators), 3),
            round(plans.cost(graph), 3),
        )
        for place, graph in enumerate(variants)
    ]


def _check_equal(network: str, results: Sequence[Any]) -> None:
    first, *others = [result if isinstance(result, list) else [result] for result in results]
    for place, other in enumerate(others, start=1):
        for one, two in zip(first, other, strict=True):
            if not np.allclose(one, two, _TOLERANCE, _TOLERANCE * float(np.abs(one).max())):
                raise AssertionError(f"{network}: variant {place} computes something else")


def _shortest(calls: Sequence[Callable[[], object]], seconds: float) -> list[float]:
    """Return the microseconds of the shortest call of each."""
    best = [math.inf] * len(calls)
    generator = np.random.default_rng(0)
    begun = time.monotonic()
    while time.monotonic() - begun < seconds:
        for place in generator.permutation(len(calls)):
            calls[place]()
            for _ in range(_CALLS):
                start = time.perf_counter()
                calls[place]()
                best[place] = min(best[place], time.perf_counter() - start)
    return [1e6 * value for value in best]
