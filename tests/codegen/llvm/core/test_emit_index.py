"""Index arithmetic in machine code has the values that Python's has, wherever it is evaluated."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llvmlite import ir

from polygym.codegen.llvm.core.binary_interface import ENTRY_POINT
from polygym.codegen.llvm.core.emit_index import emit_index, emit_sum
from polygym.codegen.llvm.core.types import I32, I64, POINTER
from polygym.codegen.llvm.jit import compile_object
from polygym.codegen.loopir.ir import (
    Index,
    IndexConstant,
    IndexOperation,
    IndexOperator,
    IndexVariable,
)
from polygym.codegen.loopir.linear_sums import LinearSum
from polygym.codegen.validate.ranges import interval_of
from polygym.errors import InternalError
from polygym.foreign import calls
from polygym.runtime.loader import load_object

DIVISIONS = (
    IndexOperator.DIVIDE_EXACT,
    IndexOperator.DIVIDE_FLOOR,
    IndexOperator.DIVIDE_NONNEGATIVE,
)
VALUES = (-9, -8, -7, -4, -3, -2, -1, 0, 1, 2, 3, 4, 7, 8, 9)
COMPARISONS: dict[IndexOperator, Callable[[int, int], bool]] = {
    IndexOperator.EQUAL: int.__eq__,
    IndexOperator.LESS: int.__lt__,
    IndexOperator.LESS_EQUAL: int.__le__,
    IndexOperator.GREATER: int.__gt__,
    IndexOperator.GREATER_EQUAL: int.__ge__,
}


def value_of(index: Index, values: dict[str, int]) -> int:
    """Return an index's value; all operands are evaluated, as the machine does."""
    match index:
        case IndexConstant(value):
            return value
        case IndexVariable(name):
            return values[name]
    result = [value_of(operand, values) for operand in index.operands]
    operator = index.operator
    if operator in DIVISIONS:
        return result[0] // result[1]
    if operator in COMPARISONS:
        return int(COMPARISONS[operator](*result))
    match operator:
        case IndexOperator.REMAINDER_NONNEGATIVE | IndexOperator.REMAINDER_ZERO_TEST:
            return result[0] % result[1]
        case IndexOperator.NEGATE:
            return -result[0]
        case IndexOperator.ADD:
            return result[0] + result[1]
        case IndexOperator.SUBTRACT:
            return result[0] - result[1]
        case IndexOperator.MULTIPLY:
            return result[0] * result[1]
        case IndexOperator.MINIMUM:
            return min(result)
        case IndexOperator.MAXIMUM:
            return max(result)
        case IndexOperator.SELECT:
            return result[1] if result[0] else result[2]
        case IndexOperator.AND:
            return int(all(result))
        case IndexOperator.OR:
            return int(any(result))
    raise AssertionError(operator)


def on_the_machine(index: Index | LinearSum) -> Callable[[int, int], int]:
    """Return an index, or a sum, as machine code: a function of the variables x and y."""
    module = ir.Module()
    function = ir.Function(module, ir.FunctionType(I32, [POINTER, POINTER]), ENTRY_POINT)
    builder = ir.IRBuilder(function.append_basic_block())
    block, result = function.args
    environment = {}
    for place, name in enumerate("xy"):
        slot = builder.gep(block, [ir.Constant(I64, place)], source_etype=I64)
        environment[name] = builder.load(slot, typ=I64)
    emit = emit_sum if isinstance(index, tuple) else emit_index
    value = emit(builder, index, environment)
    # A branch, for code that depends on a value which is none does anything.
    with builder.if_then(builder.icmp_signed("!=", value, ir.Constant(value.type, 0))):
        wide = builder.zext(value, I64) if value.type.width == 1 else value
        builder.store(wide, result)
    builder.ret(ir.Constant(I32, 0))
    loaded = load_object(compile_object(str(module)))

    def run(x: int, y: int) -> int:
        cell = calls.time_cell(0)
        assert loaded.call([x % 2**64, y % 2**64], cell) == 0  # their bits, as they stand there
        return int(cell[0])

    return run


def agrees(index: Index) -> None:
    run = on_the_machine(index)
    for x in VALUES:
        for y in VALUES:
            expected = value_of(index, {"x": x, "y": y})
            assert run(x, y) == expected, (index, x, y)


X, Y = IndexVariable("x"), IndexVariable("y")


@pytest.mark.rotates
@pytest.mark.parametrize("divisor", [1, 2, 3, 4, 5, 8, 2**31, 2**40 + 1])
@pytest.mark.parametrize("operator", [*DIVISIONS, IndexOperator.REMAINDER_NONNEGATIVE])
def test_divisions_round_down_whatever_they_are_told(operator: IndexOperator, divisor: int) -> None:
    agrees(IndexOperation(operator, (X, IndexConstant(divisor))))


