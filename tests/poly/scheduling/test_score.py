"""The static score: its worked example, its range, and that it prefers what is known to be fast."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polybench
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.poly.legality import is_legal
from polygym.poly.schedule import Schedule, ScheduleRow, StatementSchedule, parse_schedule
from polygym.poly.scheduling import properties as properties_module
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.poly.scheduling.properties import (
    ScoreTerms,
    schedule_properties,
    static_score,
    static_terms,
)
from tests.c_programs import SMALL_PROGRAMS, Y_AX, kernel_scop
from tests.oracles.random_schedules import random_legal_schedule

KERNELS = [kernel.name for kernel in polybench.KERNELS]
ONE = st.floats(0, 1)


def score(scop: Scop, text: str) -> float:
    """Return the score of a legal schedule."""
    schedule = parse_schedule(text, scop)
    assert is_legal(scop, schedule)
    return static_score(scop, schedule)


def test_y_ax_is_as_the_example_says() -> None:
    scop = parse_text(Y_AX)
    terms = static_terms(scop, parse_schedule("{ S[i] -> [0, i, 0]; T[i, j] -> [1, i, j] }", scop))
    assert terms.locality == pytest.approx((10 * 0.8 + 100 * 0.9) / 110)
    assert terms.parallelism == 1
    assert terms.vectors == pytest.approx(10 / 110)
    assert terms.earliness == 0.75
    assert terms.simplicity == pytest.approx(1 - 0.1 * 2 / 18)
    assert terms.score == pytest.approx(0.7548, abs=5e-5)
    interchanged = score(scop, "{ S[i] -> [0, i, 0]; T[i, j] -> [1, j, i] }")
    assert interchanged == pytest.approx(0.5146, abs=5e-5)


@pytest.mark.parametrize("name", [*KERNELS, *SMALL_PROGRAMS])
def test_scores_are_between_0_and_1(name: str) -> None:
    scop = kernel_scop(name) if name in KERNELS else parse_text(SMALL_PROGRAMS[name])
    schedules = [original_schedule(scop), isl_schedule(scop)]
    if name in SMALL_PROGRAMS:
        schedules += [random_legal_schedule(scop, np.random.default_rng(k)) for k in range(5)]
    for schedule in schedules:
        terms = static_terms(scop, schedule)
        for term in (terms.locality, terms.parallelism, terms.vectors, terms.earliness):
            assert 0 <= term <= 1
        assert 0.9 < terms.simplicity <= 1
        assert 0 < terms.score <= 1
        assert terms.score == static_score(scop, schedule)


@given(ONE, ONE, ONE, ONE, st.floats(0.9, 1))
def test_any_terms_give_a_score_in_range(
    locality: float, parallelism: float, vectors: float, earliness: float, simplicity: float
) -> None:
    terms = ScoreTerms(locality, parallelism, vectors, earliness, simplicity)
    assert 0 < terms.score <= 1
    assert terms.score <= ScoreTerms(1, 1, 1, 1, simplicity).score


@pytest.mark.parametrize("name", ["gemm", "nussinov", "periodic"])
def test_scores_are_repeatable(name: str) -> None:
    scop = kernel_scop(name) if name in KERNELS else parse_text(SMALL_PROGRAMS[name])
    schedule = isl_schedule(scop)
    before = static_score(scop, schedule)
    properties_module.schedule_properties.cache_clear()
    assert static_score(scop, schedule) == before


def test_gemm_wants_j_innermost_and_i_outermost() -> None:
    scop = kernel_scop("gemm")
    scores = {
        "".join(order): score(
            scop, f"{{ S0[i, j] -> [0, i, j]; S1[i, k, j] -> [1, {', '.join(order)}] }}"
        )
        for order in permutations("ikj")
    }
    best = sorted(scores, key=scores.__getitem__, reverse=True)
    assert best[:2] == ["ikj", "kij"]
    assert set(best[-2:]) == {"kji", "jki"}


def test_mvt_wants_the_transposed_product_interchanged() -> None:
    scop = kernel_scop("mvt")
    text = "{{ S0[i, j] -> [0, {}]; S1[i, j] -> [1, {}] }}"
    as_written = score(scop, text.format("i, j", "i, j"))
    assert score(scop, text.format("i, j", "j, i")) > as_written
    assert score(scop, text.format("j, i", "i, j")) < as_written


def test_jacobi_is_best_as_written() -> None:
    scop = kernel_scop("jacobi-1d")
    as_written = score(scop, "{ S0[t, i] -> [t, 0, i]; S1[t, i] -> [t, 1, i] }")
    reversed_space = score(scop, "{ S0[t, i] -> [t, 0, -i]; S1[t, i] -> [t, 1, -i] }")
    skewed = score(scop, "{ S0[t, i] -> [t, 2t + i, 0]; S1[t, i] -> [t, 2t + i + 1, 1] }")
    assert as_written > reversed_space > skewed


def test_a_wavefront_is_worth_more_than_no_parallel_loop() -> None:
    scop = parse_text(
        "void f(int n, double A[n][n]) {\n#pragma scop\n"
        "for (int i = 1; i < n; i++) for (int j = 1; j < n; j++)\n"
        "A[i][j] = A[i - 1][j] + A[i][j - 1];\n"
        "#pragma endscop\n}\n"
    )
    terms = static_terms(scop, parse_schedule("{ S0[i, j] -> [i + j, i] }", scop))
    assert (terms.parallelism, terms.vectors, terms.locality) == (0.5, 0, 0)
    straight = static_terms(scop, original_schedule(scop))
    assert (straight.parallelism, straight.vectors) == (0, 0)


def test_fusing_with_a_recurrence_costs_the_parallel_loop() -> None:
    scop = parse_text(
        "void f(int n, int a[n], int b[n], int c[n]) {\n#pragma scop\n"
        "for (int i = 1; i < n; i++) {\nP: a[i] = a[i - 1];\nQ: b[i] = c[i];\n}\n"
        "#pragma endscop\n}\n"
    )
    fused = score(scop, "{ P[i] -> [i, 0]; Q[i] -> [i, 1] }")
    assert score(scop, "{ P[i] -> [0, i]; Q[i] -> [1, i] }") > fused


@pytest.mark.parametrize("name", ["gemm", "jacobi-2d", "atax"])
def test_of_equal_schedules_the_simpler_wins(name: str) -> None:
    scop = kernel_scop(name)
    simple = original_schedule(scop)

    def scaled(row: ScheduleRow) -> ScheduleRow:
        return ScheduleRow(
            tuple(3 * value for value in row.iterators),
            tuple(3 * value for value in row.parameters),
            3 * row.constant + 5,
        )

    larger = Schedule(
        simple.parameters,
        tuple(
            StatementSchedule(part.statement, part.iterators, tuple(map(scaled, part.rows)))
            for part in simple.statements
        ),
    )
    assert is_legal(scop, larger)
    assert schedule_properties(scop, larger).carried == schedule_properties(scop, simple).carried
    assert 0.9 * static_score(scop, simple) < static_score(scop, larger)
    assert static_score(scop, larger) < static_score(scop, simple)


def test_without_loops_there_is_nothing_to_gain() -> None:
    scop = parse_text("void f(double A[2]) {\n#pragma scop\nA[0] = A[1];\n#pragma endscop\n}\n")
    assert static_terms(scop, parse_schedule("{ S0[] -> [0] }", scop)) == ScoreTerms(1, 1, 1, 1, 1)
    assert static_score(scop, parse_schedule("{ S0[] -> [0] }", scop)) == 1
