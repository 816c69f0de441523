"""Substitution: nothing is captured, and a let computes what its body does with the value in."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygym.errors import LimitError
from polygym.rewrite.term import Term, term
from polygym.terms.language.interpreter import evaluate_term
from polygym.terms.language.nodes import (
    bound,
    check_bound,
    free_variables,
    lam,
    let,
    term_facts,
    variable,
)
from polygym.terms.language.substitution import open_binder, shift_indices
from polygym.terms.language.types import FLOAT, INTEGER, TupleType, VectorType
from polygym.terms.language.values import is_close, is_regular
from polygym.terms.rules.random_terms import random_term, random_value

X = variable("x", FLOAT)
KINDS = (FLOAT, INTEGER, VectorType(FLOAT), TupleType((FLOAT, FLOAT)))


def test_what_moves_under_a_binder_is_not_captured() -> None:
    # (lam a (let (b a) (lam c (b + c)))) with the let opened: (lam a (lam c (a + c)))
    inner = lam(FLOAT, term("add", bound(1, FLOAT), bound(0, FLOAT)))
    opened = open_binder(inner, bound(0, FLOAT))
    assert opened is lam(FLOAT, term("add", bound(1, FLOAT), bound(0, FLOAT)))
    # (let (b x) (lam c (b + c))): nothing of x moves
    assert open_binder(inner, X) is lam(FLOAT, term("add", X, bound(0, FLOAT)))


def test_what_is_free_counts_a_binder_less() -> None:
    body = term("add", bound(0, FLOAT), bound(2, FLOAT))
    assert open_binder(body, X) is term("add", X, bound(1, FLOAT))
    assert shift_indices(body, 3) is term("add", bound(3, FLOAT), bound(5, FLOAT))
    with pytest.raises(AssertionError, match="lose its binder"):
        shift_indices(body, -1)


def test_parts_that_are_not_concerned_are_the_same_objects() -> None:
    closed = term("mul", X, X)
    assert open_binder(term("add", closed, bound(0, FLOAT)), X).children[0] is closed
    assert shift_indices(closed, 5) is closed


def test_deep_terms() -> None:
    body: Term = bound(0, FLOAT)
    for _ in range(10_000):
        body = term("add", body, X)
    assert term_facts(open_binder(body, term("neg", X))).nodes == term_facts(body).nodes + 1
    nested: Term = bound(0, FLOAT)
    for _ in range(5_000):
        nested = let(X, term("add", nested, bound(0, FLOAT)))
    check_bound(open_binder(let(X, nested), X) if term_facts(nested).free else nested)


@given(st.integers(0, 2**32 - 1))
def test_a_let_is_its_body_with_the_value_in(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kind, result = (KINDS[int(rng.integers(len(KINDS)))] for _ in range(2))
    value = random_term(kind, (INTEGER,), rng, 3)
    body = random_term(result, (INTEGER, kind), rng, 4)
    whole = let(INT_TWO, let(value, body))
    check_bound(whole)
    inlined = let(INT_TWO, open_binder(body, value))
    check_bound(inlined)
    assert term_facts(inlined).type == term_facts(whole).type == result
    names = free_variables(whole) | free_variables(inlined)
    values = {name: random_value(type_, rng) for name, type_ in names.items()}
    try:
        expected, computed = (evaluate_term(form, values, 20_000) for form in (whole, inlined))
    except LimitError:
        return
    assert is_regular(expected) == is_regular(computed)
    if is_regular(expected):
        assert is_close(expected, computed)


INT_TWO = term(2)
