"""Generated programs: reproducible, of all kinds, none of the library among them."""

from __future__ import annotations

import numpy as np
import pytest

from polygym.terms.envs.rewrite import programs_named
from polygym.terms.generated_programs import generated_programs, shape_of
from polygym.terms.language.interpreter import evaluate_term
from polygym.terms.language.parser import parse_program
from polygym.terms.language.values import is_regular
from polygym.terms.library import FILES, programs
from polygym.terms.whole_programs.program_checks import random_inputs


def test_a_seed_says_which() -> None:
    first = generated_programs(7, 30)
    assert generated_programs(7, 30) == first
    assert generated_programs(7, 10) == first[:10]
    assert generated_programs(8, 30) != first
    assert programs_named("generated:7:30") == first


def test_names_make_no_difference() -> None:
    one, other, third = map(
        parse_program,
        (
            "(def f Float ((v : Vec n Float)) (sumbuild n (lam i (index i v))))",
            "(def g Float ((w : Vec k Float)) (let (a k) (sumbuild a (lam j (index j w)))))",
            "(def g Float ((w : Vec k Float)) (sumbuild k (lam j (exp (index j w)))))",
        ),
    )
    assert shape_of(one) is shape_of(other)
    assert shape_of(one) is not shape_of(third)


@pytest.mark.parametrize("seed", range(1, 4))
def test_no_program_of_the_library_is_generated(seed: int) -> None:
    shapes = {shape_of(program) for program in generated_programs(seed, 400)}
    assert len(shapes) == 400
    library = {program.name: shape_of(program) for name in FILES for program in programs(name)}
    assert len(programs("twenty")) == 20
    assert {name for name, shape in library.items() if shape in shapes} == set()


def test_most_have_values() -> None:
    rng = np.random.default_rng(0)
    made = generated_programs(11, 60)
    regular = [
        any(
            is_regular(evaluate_term(program.body, random_inputs(program, rng), 100_000))
            for _ in range(12)
        )
        for program in made
    ]
    assert sum(regular) >= 50
    kinds = [str(program.parameters) for program in made]
    assert len(set(kinds)) >= 5
