"""Random programs with loops: interpreter, code, rewritten terms, and gradients by differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from polygym.poly.scheduling.strategy import ORIGINAL
from polygym.search.planning import PlanningLimits
from polygym.terms.code.arguments import to_interpreter_value
from polygym.terms.code.compiled_term import compile
from polygym.terms.code.kernel_build import CodeOptions
from polygym.terms.language.derivatives import gradient, tangent
from polygym.terms.language.interpreter import evaluate
from polygym.terms.language.printer import text_of_program
from polygym.terms.language.program import TermProgram
from polygym.terms.language.values import is_close, is_regular
from polygym.terms.optimization import optimize_term
from polygym.terms.rules.rule_table import rules_named
from tests.terms.language.test_reverse import adjoint_like, weighted
from tests.terms.loop_programs import loop_program

IN_ORDER = CodeOptions(schedule=ORIGINAL)
STEP = 1e-6


def values_of(seed: int, n: int, m: int) -> dict[str, Any]:
    """Return values of the parameters of all these programs."""
    rng = np.random.default_rng([61, seed])
    return {
        "a": float(rng.uniform(-1, 1)),
        "v": rng.uniform(-1, 1, n),
        "w": rng.uniform(-1, 1, n),
        "x": rng.uniform(-1, 1, (n, m)),
    }


def expect_code(program: TermProgram, values: dict[str, Any], expected: Any) -> None:
    """Check that the code computes what is expected."""
    computed = compile(program, options=IN_ORDER)(**values)
    actual = to_interpreter_value(computed, program.result)
    assert is_close(actual, expected, 1e-9), text_of_program(program)


def check(seed: int) -> None:
    """Check one program at one size in every way."""
    rng = np.random.default_rng([62, seed])
    program, n, m = loop_program(seed), int(rng.integers(1, 5)), int(rng.integers(1, 4))
    values = values_of(seed, n, m)
    expected = evaluate(program, values)
    assert is_regular(expected), str(expected)
    expect_code(program, values, expected)
    rewritten = optimize_term(
        program, [rules_named("all")], "greedy", PlanningLimits(horizon=4, max_states=60)
    ).result
    assert is_close(evaluate(rewritten, values), expected, 1e-9), text_of_program(rewritten)
    expect_code(rewritten, values, expected)
    adjoint = adjoint_like(expected, rng)
    reverse = gradient(program)
    given = {**values, "d$r": adjoint}
    adjoints = evaluate(reverse, given)
    assert is_regular(adjoints), f"{adjoints}: {text_of_program(program)}"
    expect_code(reverse, given, adjoints)
    direction = {name: adjoint_like(np.asarray(its).tolist(), rng) for name, its in values.items()}
    forward = tangent(program)
    moved = {**values, **{f"d${name}": its for name, its in direction.items()}}
    made = evaluate(forward, moved)
    expect_code(forward, moved, made)
    ends = [
        evaluate(
            program,
            {
                name: np.asarray(its) + sign * STEP * np.asarray(direction[name])
                for name, its in values.items()
            },
        )
        for sign in (1, -1)
    ]
    differences = (weighted(ends[0], adjoint) - weighted(ends[1], adjoint)) / (2 * STEP)
    along = weighted(made, adjoint)
    back = sum(weighted(part, direction[name]) for name, part in zip(values, adjoints, strict=True))
    scale = max(1.0, abs(along), abs(weighted(expected, adjoint)))
    assert abs(along - back) < 1e-8 * scale, text_of_program(program)
    assert abs(along - differences) < 1e-4 * scale, text_of_program(program)


@pytest.mark.parametrize("seed", range(8))
def test_random_loops_are_the_same_in_every_way(seed: int) -> None:
    check(seed)


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(0, 500, 25))
def test_five_hundred_random_loops_are_the_same_in_every_way(first: int) -> None:
    for seed in range(first, first + 25):
        check(seed)
