"""C text of expressions: minimal parentheses, exact constants, the same meaning to a compiler."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygym.frontend.c import parse_text
from polygym.ir.expressions import (
    Access,
    Binary,
    BinaryOperator,
    Cast,
    Expression,
    FloatLiteral,
    IntegerLiteral,
    IteratorValue,
    Load,
    ParameterValue,
    Unary,
    UnaryOperator,
)
from polygym.ir.printer import c_expression
from polygym.ir.types import ScalarType

INT, DOUBLE = ScalarType.INT, ScalarType.DOUBLE


def body_of(expression: str) -> Expression:
    scop = parse_text(
        "void f(int n, int a, int b, int c, double x[n], long g[n], int out[n]) {\n#pragma scop\n"
        f"out[0] = {expression};\n#pragma endscop\n}}"
    )
    return scop.statements[0].body


@pytest.mark.parametrize(
    "text",
    [
        "a + b - c",
        "a - (b - c)",
        "a * (b + c)",
        "a * b / c % 3",
        "a / (b * c)",
        "-a * -(b + c)",
        "- -a",
        "~(a | b) & c ^ a",
        "a << b + c >> 2",
        "a < b == b < c",
        "(a == b) < c",
        "a < b ? b : c < a ? 1 : 2",
        "(a < b ? b : c) + 1",
        "(a < b ? c : b) < b ? a : b",
        "out[0] + abs(a - b)",
        "(int)x[0] + (int)(x[0] * 2.5)",
        "(int)(g[0] << 3)",
        "(int)fmax(x[0], sqrt((double)a))",
        "(int)((float)x[0] * 0.1f)",
        "(int)(g[0] + 3L)",
        "out[0] * 2 + (a & 1)",
    ],
)
def test_text_comes_back(text: str) -> None:
    assert c_expression(body_of(text)) == text


def test_lookups_are_used() -> None:
    access = Access("A", "{ S[i] -> A[i] }", "A[i]")
    expression = Binary(
        BinaryOperator.ADD,
        Load(access, INT),
        Binary(BinaryOperator.MULTIPLY, IteratorValue("i"), ParameterValue("n"), INT),
        INT,
    )
    text = c_expression(
        expression,
        access_text=lambda read: f"{read.array}_copy[0]",
        iterator=lambda name: f"(t + {name})",
        parameter=str.upper,
    )
    assert text == "A_copy[0] + (t + i) * N"


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (IntegerLiteral(-3), "-3"),
        (IntegerLiteral(-(2**31)), "-2147483647 - 1"),
        (IntegerLiteral(-(2**63), ScalarType.LONG), "-9223372036854775807L - 1L"),
        (IntegerLiteral(5, ScalarType.LONG), "5L"),
        (IntegerLiteral(2**32 - 1, ScalarType.UNSIGNED), "4294967295U"),
        (IntegerLiteral(2**64 - 1, ScalarType.UNSIGNED_LONG), "18446744073709551615UL"),
        (IntegerLiteral(-(2**15), ScalarType.SHORT), "(int16_t)-32768"),
        (IntegerLiteral(1, ScalarType.BOOL), "(_Bool)1"),
        (FloatLiteral(1.0), "1.0"),
        (FloatLiteral(1e300), "1e+300"),
        (FloatLiteral(0.10000000149011612, ScalarType.FLOAT), "0.1f"),
        (FloatLiteral(3.4028234663852886e38, ScalarType.FLOAT), "3.40282347e+38f"),
        (FloatLiteral(float("inf")), "(1.0 / 0.0)"),
        (FloatLiteral(float("nan")), '__builtin_nan("")'),
        (Unary(UnaryOperator.NEGATE, IntegerLiteral(-3), INT), "- -3"),
        (Cast(IntegerLiteral(-(2**31)), DOUBLE), "(double)(-2147483647 - 1)"),
    ],
)
def test_constants(expression: Expression, text: str) -> None:
    assert c_expression(expression) == text


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_floats_read_back(value: float) -> None:
    text = c_expression(FloatLiteral(value, ScalarType.FLOAT))
    assert struct.unpack("f", struct.pack("f", float(text.removesuffix("f"))))[0] == value


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_doubles_read_back(value: float) -> None:
    assert float(c_expression(FloatLiteral(value))) == value
