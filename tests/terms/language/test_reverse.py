"""Gradients: what differences say, of random programs, of every operator, under binders."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from polygym.errors import InputError
from polygym.terms.code.arguments import to_interpreter_value
from polygym.terms.code.compiled_term import compile
from polygym.terms.language.adjoints import has_floats, is_additive
from polygym.terms.language.chain_rules import CHAIN_RULES, REQUIRED_OPERANDS
from polygym.terms.language.derivatives import gradient
from polygym.terms.language.interpreter import evaluate
from polygym.terms.language.nodes import check_bound, free_variables
from polygym.terms.language.parser import parse_program
from polygym.terms.language.printer import text_of_program
from polygym.terms.language.program import TermProgram, sizes_in
from polygym.terms.language.types import FLOAT, INTEGER, TupleType, VectorType
from polygym.terms.language.values import EvaluationFailure, is_close, is_regular, numbers_in
from polygym.terms.library import programs
from polygym.terms.rules.random_terms import random_term, random_value

STEP = 1e-6
KINDS = (
    FLOAT,
    VectorType(FLOAT),
    VectorType(VectorType(FLOAT)),
    TupleType((FLOAT, VectorType(FLOAT))),
    VectorType(TupleType((FLOAT, INTEGER))),
)


def moved(value: Any, number: int, step: float) -> Any:
    """Return a value of which the number at a place, counted from the left, is another."""
    count = -1

    def walk(part: Any) -> Any:
        nonlocal count
        if isinstance(part, list | tuple):
            return type(part)(map(walk, part))
        count += 1
        return part + step if count == number else part

    return walk(value)


def adjoint_like(value: Any, rng: np.random.Generator) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(adjoint_like(part, rng) for part in value)
    return float(rng.integers(1, 9)) / 4.0 if isinstance(value, float) else 0


def weighted(value: Any, weights: Any) -> float:
    pairs = zip(numbers_in(value), numbers_in(weights), strict=True)
    return math.fsum(number * other for number, other in pairs if isinstance(number, float))


def differences(
    program: TermProgram, values: dict[str, Any], name: str, d: Any
) -> Iterator[float | None]:
    """Yield the derivative by every number of a parameter; None where there is none."""
    for number, value in enumerate(numbers_in(values[name])):
        if not isinstance(value, float):
            yield 0.0
            continue
        ends = [
            evaluate(program, {**values, name: moved(values[name], number, step)})
            for step in (STEP, -STEP)
        ]
        if not all(map(is_regular, ends)):
            yield None
            continue
        up, down = (weighted(end, d) for end in ends)
        yield (up - down) / (2 * STEP)


def compare(program: TermProgram, values: dict[str, Any], rng: np.random.Generator) -> bool:
    """Compare a gradient with differences; say whether there was something to compare."""
    result = evaluate(program, values)
    if not is_regular(result):
        return False
    reverse = gradient(program)
    check_bound(reverse.body)
    d = adjoint_like(result, rng)
    computed = evaluate(reverse, {**values, reverse.parameters[-1][0]: d})
    assert not isinstance(computed, EvaluationFailure), str(computed)
    names = [name for name, kind in program.parameters if has_floats(kind)]
    parts = (computed,) if len(names) == 1 else computed
    for name, part in zip(names, parts, strict=True):
        wanted = list(differences(program, values, name, d))
        assert len(wanted) == len(list(numbers_in(part)))
        for number, other in zip(numbers_in(part), wanted, strict=True):
            if other is not None and math.isfinite(number):
                scale = max(1.0, abs(other), abs(weighted(result, d)))
                assert abs(number - other) < 1e-4 * scale, (text_of_program(program), name)
    return True


@pytest.mark.parametrize("seed", range(4))
def test_gradients_of_random_programs_are_what_differences_say(seed: int) -> None:
    done = 0
    for number in range(30):
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


@pytest.mark.parametrize("name", sorted(CHAIN_RULES))
def test_every_operator_has_its_rule(name: str) -> None:
    """Under other operators, on numbers where it has a derivative, in both orders."""
    assert name in REQUIRED_OPERANDS
    rng = np.random.default_rng(1)
    arguments = ("(mul x y) (add x 0.5)", "(add x 0.5) (mul x y)")
    if name in ("neg", "exp", "log", "sqrt", "sin", "cos", "tanh", "abs"):
        arguments = ("(mul x y)", "(add x y)")
    for text in arguments:
        program = parse_program(f"(mul ({name} {text}) ({name} {text}))")
        assert compare(program, {"x": 0.7, "y": 1.9}, rng)


@pytest.mark.parametrize(
    "text",
    [
        "(let (f (lam (z : Float) (mul z (mul z x)))) (add (apply f y) (apply f (apply f x))))",
        "(apply (let (z (mul x y)) (lam (w : Float) (mul w z))) (add x 1))",
        "(apply (apply (lam (a : Float) (lam (b : Float) (mul a (div b x)))) y) (mul x x))",
        "(let (t (tuple x (tuple y (mul x y)))) (mul (select 0 t) (select 1 (select 1 t))))",
        "(let (x (mul x y)) (let (x (mul x x)) (add x y)))",
        "(select 0 (if (gt x y) (tuple x y) (tuple (mul y y) x)))",
        "(sumbuild 3 (lam i (mul (to_float i) (sumbuild 2 (lam j (pow x (to_float (add i j))))))))",
        "(sum (mul x (constVec 3 (mul x y))))",
        "(sum (sub (deltaVec 3 1 x) (neg (mul (constVec 3 y) x))))",
        "(index 1 (build 3 (lam i (mul (to_float i) (mul x y)))))",
        "(select 0 (sumbuild 2 (lam i (tuple (mul x y) (tuple 1 (build 2 (lam j x)))))))",
        "(select 1 (mul y (tuple x (mul x y))))",
        "(mul 2.0 3.0)",
    ],
)
def test_binders_tuples_and_vectors(text: str) -> None:
    program = parse_program(f"(add (mul x y) {text})")
    assert compare(program, {"x": 1.3, "y": 0.6}, np.random.default_rng(2))


def test_parameters_of_every_shape() -> None:
    text = (
        "(def f (Vec m Float) ((p : (Tuple Float (Vec n (Vec m Float)))) (k : Integer)"
        " (q : Vec n (Tuple Float Integer)))"
        " (build m (lam j (sumbuild n (lam i (mul (select 0 p) (mul (select 0 (index i q))"
        " (index j (index i (select 1 p))))))))))"
    )
    program = parse_program(text)
    values = {
        "p": (2.0, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
        "k": 1,
        "q": [(0.5, 1), (0.25, 2)],
    }
    assert compare(program, values, np.random.default_rng(3))
    reverse = gradient(program)
    assert [name for name, _ in reverse.parameters] == ["p", "k", "q", "d$r"]
    again = parse_program(text_of_program(reverse))
    assert again.body is reverse.body
    assert str(again.result) == (
        "(Tuple (Tuple Float (Vec n (Vec m Float))) (Vec n (Tuple Float Integer)))"
    )


def test_no_name_is_captured() -> None:
    """What the gradient binds has names that the program does not have."""
    text = "(def f Float ((g1 : Float) (d$r : Float) (g2 : Float)) (mul (mul g1 d$r) (mul g2 g1)))"
    program = parse_program(text)
    assert compare(program, {"g1": 2.0, "d$r": 3.0, "g2": 5.0}, np.random.default_rng(4))
    assert gradient(program).parameters[-1][0] == "d$r_"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(def f Float ((n : Integer)) 1.0)", "f: expected a parameter with Floats, found none"),
        ("(def f Integer ((x : Float)) 1)", "f: expected a result with Floats, found Integer"),
        (
            "(def f Float ((v : Vec n (Tuple Float Bool))) (select 0 (index 0 v)))",
            "f: expected v without truth values, found",
        ),
        (
            "(def f Float ((x : Float)) (apply (if (gt x 0.0) (lam (y : Float) y) (lam (y : Float)"
            " x)) x))",
            "f: expected a function that is known where it is called, found if",
        ),
    ],
)
def test_what_has_no_gradient_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        gradient(parse_program(text))


def test_what_is_differentiated_twice() -> None:
    program = parse_program("(def f Float ((x : Float)) (mul x (mul x x)))")
    second = gradient(gradient(program))
    computed = evaluate(second, {"x": 3.0, "d$r": 1.0, "d$r_": 1.0})
    assert computed == (18.0, 27.0)


def test_gradients_are_compiled() -> None:
    program = next(
        term_program for term_program in programs("linear-algebra") if term_program.name == "rscl"
    )
    reverse = gradient(program)
    values = {"vec_x": [1.0, 2.0, 5.0], "d$r": [0.5, 1.0, 2.0]}
    assert is_close(
        to_interpreter_value(compile(reverse)(**values), reverse.result), evaluate(reverse, values)
    )
    assert compare(program, {"vec_x": [1.0, 2.0, 5.0]}, np.random.default_rng(5))


def test_a_program_that_is_deep_is_differentiated() -> None:
    text = "x"
    for number in range(1500):
        text = f"(add (mul {text} 0.999) y)" if number % 3 else f"(let (t {text}) (sub t y))"
    reverse = gradient(parse_program(text))
    by_x, _ = evaluate(reverse, {"x": 1.0, "y": 2.0, "d$r": 1.0})
    assert by_x == pytest.approx(0.999**1000)


def test_the_gradients_that_come_along_are_those_that_are_made() -> None:
    made = [text_of_program(gradient(program)) for program in programs("network")]
    assert [text_of_program(term_program) for term_program in programs("gradients")] == made


def test_the_papers_gradient_of_a_convolution_is_that_which_is_made() -> None:
    """Figure 13 was made from a program that it does not show."""
    (paper,) = programs("convolution")
    made = next(program for program in programs("gradients") if program.name == "rev$conv1d")
    rng = np.random.default_rng(6)
    kernels = rng.random((2, 3, 4)).tolist()
    image = rng.random((3, 5)).tolist()
    d = rng.random((2, 5)).tolist()
    wanted = evaluate(paper, {"var0": (kernels, image, d)})
    computed = evaluate(made, {"kernels": kernels, "image": image, "d$r": d})
    assert is_close(computed, wanted)


@pytest.mark.parametrize("name", ["conv1d", "rectifier", "dense", "squared_error", "loss"])
def test_layers_of_a_network(name: str) -> None:
    program = next(
        term_program for term_program in programs("network") if term_program.name == name
    )
    sizes = {"k": 2, "l": 2, "kn": 2, "n": 3, "o": 2}
    rng = np.random.default_rng(7)
    values = {
        parameter: (0.1 + rng.random([sizes[size] for size in sizes_in(kind)])).tolist()
        for parameter, kind in program.parameters
    }
    assert compare(program, values, rng)
