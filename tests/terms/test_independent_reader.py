"""Derivations are followed by a reader that shares nothing with the one who wrote them."""

from __future__ import annotations

import pytest

from polygym.search.planning import PlanningLimits
from polygym.terms.language.parser import parse_program
from polygym.terms.library import combinations, expressions, larger_expressions
from polygym.terms.optimization import optimize_term
from tests.terms.independent_reader import followed

BINDERS = (
    "(let (x y) (let (y x) (mul (add x y) (add x y))))",
    "(let (x (add x y)) (let (y (mul x x)) (add (mul x y) (mul y x))))",
    "(add (let (a (log x)) (mul a (let (b a) (add b a)))) (mul (log x) (let (x y) (exp x))))",
    "(add (mul hole0 (add part0 1.0)) (mul (add 1.0 part0) (let (hole0 part0) hole0)))",
)


@pytest.mark.parametrize("method", ["astar", "parts", "beam"])
def test_derivations_hold_for_another_reader(method: str) -> None:
    programs = [*expressions("test")[:4], *combinations()[::90], *map(parse_program, BINDERS)]
    steps = 0
    for program in programs:
        steps += followed(optimize_term(program, (), method, PlanningLimits(10, 400)).to_json())
    assert steps > 15


def test_derivations_of_large_terms_hold_for_another_reader() -> None:
    for program in larger_expressions(7, 3):
        assert (
            followed(optimize_term(program, (), "parts", PlanningLimits(16, 1200)).to_json()) > 10
        )


def test_another_reader_sees_what_does_not_hold() -> None:
    record = optimize_term(parse_program(BINDERS[1])).to_json()
    assert followed(record) > 0
    record["derivation"][0]["position"] = [1]
    with pytest.raises(AssertionError):
        followed(record)
