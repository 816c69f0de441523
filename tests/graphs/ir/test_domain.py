"""Tensor graphs as a language: the data of nodes, what equal nodes are, what refusals do."""

from __future__ import annotations

import re

import pytest

from polygym.graphs.ir.build import entering, matmul, relu, weight
from polygym.graphs.ir.domain import TENSORS, data_of
from polygym.graphs.ir.types import Number, Pair, Tensor, Text
from polygym.graphs.ir.words import CONDITION_SENTENCES, FUNCTION_SENTENCES
from polygym.rewrite.domain import Domain, Inadmissible


def test_it_is_a_domain() -> None:
    domain: Domain = TENSORS
    assert domain.functions() == FUNCTION_SENTENCES
    assert domain.conditions() == CONDITION_SENTENCES
    assert domain.compute("plus", (Number(2), Number(3))) == 5
    assert domain.holds("odd", (Number(3),))


def test_data_of_all_nodes() -> None:
    x, w = entering("x", 2, 3), weight("w", 3, 4)
    product = matmul(x, relu(w))
    found = data_of((product,))
    assert found[product] == Tensor((2, 4))
    assert found[relu(w)] == Tensor((3, 4), constant=True)
    assert found[product.children[0]] == Text("none")


def test_a_refusal_is_remembered_and_said_again() -> None:
    for _ in range(3):
        with pytest.raises(Inadmissible, match="relu: expected a tensor, found 1") as found:
            TENSORS.infer("relu", (Number(1),))
        # It must not grow by the frames of all who asked.
        assert len(found.traceback) == 2


def test_an_integer_is_no_real_number() -> None:
    # 1 == 1.0 for Python, and a cache must not mix them up: an axis is an integer.
    x = Tensor((2, 2))
    for _ in range(2):
        assert TENSORS.infer("softmax", (Number(1), x)) == x
        with pytest.raises(Inadmissible, match=re.escape("found 1.0")):
            TENSORS.infer("softmax", (Number(1.0), x))
    assert isinstance(TENSORS.infer(1.0, ()).value, float)  # type: ignore[union-attr]
    assert isinstance(TENSORS.infer(1, ()).value, int)  # type: ignore[union-attr]


def test_equal_nodes_are_known_ahead_if_one_of_them_is() -> None:
    known, other = Tensor((2, 3), constant=True), Tensor((2, 3))
    assert TENSORS.join(known, other) == TENSORS.join(other, known) == known
    assert TENSORS.join(other, other) == other


@pytest.mark.parametrize(
    "other",
    [Tensor((3, 2)), Tensor((2, 3), "int64"), Number(1), Pair(Tensor((2, 3)), Tensor((1,)))],
)
def test_nodes_of_other_shapes_are_never_equal(other: object) -> None:
    for pair in ((Tensor((2, 3)), other), (other, Tensor((2, 3)))):
        with pytest.raises(Inadmissible, match="expected equal nodes to have one shape"):
            TENSORS.join(*pair)  # type: ignore[arg-type]
