"""Forward mode, and derivatives of derivatives: what differences and the reverse mode say."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from polygym.errors import SourceError
from polygym.terms.language.adjoints import has_floats, is_additive
from polygym.terms.language.derivatives import gradient, tangent
from polygym.terms.language.interpreter import evaluate
from polygym.terms.language.nodes import check_bound, free_variables
from polygym.terms.language.parser import parse_program
from polygym.terms.language.program import TermProgram
from polygym.terms.language.types import BOOL, FLOAT, INTEGER, TupleType, VectorType
from polygym.terms.language.values import EvaluationFailure, is_close, is_regular
from polygym.terms.rules.random_terms import random_term, random_value
from tests.terms.language.test_reverse import KINDS, adjoint_like, weighted


def directions(
    program: TermProgram, values: dict[str, Any], rng: np.random.Generator
) -> dict[str, Any]:
    """Return a direction for every parameter with Floats."""
    return {
        name: adjoint_like(values[name], rng)
        for name, kind in program.parameters
        if has_floats(kind)
    }


def compare(program: TermProgram, values: dict[str, Any], rng: np.random.Generator) -> bool:
    """Check that w · (J x') is (Jᵀ w) · x'; say whether there was something to compare."""
    result = evaluate(program, values)
    if not is_regular(result):
        return False
    forward, reverse = tangent(program), gradient(program)
    check_bound(forward.body)
    moved = directions(program, values, rng)
    made = evaluate(forward, {**values, **{f"d${name}": its for name, its in moved.items()}})
    assert not isinstance(made, EvaluationFailure), str(made)
    w = adjoint_like(result, rng)
    adjoints = evaluate(reverse, {**values, reverse.parameters[-1][0]: w})
    parts = (adjoints,) if len(moved) == 1 else adjoints
    pairs = zip(moved.values(), parts, strict=True)
    left, right = weighted(made, w), math.fsum(weighted(part, its) for its, part in pairs)
    if not (math.isfinite(left) and math.isfinite(right)):
        return False
    assert math.isclose(left, right, rel_tol=1e-7, abs_tol=1e-7), (program.body, left, right)
    return True


@pytest.mark.parametrize("seed", range(4))
def test_both_modes_agree_on_random_programs(seed: int) -> None:
    done = 0
    for number in range(40):
        rng = np.random.default_rng([seed, number])
        kind = KINDS[int(rng.integers(len(KINDS)))]
        body = random_term(kind, (), rng, 5)
        parameters = tuple(free_variables(body).items())
        floats = [type_ for _, type_ in parameters if has_floats(type_)]
        if not floats or not all(map(is_additive, floats)):
            continue
        values = {name: random_value(type_, rng) for name, type_ in parameters}
        done += compare(TermProgram("it", parameters, kind, body), values, rng)
    assert done >= 15


F = "(def f Float ((x : Float) (y : Float)) (mul (sin (mul x x)) (exp y)))\n"
VECTORS = """
(def energy Float ((v : Vec n Float) (w : Vec n Float))
  (sumbuild n (lam i (mul (index i v) (exp (mul (index i v) (index i w)))))))
"""


def value_of(text: str, **values: Any) -> Any:
    """Return the value of a text's last definition."""
    program = parse_program(text)
    check_bound(program.body)
    result = evaluate(program, values)
    assert not isinstance(result, EvaluationFailure), str(result)
    return result


def test_gradient_of_a_call_is_the_derivative_by_all_arguments() -> None:
    text = F + "(def g (Tuple Float Float) ((a : Float)) ((grad f) a (mul 2.0 a)))"
    by_x, by_y = value_of(text, a=0.3)
    assert math.isclose(by_x, 0.6 * math.cos(0.09) * math.exp(0.6))
    assert math.isclose(by_y, math.sin(0.09) * math.exp(0.6))


def test_second_derivatives_are_what_differences_of_first_ones_say() -> None:
    first = VECTORS + "(def g (Tuple (Vec n Float) (Vec n Float)) ((v : Vec n Float) "
    first += "(w : Vec n Float)) ((grad energy) v w))"
    # The direction moves v alone: column sums of the Hessian's first block row.
    second = (
        VECTORS
        + """
      (def h (Tuple (Vec n Float) (Vec n Float))
        ((v : Vec n Float) (w : Vec n Float) (dv : Vec n Float) (dw : Vec n Float))
        ((jvp (grad energy)) v w dv dw))"""
    )
    twice = (
        VECTORS
        + """
      (def h (Tuple (Vec n Float) (Vec n Float))
        ((v : Vec n Float) (w : Vec n Float) (dv : Vec n Float) (dw : Vec n Float))
        ((grad (grad energy)) v w (tuple dv dw)))"""
    )
    over = (
        VECTORS
        + """
      (def h (Tuple (Vec n Float) (Vec n Float))
        ((v : Vec n Float) (w : Vec n Float) (dv : Vec n Float) (dw : Vec n Float))
        (let (all ((grad (jvp energy)) v w dv dw)) (tuple (select 0 all) (select 1 all))))"""
    )
    rng = np.random.default_rng(3)
    v, w, dv, dw = (rng.uniform(-1, 1, 4) for _ in range(4))
    step = 1e-5
    ends = [
        np.array(value_of(first, v=v + sign * step * dv, w=w + sign * step * dw))
        for sign in (1, -1)
    ]
    expected = (ends[0] - ends[1]) / (2 * step)
    for text in (second, twice, over):  # the Hessian is symmetric: all are the same product
        assert np.allclose(value_of(text, v=v, w=w, dv=dv, dw=dw), expected, atol=1e-7)


def test_derivative_of_a_function_that_is_written_out_knows_what_is_around_it() -> None:
    text = """(def d (Vec n Float) ((v : Vec n Float) (a : Float))
      (build n (lam i (let (k (index i v))
        ((grad (lam (x : Float) (mul (mul x a) (mul x k)))) 3.0)))))"""
    assert np.allclose(value_of(text, v=[1.0, 2.0], a=0.5), [3.0, 6.0])


def test_derivative_of_one_argument_is_a_function() -> None:
    text = "(def d Float ((a : Float)) (apply (grad (grad (lam (x : Float) (mul x (mul x x))))) a))"
    assert math.isclose(value_of(text, a=2.0), 12.0)


def test_sizes_are_taken_from_the_arguments() -> None:
    text = (
        VECTORS
        + """
      (def d (Vec _ Float) ((m : Vec k (Vec l Float)))
        (select 1 ((grad energy) (index 0 m) (index 1 m))))"""
    )
    m = np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])
    assert np.allclose(value_of(text, m=m), m[0] ** 2 * np.exp(m[0] * m[1]))


