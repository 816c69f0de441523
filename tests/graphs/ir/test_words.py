"""The words of conditions and computed literals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygym.graphs.ir.types import Data, Number, Tensor, Text, numbers_in, shape_text
from polygym.graphs.ir.words import CONDITION_SENTENCES, FUNCTION_SENTENCES, compute, holds
from polygym.rewrite.domain import Inadmissible

_X, _IMAGE, _KERNEL = Tensor((64, 1024)), Tensor((1, 8, 5, 5)), Tensor((16, 2, 3, 3), constant=True)

_VALUES: list[Data] = [
    _X,
    _IMAGE,
    _KERNEL,
    Tensor(()),
    Number(0),
    Number(7),
    Number(1.5),
    Text("1-0"),
    Text("5-6"),
    Text("same"),
]


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        ("extent", (_X, Number(1)), 1024),
        ("rank", (_IMAGE,), 4),
        ("shape", (_X,), "64-1024"),
        ("shape", (Tensor((5,)),), 5),
        ("shape", (Tensor(()),), "scalar"),
        ("groups", (_IMAGE, _KERNEL), 4),
        ("compose", (Text("1-2-0"), Text("2-0-1")), "0-1-2"),
        ("compose", (Number(0), Number(0)), 0),
        ("plus", (Number(2), Number(3)), 5),
        ("minus", (Number(2), Number(3)), -1),
        ("times", (Number(2), Number(3)), 6),
    ],
)
def test_functions(function: str, arguments: tuple[Any, ...], expected: object) -> None:
    found = compute(function, arguments)
    assert found == expected
    assert type(found) is type(expected)


@given(st.permutations(range(4)), st.permutations(range(4)))
def test_permutations_compose_as_transposing_does(one: list[int], other: list[int]) -> None:
    composed = compute("compose", tuple(Text(shape_text(tuple(order))) for order in (one, other)))
    x = np.arange(120).reshape(2, 3, 4, 5)
    expected = x.transpose(one).transpose(other)
    assert np.array_equal(x.transpose(numbers_in(str(composed))), expected)


@pytest.mark.parametrize(
    ("condition", "yes", "no"),
    [
        ("same-shape", (_X, Tensor((64, 1024), constant=True)), (_X, _IMAGE)),
        ("equal", (Number(1), Number(1)), (Text("same"), Text("valid"))),
        ("different", (Text("same"), Text("valid")), (Number(1), Number(1))),
        ("rank", (_X, Number(2)), (_X, Number(3))),
        ("constant", (_KERNEL,), (_X,)),
        ("below", (Number(1), Number(2)), (Number(2), Number(2))),
        ("multiple", (Number(6), Number(3)), (Number(7), Number(3))),
        ("odd", (Number(3),), (Number(4),)),
    ],
)
def test_conditions(condition: str, yes: tuple[Any, ...], no: tuple[Any, ...]) -> None:
    assert holds(condition, yes)
    assert not holds(condition, no)


@given(st.data())
def test_other_arguments_are_refused_and_never_true_by_mistake(data: st.DataObject) -> None:
    arguments = tuple(data.draw(st.lists(st.sampled_from(_VALUES), max_size=3)))
    function = data.draw(st.sampled_from(sorted(FUNCTION_SENTENCES)))
    try:
        assert isinstance(compute(function, arguments), (str, int, float))
    except Inadmissible:
        pass
    condition = data.draw(st.sampled_from(sorted(CONDITION_SENTENCES)))
    assert holds(condition, arguments) in (True, False)


def test_sentences_say_how_many_arguments_there_are() -> None:
    for name, sentence in {**FUNCTION_SENTENCES, **CONDITION_SENTENCES}.items():
        arguments, colon, says = sentence.partition(": ")
        assert arguments, name
        assert colon, name
        assert says, name


@pytest.mark.parametrize("count", [0, 4])
def test_too_few_and_too_many_arguments(count: int) -> None:
    for function in FUNCTION_SENTENCES:
        with pytest.raises(Inadmissible):
            compute(function, (_X,) * count)
    for condition in CONDITION_SENTENCES:
        assert not holds(condition, (_X,) * count)


def test_words_that_are_none_are_refused() -> None:
    with pytest.raises(Inadmissible, match=r"expected one of extent, .*, found widest"):
        compute("widest", (_X,))
    with pytest.raises(Inadmissible, match=r"expected one of same-shape, .*, found wide"):
        holds("wide", (_X,))
