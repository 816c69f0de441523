"""Every invariant of a Scop is noticed when it is broken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from polygym.errors import InternalError
from polygym.frontend.c import parse_text
from polygym.ir.expressions import (
    Access,
    Binary,
    BinaryOperator,
    Call,
    Cast,
    Comparison,
    ComparisonOperator,
    Conditional,
    Expression,
    FloatLiteral,
    Gather,
    IntegerLiteral,
    IteratorValue,
    Load,
    MathFunction,
    ParameterValue,
    Unary,
    UnaryOperator,
    Update,
)
from polygym.ir.scop import Array, InitialValue, Parameter, Scop, StorageClass
from polygym.ir.types import ScalarType
from polygym.ir.verifier import problems_of, verify

SCOP = parse_text(
    "void f(int n, double x[n], double y[n][n], int k) {\n#pragma scop\n"
    "for (int i = 0; i < n; i++)\nS: x[i] = y[i][0] * k;\nT: x[0] = 1;\n#pragma endscop\n}"
)
ONE, HALF = IntegerLiteral(1), FloatLiteral(0.5)
BYTE = IntegerLiteral(1, ScalarType.BYTE)
GATHERED = Access("x", "[n] -> { S[i] -> x[g] : 0 <= g < n }", "x[k]", (0,))
INT, DOUBLE = ScalarType.INT, ScalarType.DOUBLE


def with_body(body: Expression) -> Scop:
    return replace(SCOP, statements=(replace(SCOP.statements[0], body=body), SCOP.statements[1]))


def with_write(relation: str, array: str = "x", gathered: tuple[int, ...] = ()) -> Scop:
    write = Access(array, relation, "x[i]", gathered)
    return replace(SCOP, statements=(replace(SCOP.statements[0], write=write), SCOP.statements[1]))


def gather_along(*places: int) -> Gather:
    return Gather(replace(GATHERED, gathered=places), (ONE,) * len(places), DOUBLE)


def with_table(initial: InitialValue, size: str = "3") -> Scop:
    extent = f"[n] -> {{ [({size})] }}"
    table = Array("t", INT, (extent,), (size,), StorageClass.LOCAL, False, initial)
    return replace(SCOP, arrays=(*SCOP.arrays, table))


def test_a_gather_is_sound() -> None:
    assert list(problems_of(with_body(gather_along(0)))) == []


def test_initial_values_for_every_element_are_sound() -> None:
    assert list(problems_of(with_table((1, 2, 3)))) == []


def test_a_sound_program_passes() -> None:
    assert verify(SCOP) is SCOP
    assert list(problems_of(SCOP)) == []


BROKEN: list[tuple[Callable[[], Scop], str]] = [
    (lambda: replace(SCOP, arrays=(*SCOP.arrays, SCOP.arrays[0])), "means two things"),
    (lambda: replace(SCOP, parameters=(Parameter("n"), Parameter("x"))), "means two things"),
    (lambda: replace(SCOP, parameters=(Parameter("n", DOUBLE),)), "not an integer"),
    (lambda: replace(SCOP, signature=("n", "z")), "neither parameter nor array"),
    (lambda: replace(SCOP, signature=("n", "n")), "twice in the signature"),
    (lambda: replace(SCOP, statements=()), "no statements"),
    (lambda: replace(SCOP, schedule="{ S[i] -> [i] }"), "0 maps for statement T"),
    (lambda: replace(SCOP, arrays=(replace(SCOP.arrays[0], c_extents=()),)), "extents"),
    (lambda: replace(SCOP, arrays=(replace(SCOP.arrays[0], initial=1.0),)), "initial value"),
    (lambda: with_table((1, 2)), "2 initial values, not one for every element"),
    (lambda: with_table((1, 2.5, 3)), "no integer"),
    (lambda: with_table(1), "1 initial value(s) and 1 dimensions"),
    (lambda: with_table((1,), "n"), "a size that is not constant"),
    (lambda: with_write("{ S[i] -> z[i] }", "z"), "unknown array z"),
    (lambda: with_write("{ S[i] -> y[i] }"), "joins other tuples"),
    (lambda: with_write("{ S[i] -> x[i, 0] }"), "2 subscripts in an array of rank 1"),
    (lambda: with_body(ONE), "stores int in x, double"),
    (lambda: with_body(FloatLiteral(1.0, INT)), "floating constant of type int"),
    (lambda: with_body(Cast(IntegerLiteral(2**31), DOUBLE)), "2147483648 is no int"),
    (lambda: with_body(Cast(IteratorValue("j"), DOUBLE)), "j is no iterator"),
    (lambda: with_body(Cast(ParameterValue("m"), DOUBLE)), "m is no parameter"),
    (lambda: with_body(Load(SCOP.statements[0].write, ScalarType.FLOAT)), "is read as float"),
    (lambda: with_body(IntegerLiteral(256, ScalarType.UNSIGNED_BYTE)), "256 is no uint8_t"),
    (lambda: with_body(Binary(BinaryOperator.ADD, BYTE, BYTE, BYTE.type)), "no type to compute in"),
    (lambda: with_body(Unary(UnaryOperator.NEGATE, BYTE, BYTE.type)), "no type to compute in"),
    (lambda: with_body(Load(GATHERED, DOUBLE)), "no expressions for them"),
    (lambda: with_body(Gather(GATHERED, (ONE, ONE), DOUBLE)), "2 subscripts for 1 dimensions"),
    (lambda: with_body(Gather(GATHERED, (HALF,), DOUBLE)), "a subscript of type double"),
    (lambda: with_body(Gather(GATHERED, (ONE,), INT)), "is read as int, but is double"),
    (lambda: with_body(gather_along(1)), "computes subscripts (1,) in an array of rank 1"),
    (lambda: with_body(gather_along(0, 0)), "out of order"),
    (
        lambda: with_write("{ S[i] -> x[i] }", gathered=(0,)),
        "no expressions for what it computes to write",
    ),
    (lambda: with_body(Update(GATHERED, None, (ONE,), HALF)), "it updates x[k] and writes x[i]"),
    (
        lambda: with_body(Cast(Update(GATHERED, None, (ONE,), HALF), DOUBLE)),
        "an update is no part of an expression",
    ),
    (
        lambda: with_body(Update(SCOP.statements[0].write, ONE, (ONE,), HALF)),
        "computes 1 subscripts for 0 dimensions",
    ),
    (lambda: with_body(Unary(UnaryOperator.NEGATE, ONE, DOUBLE)), "turns int into double"),
    (lambda: with_body(Unary(UnaryOperator.BIT_NOT, HALF, DOUBLE)), "~ of double"),
    (lambda: with_body(Binary(BinaryOperator.ADD, ONE, HALF, DOUBLE)), "combines int and double"),
    (lambda: with_body(Binary(BinaryOperator.REMAINDER, HALF, HALF, DOUBLE)), "% of double"),
    (lambda: with_body(Binary(BinaryOperator.SHIFT_LEFT, HALF, ONE, DOUBLE)), "<< of double"),
    (
        lambda: with_body(Cast(Comparison(ComparisonOperator.LESS, ONE, HALF), DOUBLE)),
        "compares int with double",
    ),
    (lambda: with_body(Conditional(ONE, ONE, HALF, DOUBLE)), "arms of"),
    (lambda: with_body(Call(MathFunction.POW, (HALF,), DOUBLE)), "given 1 arguments"),
    (lambda: with_body(Call(MathFunction.SQRT, (ONE,), DOUBLE)), "is no double"),
    (lambda: with_body(Call(MathFunction.ABS, (HALF,), DOUBLE)), "abs of double"),
]


@pytest.mark.parametrize(("broken", "fragment"), BROKEN, ids=[text for _, text in BROKEN])
def test_a_broken_invariant_is_named(broken: Callable[[], Scop], fragment: str) -> None:
    with pytest.raises(InternalError, match=r"^f: ") as caught:
        verify(broken())
    assert fragment in str(caught.value)
