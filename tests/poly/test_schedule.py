"""Schedules as values: text, JSON, equality, and what is refused."""

import numpy as np
import pytest

from polygym.errors import InputError
from polygym.frontend.c import parse_text
from polygym.poly.schedule import ScheduleRow, parse_schedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from tests.c_programs import SMALL_PROGRAMS, Y_AX, kernel_scop
from tests.oracles.random_schedules import random_legal_schedule

SCOP = parse_text(Y_AX)


def test_text_round_trip() -> None:
    for name in ("gemm", "adi", "nussinov"):
        scop = kernel_scop(name)
        for seed in range(5):
            schedule = random_legal_schedule(scop, np.random.default_rng(seed))
            assert parse_schedule(str(schedule), scop) == schedule


def test_the_rows_of_the_text() -> None:
    schedule = parse_schedule("[n] -> { S[a] -> [a, 0]; T[a, b] -> [a + b, 2a - n + 1] }", SCOP)
    assert schedule.rows("T") == (ScheduleRow((1, 1), (0,), 0), ScheduleRow((2, 0), (-1,), 1))
    assert str(schedule) == "[n] -> { S[i] -> [i, 0]; T[i, j] -> [i + j, 2i - n + 1] }"


def test_short_vectors_are_padded_with_zeros() -> None:
    schedule = parse_schedule("{ S[i] -> [i]; T[i, j] -> [i, j] }", SCOP)
    assert schedule.rows("S") == (ScheduleRow((1,), (0,), 0), ScheduleRow((0,), (0,), 0))


def test_the_order_of_statements_in_the_text_does_not_matter() -> None:
    first = parse_schedule("{ S[i] -> [0]; T[i, j] -> [1] }", SCOP)
    assert first == parse_schedule("{ T[x, y] -> [1]; S[z] -> [0] }", SCOP)
    assert first != parse_schedule("{ S[i] -> [0]; T[i, j] -> [2] }", SCOP)


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("", "expected isl text"),
        ("nonsense", "expected isl text"),
        ("{ S[i] -> [i] }", "none for T"),
        ("{ S[i] -> [i]; T[i, j] -> [i]; U[i] -> [i] }", "found U"),
        ("{ S[i, j] -> [i]; T[i, j] -> [i] }", "S has 1 iterators"),
        ("{ S[i] -> [floor(i/2)]; T[i, j] -> [i] }", "integer coefficients"),
        ("{ S[i] -> [i : i > 3]; T[i, j] -> [i] }", "without a time vector"),
        ("{ S[i] -> [i] : i > 3; T[i, j] -> [i] }", "without a time vector"),
        ("{ S[i] -> [a] : 0 <= a <= 1; T[i, j] -> [i] }", "more than one time vector"),
        ("[m] -> { S[i] -> [i + m]; T[i, j] -> [i] }", "found m"),
        ("{ S[i] -> [max(i, 3)]; T[i, j] -> [i] }", "affine"),
        ("{ [i] -> [i] }", "without a name"),
        ("{ S[i] -> [i]; T[i, j] -> [i]", "expected isl text"),
        ("{ S[i] -> [i]; T[i, j] -> [i] } junk", "behind the last"),
        ("{ S[i] -> [i] } { T[i, j] -> [i] }", "one pair of braces"),
        ("{ S[i] -> [" + "(" * 300_000 + "i" + ")" * 300_000 + "]; T[i, j] -> [i] }", "brackets"),
        ("{ S[i] -> [" + "- " * 3000 + "i]; T[i, j] -> [i] }", "brackets"),
        ("{ S[i] -> [i + 9223372036854775807]; T[i, j] -> [i] }", "numbers up to"),
        ("{ S[i] -> [i]; T[i, j] -> [" + ", ".join(["i"] * 65) + "] }", "at most 64 rows"),
        ("{ S[i] -> [i]; T[i, j] -> [§] }", "ASCII"),
        ("{ S[i] -> [a]; T[i, j] -> [i] }", "neither an iterator nor a parameter"),
        ("{ S[i] -> [i/2]; T[i, j] -> [i] }", "integer coefficients"),
        ("[n] -> { S[i] -> [n*i]; T[i, j] -> [i] }", "no product of names"),
    ],
)
def test_what_is_refused(text: str, fragment: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_schedule(text, SCOP)
    assert fragment in str(caught.value)


@pytest.mark.parametrize("name", SMALL_PROGRAMS)
def test_the_original_order_parses(name: str) -> None:
    scop = parse_text(SMALL_PROGRAMS[name])
    assert {part.statement for part in original_schedule(scop).statements} == {
        statement.name for statement in scop.statements
    }


def test_a_program_without_loops_has_one_dimension() -> None:
    scop = parse_text("void f(double x[1]) {\n#pragma scop\nx[0] = 1;\n#pragma endscop\n}\n")
    assert isl_schedule(scop).dimensions == 1
    assert parse_schedule("{ S0[] -> [] }", scop).dimensions == 1


def test_statements_that_never_run_need_no_row() -> None:
    scop = parse_text(
        "void f(int n, double A[n]) {\n#pragma scop\n"
        "A[3] = 0;\nif (n < 4) A[0] = 1;\n#pragma endscop\n}\n"
    )
    assert [statement.name for statement in scop.statements] == ["S0"]
    assert isl_schedule(scop).dimensions == 1
