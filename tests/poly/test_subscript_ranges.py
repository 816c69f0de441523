"""Computed subscripts that are in range for sure: ranges by enumeration, and the sites."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygym.codegen.llvm.emit_module import emit_llvm
from polygym.codegen.pipeline import lower
from polygym.frontend.c import parse_text
from polygym.ir.expressions import (
    Binary,
    BinaryOperator,
    Cast,
    Comparison,
    ComparisonOperator,
    Conditional,
    Expression,
    IntegerLiteral,
    IteratorValue,
    Unary,
    UnaryOperator,
)
from polygym.ir.types import ScalarType
from polygym.mapping.mapping import DEFAULT_MAPPING, SEQUENTIAL_MAPPING
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import original_schedule
from polygym.poly.subscript_ranges import ValueRange, sure_subscripts, value_range
from tests.oracles.compiled_runs import run_natively
from tests.oracles.interpreter import interpret

COUNTER = IteratorValue("i")
TYPES = [ScalarType.INT, ScalarType.LONG, ScalarType.UNSIGNED_BYTE, ScalarType.SHORT]


def wrapped(value: int, kind: ScalarType) -> int:
    """Return a value as a type holds it."""
    value %= 1 << kind.bits
    return value - (1 << kind.bits) if value > kind.highest else value


def value_of(expression: Expression, i: int) -> int:
    """Return the value of an expression, as C computes it."""
    match expression:
        case IntegerLiteral(value):
            return value
        case IteratorValue():
            return i
        case Cast(operand, kind):
            return wrapped(value_of(operand, i), kind)
        case Unary(UnaryOperator.NEGATE, operand, kind):
            return wrapped(-value_of(operand, i), kind)
        case Comparison(operator, left, right):
            return int(eval(f"{value_of(left, i)} {operator.value} {value_of(right, i)}"))
        case Conditional(condition, then, otherwise, _):
            return value_of(then if value_of(condition, i) else otherwise, i)
        case Binary(operator, left, right, kind):
            x, y = value_of(left, i), value_of(right, i)
            match operator:
                case BinaryOperator.DIVIDE:
                    result = abs(x) // abs(y) * (1 if (x < 0) is (y < 0) else -1)
                case BinaryOperator.REMAINDER:
                    result = abs(x) % abs(y) * (1 if x >= 0 else -1)
                case BinaryOperator.SHIFT_RIGHT:
                    result = x >> y
                case _:
                    result = eval(f"{x} {operator.value} {y}")
            return wrapped(result, kind)
        case _:
            raise AssertionError(expression)


def _parts(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    plain = st.sampled_from(
        [
            BinaryOperator.ADD,
            BinaryOperator.SUBTRACT,
            BinaryOperator.MULTIPLY,
            BinaryOperator.BIT_AND,
            BinaryOperator.BIT_OR,
        ]
    )
    by_number = st.sampled_from([BinaryOperator.DIVIDE, BinaryOperator.REMAINDER])
    positive = st.integers(1, 9).map(IntegerLiteral)
    comparisons = st.builds(
        Comparison,
        st.sampled_from(ComparisonOperator),
        inner,
        st.integers(-9, 9).map(IntegerLiteral),
    )
    return st.one_of(
        st.builds(Binary, plain, inner, inner, st.just(ScalarType.INT)),
        st.builds(Binary, by_number, inner, positive, st.just(ScalarType.INT)),
        st.builds(Unary, st.just(UnaryOperator.NEGATE), inner, st.just(ScalarType.INT)),
        st.builds(Cast, inner, st.sampled_from(TYPES)),
        st.builds(Conditional, comparisons, inner, inner, st.just(ScalarType.INT)),
    )


EXPRESSIONS = st.recursive(
    st.one_of(st.just(COUNTER), st.integers(-40, 300).map(IntegerLiteral)), _parts, max_leaves=8
)


@given(EXPRESSIONS, st.integers(-12, 12), st.integers(0, 9))
def test_a_range_has_every_value(expression: Expression, low: int, width: int) -> None:
    found = value_range(expression, {COUNTER: ValueRange(low, low + width)})
    for i in range(low, low + width + 1):
        assert found.low <= value_of(expression, i) <= found.high


PROGRAMS = {
    "bytes": ("count[b[i]] += 1;", "unsigned char *b, int count[256]", 2),
    "bytes, too few": ("count[b[i]] += 1;", "unsigned char *b, int count[255]", 0),
    "signed bytes": ("count[b[i]] += 1;", "signed char *b, int count[256]", 0),
    "shifted": ("count[b[i] + 128] += 1;", "signed char *b, int count[256]", 2),
    "masked": ("y[i] = t[(k[i] ^ i) & 15];", "int *k, int *y, const int t[16]", 1),
    "masked, too few": ("y[i] = t[k[i] & 15];", "int *k, int *y, const int t[15]", 0),
    "rest": ("y[i] = t[k[i] % 7];", "unsigned *k, int *y, const int t[7]", 1),
    "signed rest": ("y[i] = t[k[i] % 7];", "int *k, int *y, const int t[7]", 0),
    "clamped": (
        "y[i] = t[k[i] < 0 ? 0 : k[i] > 9 ? 9 : k[i]];", "int *k, int *y, const int t[10]", 1,
    ),
    "plain": ("y[i] = t[k[i]];", "int *k, int *y, const int t[10]", 0),
}  # fmt: skip


def scop_of(name: str):
    body, arguments, _ = PROGRAMS[name]
    return parse_text(
        f"void f(int n, {arguments}) {{\n#pragma scop\n"
        f"for (int i = 0; i < n; i++) {body}\n#pragma endscop\n}}"
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_sites(name: str) -> None:
    assert len(sure_subscripts(scop_of(name))) == PROGRAMS[name][2]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("mapping", [SEQUENTIAL_MAPPING, DEFAULT_MAPPING], ids=["source", "lanes"])
def test_code_has_no_check_there_and_computes_the_same(name: str, mapping) -> None:
    scop = scop_of(name)
    is_sure = PROGRAMS[name][2] > 0
    text = str(emit_llvm(lower(LegalSchedule(scop, original_schedule(scop)), SEQUENTIAL_MAPPING)))
    assert ("icmp uge" not in text) is is_sure
    generator = np.random.default_rng(7)
    kinds = {"uint8_t": np.uint8, "int8_t": np.int8, "uint32_t": np.uint32}
    given: dict[str, np.ndarray] = {}
    for array in scop.arrays:
        kind = kinds.get(array.type.value, np.int32)
        size = 61 if array.name in ("b", "k", "y") else int(array.c_extents[0])
        low, high = (0, min(size, 100)) if not is_sure else (np.iinfo(kind).min, np.iinfo(kind).max)
        if array.name not in ("b", "k"):
            low, high = 0, 100
        elif not is_sure:
            high = 7
        given[array.name] = generator.integers(low, high, size, dtype=kind)
    expected = {key: values.copy() for key, values in given.items()}
    interpret(scop, {"n": 61}, expected)
    run_natively(scop, original_schedule(scop), {"n": 61}, given, mapping)
    for key, values in expected.items():
        np.testing.assert_array_equal(given[key], values, key)
