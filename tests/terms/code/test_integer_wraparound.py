"""Integers go round in code as in the interpreter, whatever a compiler may assume of them."""

from __future__ import annotations

import pytest

from polygym.errors import OutOfRangeError
from polygym.terms import EvaluationFailure, compile, evaluate, parse_program

ENDS = (0, 1, -1, 2, -3, 3_037_000_500, 2**62, -(2**62), 2**63 - 1, -(2**63))
A, B = "(index 0 v)", "(index 1 v)"


@pytest.mark.parametrize(
    "text",
    [
        f"(sub (add {A} {B}) (mul {A} {B}))",
        f"(div (mul {A} {B}) {B})",
        f"(neg (sub {A} {B}))",
        f"(if (lt (sub {A} {B}) 0) 1 2)",
        f"(if (gt (add {A} 1) {A}) (if (gte (mul {B} {B}) 0) 1 2) 3)",
        f"(sumbuild 3 (lam i (if (lt (add i {A}) {B}) (mul i {A}) {B})))",
        "(sumbuild 3 (lam i (if (lt (add i 9223372036854775807) 0) 1 0)))",
        "(sumbuild 4 (lam i (if (lt (mul i 4611686018427387904) 0) 1 0)))",
        "(sumbuild 3 (lam i (if (gt (sub (neg i) 9223372036854775807) 0) i 5)))",
    ],
)
def test_code_goes_round_where_the_interpreter_does(text: str) -> None:
    source = f"(def f Integer ((v : Vec 2 Integer)) {text})"
    program, code = parse_program(source), compile(source)
    for literal in ENDS:
        for other in ENDS:
            expected = evaluate(program, {"v": [literal, other]})
            if isinstance(expected, EvaluationFailure):
                with pytest.raises(OutOfRangeError):
                    code([literal, other])
            else:
                assert code([literal, other]) == expected, (literal, other)
