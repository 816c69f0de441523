"""A primitive operator is one definition: a throw-away one has everything that operators have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import polygym.graphs
from polygym.graphs.backends import as_torch
from polygym.graphs.costs import NodeWork, node_work
from polygym.graphs.execution import compile_model
from polygym.graphs.ir.build import graph_input, unary
from polygym.graphs.ir.domain import TENSOR_DOMAIN
from polygym.graphs.ir.graph import Graph, Model
from polygym.graphs.ir.reference import evaluate
from polygym.graphs.ir.text import graph_text, parse_graph
from polygym.graphs.onnx import read, write
from polygym.graphs.operators import shape_functions as shapes
from polygym.graphs.operators.definition import GraphOperator, OnnxMapping
from polygym.graphs.operators.registry import OPERATORS, operator_named, registered
from polygym.graphs.operators.types import TensorType
from polygym.graphs.rules.verification import GraphRuleCounterexample, VerifiedRule, verify_rule
from polygym.rewrite.domain import Inadmissible
from polygym.rewrite.rule import parse_rules

SINH = GraphOperator(
    "sinh",
    "x:T",
    "hyperbolic sine",
    infer=shapes.unary,
    reference=np.sinh,
    torch="sinh",
    onnx=OnnxMapping("Sinh", reads=True),
    element="((exp({0}) - exp(-{0})) / 2)",
    operations=10,
    needs_floating=True,
    is_inexact=True,
)
X = np.linspace(-3, 3, 12, dtype=np.float32).reshape(3, 4)


@pytest.fixture
def sinh() -> Iterator[Model]:
    """Register the operator for a test; give a model of it."""
    with registered(SINH):
        yield Model(Graph.of("sinh", unary("sinh", graph_input("x", 3, 4))), {})


def test_it_has_a_shape_and_refuses_integers(sinh: Model) -> None:
    assert TENSOR_DOMAIN.infer("sinh", (TensorType((3, 4)),)) == TensorType((3, 4))
    with pytest.raises(Inadmissible, match="sinh: expected a tensor of real numbers, found 3:int"):
        TENSOR_DOMAIN.infer("sinh", (TensorType((3,), "int64"),))


def test_it_has_a_text_a_value_and_work(sinh: Model) -> None:
    graph = sinh.graph
    assert parse_graph(graph_text(graph)).outputs == graph.outputs
    np.testing.assert_array_equal(evaluate([graph.outputs[0][1]], {"x": X})[0], np.sinh(X))
    assert node_work("sinh", (TensorType((3, 4)),), TensorType((3, 4))) == NodeWork(120, 96)


def test_it_compiles(sinh: Model) -> None:
    np.testing.assert_allclose(compile_model(sinh)(X), np.sinh(X), rtol=1e-5, atol=1e-6)


def test_it_is_written_to_onnx_and_read(sinh: Model, tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    write(sinh, tmp_path / "sinh.onnx")
    again = read(tmp_path / "sinh.onnx")
    assert [output.head for _, output in again.graph.outputs] == ["sinh"]


def test_it_runs_in_pytorch(sinh: Model) -> None:
    torch = pytest.importorskip("torch")
    (result,) = as_torch(sinh)(torch.from_numpy(X))
    np.testing.assert_allclose(result.numpy(), np.sinh(X), rtol=1e-5)


def test_rules_with_it_are_verified(sinh: Model) -> None:
    sound, unsound = parse_rules(
        "odd: (sinh (neg ?x)) => (neg (sinh ?x))\nidentity: (sinh ?x) => ?x"
    )
    assert isinstance(verify_rule(sound, 20), VerifiedRule)
    assert isinstance(verify_rule(unsound, 20), GraphRuleCounterexample)


def test_it_is_gone_afterwards(tmp_path: Path) -> None:
    with registered(SINH):
        assert operator_named("sinh") is SINH
    with pytest.raises(Inadmissible, match="expected an operator, found 'sinh'"):
        operator_named("sinh")
    with pytest.raises(Inadmissible, match="expected an operator"):
        TENSOR_DOMAIN.infer("sinh", (TensorType((3, 4)),))


def test_a_name_is_defined_once() -> None:
    with pytest.raises(ValueError, match="expected a new name for an operator, found elu"):
        with registered(OPERATORS["elu"]):
            pass


@pytest.mark.parametrize("name", ["elu", "cos", "leaky-relu", "log", "less"])
def test_an_operator_is_named_in_its_definition(name: str) -> None:
    """Compositions of the ONNX importer make nodes of it; nothing else names it."""
    package = Path(polygym.graphs.__file__).parent
    named = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if re.search(rf'"{name}"', path.read_text())
    }
    assert {place for place in named if not place.startswith("onnx/operators/")} == {
        "operators/elementwise.py"
    }
