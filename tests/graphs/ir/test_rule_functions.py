"""The words of conditions and computed literals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygym.graphs.ir.domain import (
    CONDITION_DOCS,
    FUNCTION_DOCS,
    compute_literal,
    condition_holds,
)
from polygym.graphs.operators.types import (
    Data,
    NumberData,
    TensorType,
    TextData,
    parse_numbers,
    shape_text,
)
from polygym.rewrite.domain import Inadmissible

_X, _IMAGE, _KERNEL = (
    TensorType((64, 1024)),
    TensorType((1, 8, 5, 5)),
    TensorType((16, 2, 3, 3), constant=True),
)

_VALUES: list[Data] = [
    _X,
    _IMAGE,
    _KERNEL,
    TensorType(()),
    NumberData(0),
    NumberData(7),
    NumberData(1.5),
    TextData("1-0"),
    TextData("5-6"),
    TextData("same"),
]


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        ("extent", (_X, NumberData(1)), 1024),
        ("rank", (_IMAGE,), 4),
        ("shape", (_X,), "64-1024"),
        ("shape", (TensorType((5,)),), 5),
        ("shape", (TensorType(()),), "scalar"),
        ("groups", (_IMAGE, _KERNEL), 4),
        ("compose", (TextData("1-2-0"), TextData("2-0-1")), "0-1-2"),
        ("compose", (NumberData(0), NumberData(0)), 0),
        ("plus", (NumberData(2), NumberData(3)), 5),
        ("minus", (NumberData(2), NumberData(3)), -1),
        ("times", (NumberData(2), NumberData(3)), 6),
    ],
)
def test_functions(function: str, arguments: tuple[Any, ...], expected: object) -> None:
    head = compute_literal(function, arguments)
    assert head == expected
    assert type(head) is type(expected)


@given(st.permutations(range(4)), st.permutations(range(4)))
def test_permutations_compose_as_transposing_does(first: list[int], other: list[int]) -> None:
    composed = compute_literal(
        "compose", tuple(TextData(shape_text(tuple(order))) for order in (first, other))
    )
    x = np.arange(120).reshape(2, 3, 4, 5)
    expected = x.transpose(first).transpose(other)
    assert np.array_equal(x.transpose(parse_numbers(str(composed))), expected)


@pytest.mark.parametrize(
    ("condition", "yes", "no"),
    [
        ("same-shape", (_X, TensorType((64, 1024), constant=True)), (_X, _IMAGE)),
        ("equal", (NumberData(1), NumberData(1)), (TextData("same"), TextData("valid"))),
        ("different", (TextData("same"), TextData("valid")), (NumberData(1), NumberData(1))),
        ("rank", (_X, NumberData(2)), (_X, NumberData(3))),
        ("constant", (_KERNEL,), (_X,)),
        ("below", (NumberData(1), NumberData(2)), (NumberData(2), NumberData(2))),
        ("multiple", (NumberData(6), NumberData(3)), (NumberData(7), NumberData(3))),
        ("odd", (NumberData(3),), (NumberData(4),)),
    ],
)
def test_conditions(condition: str, yes: tuple[Any, ...], no: tuple[Any, ...]) -> None:
    assert condition_holds(condition, yes)
    assert not condition_holds(condition, no)


@given(st.data())
def test_other_arguments_are_refused_and_never_true_by_mistake(data: st.DataObject) -> None:
    arguments = tuple(data.draw(st.lists(st.sampled_from(_VALUES), max_size=3)))
    function = data.draw(st.sampled_from(sorted(FUNCTION_DOCS)))
    try:
        assert isinstance(compute_literal(function, arguments), (str, int, float))
    except Inadmissible:
        pass
    condition = data.draw(st.sampled_from(sorted(CONDITION_DOCS)))
    assert condition_holds(condition, arguments) in (True, False)


def test_sentences_say_how_many_arguments_there_are() -> None:
    for name, sentence in {**FUNCTION_DOCS, **CONDITION_DOCS}.items():
        arguments, colon, says = sentence.partition(": ")
        assert arguments, name
        assert colon, name
        assert says, name


@pytest.mark.parametrize("count", [0, 4])
def test_too_few_and_too_many_arguments(count: int) -> None:
    for function in FUNCTION_DOCS:
        with pytest.raises(Inadmissible):
            compute_literal(function, (_X,) * count)
    for condition in CONDITION_DOCS:
        assert not condition_holds(condition, (_X,) * count)


def test_words_that_are_none_are_refused() -> None:
    with pytest.raises(Inadmissible, match=r"expected one of extent, .*, found widest"):
        compute_literal("widest", (_X,))
    with pytest.raises(Inadmissible, match=r"expected one of same-shape, .*, found wide"):
        condition_holds("wide", (_X,))
