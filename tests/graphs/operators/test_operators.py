"""The table of operators: what it says is what there is."""

from __future__ import annotations

import inspect

import pytest

from polygym.graphs.ir import build
from polygym.graphs.ir.build import graph_input, make_node, shape_of, weight
from polygym.graphs.operators.registry import OPERATORS, infer_node, operator_named
from polygym.graphs.operators.types import NumberData, TensorType, TextData
from polygym.rewrite.domain import Inadmissible
from polygym.rewrite.term import term


def test_columns_are_the_arguments_of_inference() -> None:
    for operator in OPERATORS.values():
        parameters = list(inspect.signature(operator.infer).parameters.values())
        optional = [operator.optional] if operator.optional else []
        assert len(parameters) == len(operator.parameters) + len(optional), operator.name
        assert len(operator.parameters_of(len(parameters))) == len(parameters), operator.name
        assert {kind for _, kind in operator.parameters} <= set("NSTP"), operator.name
        assert operator.doc


def test_the_operators_of_the_paper_stand_first() -> None:
    paper = "input weight noop ewadd ewmul matmul conv relu tanh sigmoid poolmax poolavg transpose"
    paper += " enlarge split split0 split1 merge reshape"
    assert " ".join(OPERATORS).startswith(f"{paper} ")


@pytest.mark.parametrize("count", [2, 5, 10, 99])
def test_there_is_a_concat_for_every_count(count: int) -> None:
    operator = operator_named(f"concat{count}")
    assert operator is operator_named(f"concat{count}")
    assert operator.parameters[0] == ("axis", "N")
    assert [kind for _, kind in operator.parameters[1:]] == ["T"] * count


def test_sets_are_of_operators() -> None:
    unary = {name for name, operator in OPERATORS.items() if operator.is_unary}
    elementwise = {name for name, operator in OPERATORS.items() if operator.element is not None}
    assert unary < elementwise < OPERATORS.keys()
    assert len(unary) == 23
    for name in unary:
        assert [kind for _, kind in OPERATORS[name].parameters] == ["T"]
        assert infer_node(name, (TensorType((2, 3)),)) == TensorType((2, 3))


def test_literals_are_words_and_numbers() -> None:
    assert infer_node("same", ()) == TextData("same")
    assert infer_node(3, ()) == NumberData(3)
    assert infer_node(1.5, ()) == NumberData(1.5)


def test_functions_build_what_the_table_says() -> None:
    x, image = graph_input("x", 2, 3), graph_input("image", 1, 4, 8, 8)
    kernel = weight("kernel", 8, 2, 3, 3)
    first, second = build.split(1, 1, x)
    cases = [
        (build.matmul(x, weight("w", 3, 4), "relu"), (2, 4)),
        (build.conv(image, kernel, (2, 1), "valid", "tanh"), (1, 8, 3, 6)),
        (build.pool("max", image, (2, 3), (2, 2)), (1, 4, 4, 3)),
        (build.pool("avg", image, (3, 3), (2, 2), "same"), (1, 4, 4, 4)),
        (build.transpose(x, (1, 0)), (3, 2)),
        (build.transpose(graph_input("v", 5), (0,)), (5,)),
        (build.reshape(x, (6,)), (6,)),
        (build.reshape(graph_input("one", 1), ()), ()),
        (build.concat(0, [x, x, x]), (6, 3)),
        (build.concat(0, [x]), (2, 3)),
        (first, (2, 1)),
        (second, (2, 2)),
        (build.unary("gelu", build.relu(build.tanh(build.sigmoid(x)))), (2, 3)),
        (build.binary("add", x, graph_input("v", 3)), (2, 3)),
        (make_node("clip", 0, 6, x), (2, 3)),
        (weight("w", 3, dtype="float64"), (3,)),
    ]
    for made, expected in cases:
        assert shape_of(made) == expected
    assert build.concat(0, [x]) is x
    assert build.literal(1) is term(1)
    assert build.shape_literal((1, 2)) is term("1-2")


def test_what_is_no_tensor_has_no_shape() -> None:
    with pytest.raises(Inadmissible, match="expected a tensor, found 2-1 and 2-2"):
        shape_of(make_node("split", 1, 1, graph_input("x", 2, 3)))
