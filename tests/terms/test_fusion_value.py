"""Fusing loops: what is expected is what the rules come to, and what a search then finds."""

from __future__ import annotations

import numpy as np
import pytest

from polygym.search.planning import PlanningLimits
from polygym.terms.cost import StaticCost
from polygym.terms.fusion_value import ReuseValue, fuse_loops
from polygym.terms.language.interpreter import evaluate
from polygym.terms.language.parser import parse_program
from polygym.terms.language.printer import text_of
from polygym.terms.language.values import is_close
from polygym.terms.library import programs
from polygym.terms.optimization import optimize_term
from polygym.terms.rules.rule_table import rules_named

AXPY = next(
    term_program for term_program in programs("linear-algebra") if term_program.name == "axpy"
)
GEMM = programs("gemm")[0]


def test_vectors_that_are_only_read_go() -> None:
    made, steps = fuse_loops(AXPY.body)
    assert "scal" not in text_of(made)
    assert text_of(made).count("build") == 1
    assert steps == 4
    values = {"alpha": 2.0, "vec_x": [1.0, 2.0, 4.0], "vec_y": [0.5, -1.0, 3.0]}
    assert evaluate(AXPY.with_body(made), values) == evaluate(AXPY, values)


def test_nothing_to_fuse() -> None:
    program = parse_program("(sumbuild 3 (lam i (mul x (to_float i))))")
    assert fuse_loops(program.body) == (program.body, 0)


def test_as_many_steps_as_a_derivation_takes() -> None:
    _, steps = fuse_loops(AXPY.body)
    expected = ReuseValue()([AXPY.body], 6)[0]
    assert expected[steps] == pytest.approx(853.2 - 82.0, abs=0.01)
    assert (expected[:steps] < 700).all()
    derivation = optimize_term(AXPY, [rules_named("extended")], "astar", PlanningLimits(steps, 500))
    assert (len(derivation.steps), derivation.costs[-1]) == (steps, 82.0)


def test_a_product_of_matrices_is_one_nest() -> None:
    derivation = optimize_term(GEMM, [rules_named("extended")], "astar", PlanningLimits(30, 1200))
    text = text_of(derivation.terms[-1])
    assert "let" not in text
    assert text.count("build") == 3  # two and a sum
    assert derivation.costs[-1] < 30_243.0
    assert derivation.costs[-1] <= StaticCost()(fuse_loops(GEMM.body)[0])
    rng = np.random.default_rng(0)
    shapes = ((2, 3), (3, 4), (2, 4))
    array, other, third = (rng.standard_normal(shape) for shape in shapes)
    values = {"var0": (1.5, array, other, -0.5, third)}
    assert is_close(evaluate(derivation.result, values), evaluate(GEMM, values))
