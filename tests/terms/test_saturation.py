"""Equality saturation against the searches: neither finds what the other proves impossible."""

from __future__ import annotations

import numpy as np
import pytest

from polygym.errors import InputError
from polygym.search.planning import PlanningLimits
from polygym.terms.cost import StaticCost
from polygym.terms.language.interpreter import evaluate
from polygym.terms.language.parser import parse_program
from polygym.terms.language.printer import text_of
from polygym.terms.language.values import is_close, is_regular
from polygym.terms.library import combinations, expressions
from polygym.terms.optimization import optimize_term
from polygym.terms.rules.rule_table import rules_named
from polygym.terms.rules.rule_types import PatternRule
from polygym.terms.saturation import bind_shared, saturate_term
from polygym.terms.sharing_value import shared_cost


def test_the_test_set_of_the_paper() -> None:
    terms = [saturate_term(term_program.body) for term_program in expressions("test")]
    assert sum(saturated_term.cost for saturated_term in terms) == pytest.approx(125.0)
    for term, program in zip(terms, expressions("test"), strict=True):
        searched = optimize_term(program, method="beam", plan=PlanningLimits(10, 3000)).costs[-1]
        if term.is_complete:
            assert searched >= term.lower_bound
        assert searched <= term.cost + 0.11  # tenths are lets


def test_the_bootstrap_set_needs_a_rule_that_is_not_in_the_table() -> None:
    """With the 28 rules 42.7 is the least there is; 40.6, the paper's figure, needs x / x → 1."""
    terms = [saturate_term(program.body) for program in expressions("bootstrap")]
    assert all(term.is_complete for term in terms)
    assert sum(saturated_term.cost for saturated_term in terms) == pytest.approx(42.7)
    more = [term_rule for term_rule in rules_named("functions") if term_rule.name == "div-itself"]
    rules = [*rules_named("arithmetic"), *more]
    total = sum(
        saturate_term(term_program.body, rules).cost for term_program in expressions("bootstrap")
    )
    assert total == pytest.approx(40.6)


@pytest.mark.parametrize("seed", range(8))
def test_what_is_extracted_computes_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    program = combinations()[int(rng.integers(360))]
    term = saturate_term(program.body)
    assert term.cost <= shared_cost(program.body) + 1e-9
    assert term.cost == StaticCost()(term.term)
    other = program.with_body(term.term)
    for _ in range(5):
        values = {name: float(rng.uniform(0.5, 3.0)) for name, _ in program.parameters}
        expected = evaluate(program, values)
        if is_regular(expected):
            assert is_close(expected, evaluate(other, values))


def test_what_is_shared_is_bound_once() -> None:
    program = parse_program("(mul (exp (add x y)) (sub (exp (add x y)) (add x y)))")
    made = bind_shared(program.body)
    assert text_of(made) == "(let (t1 (add x y)) (let (t2 (exp t1)) (mul t2 (sub t2 t1))))"
    assert StaticCost()(made) == shared_cost(program.body)
    assert bind_shared(parse_program("(add x y)").body) is parse_program("(add x y)").body


@pytest.mark.parametrize("text", ["(sumbuild 3 (lam i x))", "(if True x y)"])
def test_other_terms_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="saturation: expected Floats"):
        saturate_term(parse_program(text).body)


def test_all_rules_of_arithmetic_can_be_said() -> None:
    assert all(isinstance(rule, PatternRule) for rule in rules_named("arithmetic"))
