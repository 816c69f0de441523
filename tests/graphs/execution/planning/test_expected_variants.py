"""Forms of kernels that nothing was measured of."""

from __future__ import annotations

import pytest

from polygym.graphs.execution.lowering.graph_lowering import lower_graph
from polygym.graphs.execution.planning.execution_plan import KernelLaunch, plan_execution
from polygym.graphs.ir.build import graph_input, matmul, weight
from polygym.rewrite.term import Term
from tests.graphs.execution.cases import check, model_of

X = graph_input("x", 40, 256)


@pytest.mark.parametrize(
    ("root", "options"),
    [
        (matmul(X, weight("w", 256, 1024)), "pack=off"),
        (matmul(X, weight("w", 256, 512)), ""),  # small
        (matmul(X, graph_input("w", 256, 1024)), ""),  # not known
    ],
)
def test_large_weights_are_not_copied(root: Term, options: str) -> None:
    model = model_of(root)
    plan = plan_execution(lower_graph(model.graph, model.weights), threads=1, fuse=True)
    (step,) = plan.steps
    assert isinstance(step, KernelLaunch)
    assert step.recipe.mapping_options == options


def test_products_by_large_weights() -> None:
    check(matmul(X, weight("w", 256, 1030), "relu"), threads=2)
