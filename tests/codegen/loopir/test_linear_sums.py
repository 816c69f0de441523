"""Two indices differ by a number if it is so wherever they are evaluated."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from polygym.codegen.loopir.ir import (
    Index,
    IndexConstant,
    IndexOperation,
    IndexOperator,
    IndexVariable,
)
from polygym.codegen.loopir.linear_sums import constant_difference, to_linear_sum

SMALL = st.integers(-3, 3)


def both(operator: IndexOperator, part: st.SearchStrategy[Index]) -> st.SearchStrategy[Index]:
    return st.builds(lambda *operands: IndexOperation(operator, operands), part, part)


def larger(part: st.SearchStrategy[Index]) -> st.SearchStrategy[Index]:
    scaled = st.builds(
        lambda factor, index, is_first: IndexOperation(
            IndexOperator.MULTIPLY,
            (IndexConstant(factor), index) if is_first else (index, IndexConstant(factor)),
        ),
        SMALL,
        part,
        st.booleans(),
    )
    operators = (IndexOperator.ADD, IndexOperator.SUBTRACT, IndexOperator.MINIMUM)
    negated = st.builds(lambda index: IndexOperation(IndexOperator.NEGATE, (index,)), part)
    return st.one_of(scaled, negated, *(both(operator, part) for operator in operators))


INDICES: st.SearchStrategy[Index] = st.recursive(
    st.one_of(
        st.builds(IndexConstant, SMALL), st.sampled_from([IndexVariable("i"), IndexVariable("j")])
    ),
    larger,
    max_leaves=8,
)


@given(INDICES, INDICES)
def test_a_difference_is_that_of_the_sums(index: Index, other: Index) -> None:
    (terms, constant), (others, less) = to_linear_sum(index), to_linear_sum(other)
    assert constant_difference(index, other) == (constant - less if terms == others else None)


@given(INDICES, SMALL)
def test_what_is_added_is_the_difference(index: Index, amount: int) -> None:
    more = IndexOperation(IndexOperator.ADD, (IndexConstant(amount), index))
    assert constant_difference(more, index) == amount
    assert constant_difference(index, more) == -amount
    # Written in another order, it is the same sum.
    assert (
        constant_difference(IndexOperation(IndexOperator.SUBTRACT, (more, index)), IndexConstant(0))
        == amount
    )


def test_what_is_multiplied_by_nothing_is_no_term() -> None:
    i = IndexVariable("i")
    assert (
        constant_difference(
            IndexOperation(IndexOperator.MULTIPLY, (IndexConstant(0), i)), IndexConstant(2)
        )
        == -2
    )
    assert constant_difference(IndexOperation(IndexOperator.ADD, (i, i)), i) is None