def test_a_size_may_be_called_like_the_argument_of_a_function() -> None:
    text = """(def total Float ((v : Vec n Float)) (sumbuild n (lam i (index i v))))
      (def d Float ((v : Vec n Float)) ((grad (lam (n : Float) (mul n (total v)))) 1.0))"""
    assert value_of(text, v=[1.0, 2.0]) == 3.0


def test_sums_over_counters_that_may_be_empty_have_gradients() -> None:
    text = """(def before (Vec n Float) ((v : Vec n Float))
        (build n (lam i (sumbuild i (lam j (mul (index j v) (index j v)))))))
      (def d (Vec n Float) ((v : Vec n Float) (w : Vec n Float)) ((grad before) v w))"""
    assert np.allclose(value_of(text, v=[1.0, 2.0, 3.0], w=[1.0, 10.0, 100.0]), [220.0, 400.0, 0.0])


def test_parts_without_derivatives_are_zero_and_keep_their_types() -> None:
    kind = TupleType((FLOAT, VectorType(TupleType((INTEGER, BOOL)))))
    text = "(def f (Tuple Float (Vec 2 (Tuple Integer Bool))) ((x : Float)) "
    text += "(tuple (mul x x) (constVec 2 (tuple 3 True))))"
    program = tangent(parse_program(text))
    assert is_close(evaluate(program, {"x": 2.0, "d$x": 1.0}), (4.0, [(0, False), (0, False)]))
    assert str(kind) == "(Tuple Float (Vec _ (Tuple Integer Bool)))"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("(def f Float ((x : Float)) ((grad g) x))", "expected a function, found g"),
        ("(def f Float ((x : Float)) ((grad x x) x))", "expected (grad FUNCTION)"),
        (F + "(def g Float ((x : Float)) ((grad f) x))", "expected 2 arguments of rev$f, found 1"),
        (F + "(def g Float ((x : Float)) (apply (grad f) x))", "expected a call with 2 arguments"),
        (
            "(def f Integer ((x : Float)) 3) (def g Float ((x : Float)) ((jvp f) x x))",
            "expected a result with Floats, found Integer",
        ),
        ("(def grad Float ((x : Float)) x)", "expected (def NAME"),
    ],
)
def test_errors_say_what_was_expected(text: str, wanted: str) -> None:
    with pytest.raises(SourceError) as caught:
        parse_program(text)
    assert wanted in str(caught.value)
