"""Two indices differ by a number if it is so wherever they are evaluated."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from polygym.compiler.codegen.loops.ir import Index, IndexOperator, Number, Operation, Variable
from polygym.compiler.codegen.loops.linear import as_sum, difference

SMALL = st.integers(-3, 3)


def both(operator: IndexOperator, part: st.SearchStrategy[Index]) -> st.SearchStrategy[Index]:
    return st.builds(lambda *operands: Operation(operator, operands), part, part)


def larger(part: st.SearchStrategy[Index]) -> st.SearchStrategy[Index]:
    scaled = st.builds(
        lambda factor, index, is_first: Operation(
            IndexOperator.MULTIPLY,
            (Number(factor), index) if is_first else (index, Number(factor)),
        ),
        SMALL,
        part,
        st.booleans(),
    )
    operators = (IndexOperator.ADD, IndexOperator.SUBTRACT, IndexOperator.MINIMUM)
    negated = st.builds(lambda index: Operation(IndexOperator.NEGATE, (index,)), part)
    return st.one_of(scaled, negated, *(both(operator, part) for operator in operators))


INDICES: st.SearchStrategy[Index] = st.recursive(
    st.one_of(st.builds(Number, SMALL), st.sampled_from([Variable("i"), Variable("j")])),
    larger,
    max_leaves=8,
)


@given(INDICES, INDICES)
def test_a_difference_is_that_of_the_sums(index: Index, other: Index) -> None:
    (terms, constant), (others, less) = as_sum(index), as_sum(other)
    assert difference(index, other) == (constant - less if terms == others else None)


@given(INDICES, SMALL)
def test_what_is_added_is_the_difference(index: Index, amount: int) -> None:
    more = Operation(IndexOperator.ADD, (Number(amount), index))
    assert difference(more, index) == amount
    assert difference(index, more) == -amount
    # Written in another order, it is the same sum.
    assert difference(Operation(IndexOperator.SUBTRACT, (more, index)), Number(0)) == amount


def test_what_is_multiplied_by_nothing_is_no_term() -> None:
    i = Variable("i")
    assert difference(Operation(IndexOperator.MULTIPLY, (Number(0), i)), Number(2)) == -2
    assert difference(Operation(IndexOperator.ADD, (i, i)), i) is None
