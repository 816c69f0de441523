"""Fusing loops: what is expected is what the rules come to, and what a search then finds."""

from __future__ import annotations

import numpy as np
import pytest

from polygym.search.planning import Plan
from polygym.terms.cost import StaticCost
from polygym.terms.fusion import Expecting, fused
from polygym.terms.language.interpreter import evaluate
from polygym.terms.language.printing import text_of
from polygym.terms.language.reading import parse_program
from polygym.terms.language.values import close
from polygym.terms.library import programs
from polygym.terms.optimize import optimized
from polygym.terms.rules.sets import rules_named

AXPY = next(one for one in programs("linear-algebra") if one.name == "axpy")
GEMM = programs("gemm")[0]


def test_vectors_that_are_only_read_go() -> None:
    made, steps = fused(AXPY.body)
    assert "scal" not in text_of(made)
    assert text_of(made).count("build") == 1
    assert steps == 4
    values = {"alpha": 2.0, "vec_x": [1.0, 2.0, 4.0], "vec_y": [0.5, -1.0, 3.0]}
    assert evaluate(AXPY.with_body(made), values) == evaluate(AXPY, values)


def test_nothing_to_fuse() -> None:
    program = parse_program("(sumbuild 3 (lam i (mul x (to_float i))))")
    assert fused(program.body) == (program.body, 0)


def test_as_many_steps_as_a_derivation_takes() -> None:
    _, steps = fused(AXPY.body)
    expected = Expecting()([AXPY.body], 6)[0]
    assert expected[steps] == pytest.approx(853.2 - 82.0, abs=0.01)
    assert (expected[:steps] < 700).all()
    found = optimized(AXPY, [rules_named("extended")], "astar", Plan(steps, 500))
    assert (len(found.steps), found.costs[-1]) == (steps, 82.0)


def test_a_product_of_matrices_is_one_nest() -> None:
    found = optimized(GEMM, [rules_named("extended")], "astar", Plan(30, 1200))
    text = text_of(found.terms[-1])
    assert "let" not in text
    assert text.count("build") == 3  # two and a sum
    assert found.costs[-1] < 30_243.0
    assert found.costs[-1] <= StaticCost()(fused(GEMM.body)[0])
    dice = np.random.default_rng(0)
    shapes = ((2, 3), (3, 4), (2, 4))
    one, other, third = (dice.standard_normal(shape) for shape in shapes)
    values = {"var0": (1.5, one, other, -0.5, third)}
    assert close(evaluate(found.result, values), evaluate(GEMM, values))
