"""Tensor graphs as a language: the data of nodes, what equal nodes are, what refusals do."""

from __future__ import annotations

import re

import pytest

from polygym.graphs.ir.build import graph_input, matmul, relu, weight
from polygym.graphs.ir.domain import CONDITION_DOCS, FUNCTION_DOCS, TENSOR_DOMAIN, infer_all
from polygym.graphs.operators.types import NumberData, TensorPair, TensorType, TextData
from polygym.rewrite.domain import Domain, Inadmissible


def test_it_is_a_domain() -> None:
    domain: Domain = TENSOR_DOMAIN
    assert domain.functions() == FUNCTION_DOCS
    assert domain.conditions() == CONDITION_DOCS
    assert domain.compute("plus", (NumberData(2), NumberData(3))) == 5
    assert domain.holds("odd", (NumberData(3),))


def test_data_of_all_nodes() -> None:
    x, w = graph_input("x", 2, 3), weight("w", 3, 4)
    product = matmul(x, relu(w))
    datas = infer_all((product,))
    assert datas[product] == TensorType((2, 4))
    assert datas[relu(w)] == TensorType((3, 4), constant=True)
    assert datas[product.children[0]] == TextData("none")


def test_a_refusal_is_remembered_and_said_again() -> None:
    for _ in range(3):
        with pytest.raises(Inadmissible, match="relu: expected a tensor, found 1") as info:
            TENSOR_DOMAIN.infer("relu", (NumberData(1),))
        # It must not grow by the frames of all who asked.
        assert len(info.traceback) == 2


def test_an_integer_is_no_real_number() -> None:
    # 1 == 1.0 for Python, and a cache must not mix them up: an axis is an integer.
    x = TensorType((2, 2))
    for _ in range(2):
        assert TENSOR_DOMAIN.infer("softmax", (NumberData(1), x)) == x
        with pytest.raises(Inadmissible, match=re.escape("found 1.0")):
            TENSOR_DOMAIN.infer("softmax", (NumberData(1.0), x))
    assert isinstance(TENSOR_DOMAIN.infer(1.0, ()).value, float)  # type: ignore[union-attr]
    assert isinstance(TENSOR_DOMAIN.infer(1, ()).value, int)  # type: ignore[union-attr]


def test_equal_nodes_are_known_ahead_if_one_of_them_is() -> None:
    known, other = TensorType((2, 3), constant=True), TensorType((2, 3))
    assert TENSOR_DOMAIN.join(known, other) == TENSOR_DOMAIN.join(other, known) == known
    assert TENSOR_DOMAIN.join(other, other) == other


@pytest.mark.parametrize(
    "other",
    [
        TensorType((3, 2)),
        TensorType((2, 3), "int64"),
        NumberData(1),
        TensorPair(TensorType((2, 3)), TensorType((1,))),
    ],
)
def test_nodes_of_other_shapes_are_never_equal(other: object) -> None:
    for pair in ((TensorType((2, 3)), other), (other, TensorType((2, 3)))):
        with pytest.raises(Inadmissible, match="expected equal nodes to have one shape"):
            TENSOR_DOMAIN.join(*pair)  # type: ignore[arg-type]
