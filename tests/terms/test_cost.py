"""The static cost: the sums that the paper's figures begin with, and every rule of counting."""

from __future__ import annotations

import pytest

from polygym.rewrite.term import Term, term
from polygym.terms.cost import StaticCost
from polygym.terms.language.nodes import variable
from polygym.terms.language.parser import parse_program
from polygym.terms.language.types import FLOAT
from polygym.terms.library import combinations, expressions
from polygym.terms.sharing_value import shared_cost


@pytest.mark.parametrize(
    ("name", "count", "start", "shared"),
    [("train", 36, 482.0, 377.6), ("test", 12, 161.0, 125.2), ("bootstrap", 8, 64.0, 44.7)],
)
def test_the_sums_of_the_paper(name: str, count: int, start: float, shared: float) -> None:
    cost, programs = StaticCost(), expressions(name)
    assert len(programs) == len({program.body for program in programs}) == count
    assert sum(cost(term_program.body) for term_program in programs) == start
    assert sum(shared_cost(program.body) for program in programs) == pytest.approx(shared)


def test_the_sets_are_some_of_the_combinations() -> None:
    every = {program.body for program in combinations()}
    assert len(every) == 360
    for name in ("train", "test"):
        assert {expression.body for expression in expressions(name)} <= every
    train, test = (
        {term_program.body for term_program in expressions(name)} for name in ("train", "test")
    )
    assert not train & test


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("x", 0.0),
        ("(add x (mul y 2))", 3.0),
        ("(exp (log x))", 8.0),
        ("(let (y (add x x)) (mul y y))", 3.1),
        ("(if (gt x y) (add x y) (div x y))", 1 + 1 + 2 + 1e-4),
        ("(build 3 (lam i (add x x)))", 2 + 16.0),
        ("(build (add 1 2) (lam i (add x x)))", 2 + 1 + 16.0),
        ("(sumbuild 3 (lam i (add x x)))", 16 + 15.0),
        ("(sumbuild 3 (lam i (constVec 4 x)))", 16 * 2 + 15 * 16.0),
        ("(sumbuild 3 (lam i (tuple x (constVec 4 x))))", 16 * 2 + 15 * 17.0),
        ("(index 0 (constVec 4 x))", 3.0),
        ("(size (constVec 4 x))", 3.0),
        ("(deltaVec 4 1 (add x x))", 3.0),
        ("(sum (constVec 4 x))", 17.0),
        ("(add (constVec 4 x) (constVec 4 x))", 16 + 4.0),
        ("(select 0 (tuple (add x x) y))", 1.0),
        ("(apply (lam y (mul y y)) x)", 4.0),
        ("(to_float (add 1 2))", 2.0),
    ],
)
def test_how_it_counts(text: str, cost: float) -> None:
    assert StaticCost()(parse_program(text).body) == pytest.approx(cost, abs=1e-12)


def test_large_terms() -> None:
    root: Term = variable("x", FLOAT)
    for _ in range(10_000):
        root = term("add", root, term(1.0))
    assert StaticCost()(root) == 10_000.0
