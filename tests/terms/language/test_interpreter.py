"""What terms compute: against NumPy, and where evaluation stops, waits or fails."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from polygym.errors import InputError, LimitError
from polygym.terms.language.interpreter import evaluate
from polygym.terms.language.parser import parse_program
from polygym.terms.language.values import EvaluationFailure, is_close
from polygym.terms.library import expressions, programs

RANDOM = np.random.default_rng(0)
X, Y = RANDOM.standard_normal(4), RANDOM.standard_normal(4)
A, B = RANDOM.standard_normal((4, 3)), RANDOM.standard_normal((4, 3))
M, N = RANDOM.standard_normal((3, 5)), RANDOM.standard_normal((4, 5))


def computed(text: str, **values: Any) -> Any:
    return evaluate(parse_program(text), values)


@pytest.mark.parametrize(
    ("name", "values", "wanted"),
    [
        ("float_matrix_multiply", {"alpha": 2.5, "mat_x": A}, 2.5 * A),
        ("matrix_matrix_multiply", {"mat_x": A, "mat_y": M}, A @ M),
        ("vector_vector_add", {"vec_x": X, "vec_y": Y}, X + Y),
        ("matrix_matrix_add", {"mat_x": A, "mat_y": B}, A + B),
        ("outer_product", {"vec_x": X, "vec_y": Y[:2]}, np.outer(X, Y[:2])),
        ("transpose", {"mat_x": A}, A.T),
        ("scal", {"a": 3.0, "vec_x": X}, 3.0 * X),
        ("axpy", {"alpha": 0.5, "vec_x": X, "vec_y": Y}, 0.5 * X + Y),
        ("dot", {"vec_x": X, "vec_y": Y}, X @ Y),
        ("rscl", {"vec_x": X}, X / X.sum()),
    ],
)
def test_linear_algebra(name: str, values: dict[str, Any], wanted: Any) -> None:
    program = next(
        term_program for term_program in programs("linear-algebra") if term_program.name == name
    )
    np.testing.assert_allclose(np.array(evaluate(program, values)), wanted, rtol=1e-12)


def test_a_general_product_of_matrices() -> None:
    product = evaluate(programs("gemm")[0], {"var0": (2.0, A, M, -0.5, N)})
    np.testing.assert_allclose(np.array(product), 2.0 * A @ M - 0.5 * N, rtol=1e-12)


def test_the_gradient_of_a_convolution() -> None:
    kernels, image = RANDOM.standard_normal((2, 3, 4)), RANDOM.standard_normal((3, 6))
    given = RANDOM.standard_normal((2, 6))
    gradients = evaluate(programs("convolution")[0], {"var0": (kernels, image, given)})
    of_kernels, of_image = np.zeros_like(kernels), np.zeros_like(image)
    for ki in range(2):
        for ni in range(6):
            for kni in range(4):
                for li in range(3):
                    at = ni + 2 - kni
                    if 0 <= at < 6:
                        of_kernels[ki, li, kni] += image[li, at] * given[ki, ni]
                        of_image[li, at] += kernels[ki, li, kni] * given[ki, ni]
    np.testing.assert_allclose(np.array(gradients[0]), of_kernels, rtol=1e-12)
    np.testing.assert_allclose(np.array(gradients[1]), of_image, rtol=1e-12)


def test_arithmetic_is_that_of_python() -> None:
    x, y = 1.75, -0.5
    first = expressions("train")[0]  # (2(x+y) / (x+y-1)) · xy
    assert evaluate(first, {"x": x, "y": y}) == 2 * (x + y) / ((x + y) - 1) * (x * y)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("(div 7 2)", 3),
        ("(div -7 2)", -3),
        ("(div 7 -2)", -3),
        ("(add 9223372036854775807 1)", -(2**63)),
        ("(mul 4611686018427387904 4)", 0),
        ("(neg -9223372036854775808)", -(2**63)),
        ("(div -9223372036854775808 -1)", -(2**63)),
        ("(if (and True (not False)) 1 2)", 1),
        ("(sumbuild 0 (lam i (to_float i)))", 0.0),
        ("(sumbuild 0 (lam i (tuple i 1.0)))", (0, 0.0)),
        ("(build 3 (lam i (mul i i)))", [0, 1, 4]),
        ("(sumbuild 4 (lam i (tuple i (to_float i))))", (6, 6.0)),
        ("(deltaVec 3 1 (tuple 2.0 1))", [(0.0, 0), (2.0, 1), (0.0, 0)]),
        ("(constVec 2 (constVec 2 1.0))", [[1.0, 1.0], [1.0, 1.0]]),
        ("(add (tuple 1 (constVec 2 1.0)) (tuple 2 (constVec 2 0.5)))", (3, [1.5, 1.5])),
        ("(mul 2.0 (tuple 1.0 (constVec 2 1.0)))", (2.0, [2.0, 2.0])),
        ("(apply (apply (lam (a : Float) (lam (b : Float) (sub a b))) 3.0) 1.0)", 2.0),
        ("(let (f (lam (i : Integer) (mul i i))) (add (sumbuild 3 f) (index 1 (build 3 f))))", 6),
        ("(max 1.0 (min 2.0 3.0))", 2.0),
        ("(pow 2.0 10.0)", 1024.0),
    ],
)
def test_values(text: str, wanted: Any) -> None:
    value = computed(text)
    assert value == wanted
    assert type(value) is type(wanted)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("(div 1.0 0.0)", math.inf),
        ("(div -1.0 0.0)", -math.inf),
        ("(div 1.0 -0.0)", -math.inf),
        ("(div 0.0 0.0)", math.nan),
        ("(log 0.0)", -math.inf),
        ("(log -1.0)", math.nan),
        ("(sqrt -1.0)", math.nan),
        ("(exp 1000.0)", math.inf),
        ("(pow 0.0 -1.0)", math.inf),
        ("(pow -10.0 999.0)", -math.inf),
        ("(pow -8.0 0.5)", math.nan),
    ],
)
def test_floats_never_fail(text: str, wanted: float) -> None:
    assert is_close(computed(text), wanted)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("(div 1 0)", "expected an Integer other than 0"),
        ("(index 3 (constVec 3 1.0))", "expected a number from 0 to 2, found 3"),
        ("(index -1 (constVec 3 1.0))", "expected a number from 0 to 2, found -1"),
        ("(deltaVec 3 3 1.0)", "expected a number from 0 to 2, found 3"),
        ("(build -1 (lam i i))", "expected a size of 0 or more, found -1"),
        ("(sum (build 0 (lam i i)))", "expected elements to add, found none"),
        ("(sumbuild 0 (lam i (constVec 2 1.0)))", "whose sum has no size"),
        ("(add (build (add 1 1) (lam i i)) (constVec 3 1))", "expected vectors of one size"),
        ("(tuple 1 (div 1 0))", "other than 0"),
    ],
)
def test_what_has_no_value_says_why(text: str, reason: str) -> None:
    failure = computed(text)
    assert isinstance(failure, EvaluationFailure)
    assert reason in str(failure)


def test_only_what_is_needed_is_evaluated() -> None:
    assert computed("(let (y (div 1 0)) 3)") == 3
    assert computed("(if True 3 (div 1 0))") == 3
    assert computed("(apply (lam (y : Integer) 3) (div 1 0))") == 3
    assert computed("(let (y (div 1 0)) (if (gt x 0) x (to_float y)))", x=1.0) == 1.0


def test_what_is_bound_is_evaluated_once() -> None:
    text = (
        "(let (a (add x 1))"
        + "".join(
            f"(let (a{k} (add {'a' if k == 0 else f'a{k - 1}'} {'a' if k == 0 else f'a{k - 1}'}))"
            for k in range(60)
        )
        + "a59"
        + ")" * 61
    )
    assert evaluate(parse_program(text), {"x": 0.0}, steps=1000) == 2.0**60


def test_depth_and_steps() -> None:
    count = 10_000
    deep = parse_program("(add 1 " * count + "x" + ")" * count)
    assert evaluate(deep, {"x": 0.5}) == count + 0.5
    with pytest.raises(LimitError, match="at most 1000 steps"):
        evaluate(deep, {"x": 0.5}, steps=1000)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"vec_x": X}, "expected a value of vec_y, found none"),
        ({"vec_x": X, "vec_y": Y[:2]}, "expected the size n = 4, found 2"),
        ({"vec_x": X, "vec_y": 1.0}, "expected a value of type"),
        ({"vec_x": X, "vec_y": Y, "n": 3}, "expected n = 4, found 3"),
        ({"vec_x": X, "vec_y": Y, "z": 3}, "expected no value of z"),
        ({"vec_x": X, "vec_y": [1.0, 2.0, True, 3.0]}, "expected a value of type Float"),
    ],
)
def test_values_have_to_fit(values: dict[str, Any], message: str) -> None:
    dot = next(program for program in programs("linear-algebra") if program.name == "dot")
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        evaluate(dot, values)


@pytest.mark.parametrize("text", ["(constVec n x)", "(deltaVec n 1 x)"])
def test_vectors_that_fill_memory_are_refused(text: str) -> None:
    program = parse_program(f"(def f (Vec n Float) ((n : Integer) (x : Float)) {text})")
    assert len(evaluate(program, {"n": 1000, "x": 1.0})) == 1000
    with pytest.raises(LimitError, match="expected at most"):
        evaluate(program, {"n": 2**40, "x": 1.0})