@pytest.mark.parametrize(
    ("first", "second", "constant"),
    [(0, 0, -3), (1, 0, 0), (-7, 1, 5), (2**62, -(2**63), 2**62), (2**64 + 3, -(2**70), 2**65 - 1)],
)
def test_sums_are_right_modulo_what_the_machine_has(first: int, second: int, constant: int) -> None:
    """Parts of them may wrap: those of 2^62 · x do for every x above 1."""
    quotient = IndexOperation(IndexOperator.DIVIDE_FLOOR, (Y, IndexConstant(3)))
    terms: dict[Index, int] = {X: first, quotient: second}
    run = on_the_machine(({term: factor for term, factor in terms.items() if factor}, constant))
    for x in VALUES:
        for y in VALUES:
            exact = first * x + second * (y // 3) + constant
            assert run(x, y) == (exact + 2**63) % 2**64 - 2**63


def half(index: Index, by: int = 2) -> Index:
    return IndexOperation(IndexOperator.DIVIDE_EXACT, (index, IndexConstant(by)))


def is_multiple(index: Index, of: int = 2) -> Index:
    remainder = IndexOperation(IndexOperator.REMAINDER_ZERO_TEST, (index, IndexConstant(of)))
    return IndexOperation(IndexOperator.EQUAL, (remainder, IndexConstant(0)))


@pytest.mark.parametrize("connective", [IndexOperator.AND, IndexOperator.OR])
@pytest.mark.parametrize("by", [2, 3])
def test_operands_of_connectives_need_no_guard(connective: IndexOperator, by: int) -> None:
    """The exact division stands before the test that makes it exact."""
    inexact = IndexOperation(
        IndexOperator.GREATER, (IndexOperation(IndexOperator.ADD, (half(X, by), Y)), X)
    )
    agrees(IndexOperation(connective, (inexact, is_multiple(X, by))))
    agrees(IndexOperation(connective, (is_multiple(X, by), inexact)))


@pytest.mark.parametrize("by", [2, 3])
def test_both_arms_of_a_selection_need_no_guard(by: int) -> None:
    arms = (is_multiple(X, by), half(X, by), IndexOperation(IndexOperator.NEGATE, (half(Y, by),)))
    chosen = IndexOperation(IndexOperator.SELECT, arms)
    agrees(
        IndexOperation(
            IndexOperator.MAXIMUM, (chosen, half(IndexOperation(IndexOperator.ADD, (X, Y))))
        )
    )


def test_sums_after_quotients_of_negative_numbers_do_not_wrap() -> None:
    quotient = IndexOperation(IndexOperator.DIVIDE_NONNEGATIVE, (X, IndexConstant(3)))
    agrees(
        IndexOperation(
            IndexOperator.LESS, (IndexOperation(IndexOperator.ADD, (quotient, Y)), IndexConstant(2))
        )
    )


def test_a_divisor_is_a_positive_number() -> None:
    for divisor in (Y, IndexConstant(0), IndexConstant(-2)):
        with pytest.raises(InternalError, match="expected a positive number"):
            on_the_machine(IndexOperation(IndexOperator.DIVIDE_FLOOR, (X, divisor)))


def _truths(inner: st.SearchStrategy[Index]) -> st.SearchStrategy[Index]:
    comparisons = st.builds(
        lambda operator, left, right: IndexOperation(operator, (left, right)),
        st.sampled_from(sorted(COMPARISONS, key=str)),
        inner,
        inner,
    )
    connectives = st.builds(
        lambda operator, operands: IndexOperation(operator, tuple(operands)),
        st.sampled_from([IndexOperator.AND, IndexOperator.OR]),
        st.lists(comparisons, min_size=2, max_size=3),
    )
    return comparisons | connectives


def _larger(inner: st.SearchStrategy[Index]) -> st.SearchStrategy[Index]:
    """Return indices whose operands are others."""
    divisors = st.sampled_from(
        [IndexConstant(1), IndexConstant(2), IndexConstant(3), IndexConstant(4), IndexConstant(6)]
    )
    divided = st.builds(
        lambda operator, left, right: IndexOperation(operator, (left, right)),
        st.sampled_from([*DIVISIONS, IndexOperator.REMAINDER_NONNEGATIVE]),
        inner,
        divisors,
    )
    combined = st.builds(
        lambda operator, left, right: IndexOperation(operator, (left, right)),
        st.sampled_from(
            [
                IndexOperator.ADD,
                IndexOperator.SUBTRACT,
                IndexOperator.MINIMUM,
                IndexOperator.MAXIMUM,
            ]
        ),
        inner,
        inner,
    )
    scaled = st.builds(
        lambda factor, operand: IndexOperation(
            IndexOperator.MULTIPLY, (IndexConstant(factor), operand)
        ),
        st.integers(-5, 5),
        inner,
    )
    chosen = st.builds(
        lambda *parts: IndexOperation(IndexOperator.SELECT, parts), _truths(inner), inner, inner
    )
    return divided | combined | scaled | chosen


LEAVES = st.sampled_from([X, Y]) | st.builds(IndexConstant, st.integers(-9, 9))


@settings(max_examples=30, deadline=None)
@given(st.recursive(LEAVES, _larger, max_leaves=12))
def test_the_machine_and_python_agree(index: Index) -> None:
    agrees(index)


@settings(max_examples=300, deadline=None)
@given(st.recursive(LEAVES, _larger, max_leaves=12), st.integers(-40, 40), st.integers(-40, 40))
def test_intervals_hold_all_values(index: Index, x: int, y: int) -> None:
    """That nothing wraps is promised on the strength of these intervals, guards or none."""
    low, high = interval_of(index, {"x": (x - 3, x + 3), "y": (y - 2, y + 2)})
    for dx in range(-3, 4):
        for dy in range(-2, 3):
            assert low <= value_of(index, {"x": x + dx, "y": y + dy}) <= high
