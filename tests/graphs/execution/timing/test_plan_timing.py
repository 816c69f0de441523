"""Steps of plans and of single operators, and their times by the measuring worker."""

from __future__ import annotations

from typing import Any

import pytest

from polygym.errors import PolygymError
from polygym.graphs.execution.planning.execution_plan import ElementCopy
from polygym.graphs.execution.planning.kernel_variants import KernelSource
from polygym.graphs.execution.timing.plan_timing import (
    PlannedStep,
    operator_steps,
    planned_steps,
    step_seconds,
)
from polygym.graphs.ir import build
from polygym.graphs.ir.graph import Graph
from polygym.graphs.operators.types import Data, NumberData, TensorPair, TensorType, TextData
from polygym.rewrite.term import Term

ROWS, KNOWN = TensorType((8, 16)), TensorType((16, 8), constant=True)
IMAGE = TensorType((1, 4, 6, 6))


@pytest.mark.parametrize(
    ("head", "children"),
    [
        ("matmul", (TextData("relu"), ROWS, KNOWN)),
        ("softmax", (NumberData(1), ROWS)),
        ("gather", (NumberData(0), KNOWN, TensorType((3,), "int64"))),
        ("concat2", (NumberData(1), ROWS, ROWS)),
    ],
)
def test_operators_take_time(head: str, children: tuple[Data, ...]) -> None:
    steps = operator_steps(head, children)
    assert steps
    for step in steps:
        seconds = step_seconds(step)
        assert seconds is not None
        assert 0 < seconds < 1


@pytest.mark.parametrize(
    ("head", "children"),
    [
        ("reshape", (ROWS, TextData("4-32"))),
        ("transpose", (ROWS, TextData("1-0"))),
        ("split", (NumberData(1), NumberData(4), ROWS)),
        ("split0", (TensorPair(ROWS, ROWS),)),
        ("concat2", (NumberData(0), ROWS, ROWS)),
        ("relu", (TensorType((8,), constant=True),)),
    ],
)
def test_what_moves_nothing_has_no_steps(head: str, children: tuple[Data, ...]) -> None:
    assert operator_steps(head, children) == ()


@pytest.mark.parametrize(
    ("head", "children"),
    [
        ("sqrt", (TensorType((4,), "int64"),)),
        ("matmul", (TextData("none"), ROWS, ROWS)),
        ("unheard-of", (ROWS,)),
    ],
)
def test_what_cannot_run_is_refused(head: str, children: tuple[Any, ...]) -> None:
    with pytest.raises(PolygymError):
        operator_steps(head, children)


def test_a_kernel_that_does_not_fit_is_no_exception() -> None:
    # Matrices of 4 TiB: no machine has so much memory.
    (step,) = operator_steps("relu", (TensorType((1 << 20, 1 << 20)),))
    assert step_seconds(step) is None


def test_steps_are_those_of_a_model() -> None:
    stride, image = NumberData(1), (IMAGE, TensorType((4, 4, 3, 3), constant=True))
    steps = operator_steps(
        "conv", (stride, stride, TextData("same"), TextData("relu"), *image), threads=2
    )
    # The pad, the windows of an image of few places, and their product with the kernel.
    assert len(steps) == 3
    for step in steps:
        assert isinstance(step.work, KernelSource)
        assert step.work.threads == 2


def _steps(*outputs: Term) -> tuple[PlannedStep, ...]:
    return planned_steps(Graph.of("graph", *outputs), 1)


def test_functions_of_elements_are_alike_in_any_order() -> None:
    x, y, z = (build.graph_input(name, 4, 8) for name in "xyz")
    product = build.matmul(x, build.weight("w", 8, 8))
    one = build.relu(build.binary("ewadd", build.binary("ewadd", product, y), z))
    other = build.relu(build.binary("ewadd", product, build.binary("ewadd", z, y)))
    (first,), (second,) = _steps(one), _steps(other)
    assert first.kind == second.kind
    assert first.text != second.text
    assert first.head_text == _steps(product)[0].kind


@pytest.mark.parametrize("change", ["function", "operand", "head"])
def test_other_work_is_not_alike(change: str) -> None:
    x, y = build.graph_input("x", 4, 8), build.graph_input("y", 4, 8)
    w, turned = build.weight("w", 8, 8), build.transpose(build.graph_input("y", 8, 4), (1, 0))
    usual = _steps(build.binary("ewadd", build.matmul(x, w), y))
    other = {
        "function": build.binary("ewmul", build.matmul(x, w), y),
        "operand": build.binary("ewadd", build.matmul(x, w), turned),
        "head": build.binary("ewadd", build.make_node("softmax", 1, x), y),
    }[change]
    assert [step.kind for step in usual] != [step.kind for step in _steps(other)]


def test_copies_are_timed_as_a_model_runs_them() -> None:
    x, y = build.graph_input("x", 4, 8), build.graph_input("y", 4, 8)
    left, right = _steps(build.concat(1, (x, y)))
    assert left.kind == right.kind
    assert isinstance(left.work, ElementCopy)
    seconds = step_seconds(left)
    assert seconds is not None
    assert 0 < seconds < 1
