"""Rules are tried: those of the tables hold, wrong ones are found out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.errors import InputError, LimitError
from polygym.terms.language.interpreter import evaluate_term
from polygym.terms.language.nodes import check_bound, free_variables, term_facts
from polygym.terms.language.parser import parse_program
from polygym.terms.language.types import BOOL, FLOAT, INTEGER, TupleType, VectorType
from polygym.terms.language.values import is_close, is_regular
from polygym.terms.rewriter import Rewriter
from polygym.terms.rules.random_terms import random_term, random_value
from polygym.terms.rules.rule_table import parse_rules, rules_named
from polygym.terms.rules.rule_types import PatternRule, apply_rule
from polygym.terms.rules.soundness import check_rules, find_counterexample

WRITTEN = [rule for rule in rules_named("all") if isinstance(rule, PatternRule)]


# What a loop that never runs hides comes to light where these take it out of the loop.
HOISTING = ("sumbuild-of-if",)


@pytest.mark.parametrize("rule", WRITTEN, ids=lambda rule: rule.name)
def test_the_rules_of_the_tables_hold(rule: PatternRule) -> None:
    counterexample = find_counterexample(rule, tries=60, seed=1)
    assert (counterexample is not None) == (rule.name in HOISTING)
    if counterexample is not None:
        assert "index -1 outside" in str(counterexample) or "i1 1) outside" in str(counterexample)


@pytest.mark.parametrize(
    ("body", "needs"),
    [
        ("(mul y 2.0)", True),
        ("(if (gt y 0.0) 1.0 2.0)", True),
        ("(if (gt x 0) y 2.0)", False),
        ("(if (gt x 0) y (exp y))", True),
        ("(sumbuild n (lam z y))", False),
        ("(let (z y) 1.0)", False),
        ("(let (z y) (add z 1.0))", True),
        ("(select 0 (tuple 1.0 y))", True),
    ],
)
def test_what_each_turn_needs_gets_a_loop_of_its_own(body: str, needs: bool) -> None:
    loop = f"(build n (lam (x : Integer) (let (y (index x v)) {body})))"
    program = parse_program(f"(def f (Vec n Float) ((v : Vec n Float)) {loop})")
    rule = next(rule for rule in rules_named("loops") if rule.name == "fission-of-build")
    assert isinstance(rule, PatternRule)
    assert (apply_rule(rule, program.body) is not None) == needs


@pytest.mark.parametrize(
    "text",
    [
        "(sub ?a ?b) => (sub ?b ?a)",
        "(mul ?a ?a) => (add ?a ?a)",
        "(div (mul ?a ?b) ?c) => (mul (div ?a ?c) ?b)",  # not of Integers
        "(sumbuild ?n (lam x ?c)) => ?c if (float ?c)",
        "(let (x ?a) (let (y ?b) ?c)) => (let (x ?b) (let (y ?a) ?c))",
        "(index ?i (build ?n (lam x ?b))) => (subst x ?n ?b)",
        "(sqrt (mul ?a ?a)) => ?a",
        "(max ?a ?b) => (if (gt ?a ?b) ?b ?a)",
        "(if ?p ?a ?b) => ?a",
        "(sum ?v) => (sum (add ?v ?v))",
        "(size (deltaVec ?n ?i ?a)) => ?i",
        "(select 0 ?t) => (select 1 ?t)",
        "(gte ?a ?b) => (gt ?a ?b)",
        "(add ?a (mul ?b 2.0)) => (add ?a ?b)",
        "(sumbuild ?n (lam x ?e)) => (sumbuild (add ?n 1) (lam x ?e))",
        "(sumbuild ?n (lam x (sumbuild ?m (lam y ?e)))) => (sumbuild ?n (lam x ?e))",
        "(build ?n (lam x (add ?a ?b))) => (build ?n (lam x (sub ?a ?b)))",
        # Right for most numbers, and wrong for those that the rule has.
        "(max ?a 1e6) => 1e6",
        "(if (eq ?a 77.0) ?b ?c) => ?c",
        "(if (gt ?a 123.0) ?b ?c) => ?c",
        "(if (lt ?a -50) ?b ?c) => ?c",
        "(min ?a 40.5) => ?a",
        # Right for small Integers; sums and products go round.
        "(div (mul ?a ?b) ?b) => ?a",
        "(div (mul ?a 2) 2) => ?a",
        "(div (neg ?a) ?b) => (neg (div ?a ?b))",
        "(gt (add ?a 1) ?a) => True if (integer ?a)",
        "(lt (sub ?a ?b) 0) => (lt ?a ?b)",
        "(eq (mul ?a 2) (mul ?b 2)) => (eq ?a ?b) if (integer ?a)",
        "(gte (mul ?a ?a) 0) => True if (integer ?a)",
        "(to_float (add ?a ?b)) => (add (to_float ?a) (to_float ?b))",
        "(to_float (mul ?a ?b)) => (mul (to_float ?a) (to_float ?b))",
        "(add (div ?a 2) (div ?a 2)) => ?a if (integer ?a)",
        "(div (div ?a ?b) ?c) => (div ?a (mul ?b ?c)) if (integer ?a)",
        "(mul (div ?a ?b) ?b) => ?a if (integer ?a)",
        # No value where there was one.
        "(sub ?a ?a) => (div 0 ?a) if (integer ?a)",
        "(if (eq ?b 0) ?a (div ?a ?b)) => (div ?a ?b) if (integer ?a)",
        "(if ?p (index ?i ?v) ?a) => (let (x (index ?i ?v)) (if ?p x (add ?a (mul 0.0 x))))",
        "(sumbuild ?n (lam x (mul ?a ?b))) => (mul ?a (sumbuild ?n (lam x ?b)))"
        " if (absent x ?a) & (float ?a)",
        # Loops without turns, and with one.
        "(size (build ?n (lam x ?b))) => (add ?n 1)",
        "(sumbuild ?n (lam x ?b)) => (add (let (x 0) ?b) (sumbuild (sub ?n 1) (lam x ?b)))",
        "(sumbuild ?n (lam x 1.0)) => (to_float (mul ?n ?n))",
        "(sum (build ?n (lam x ?b))) => (sumbuild (sub ?n 1) (lam x ?b))",
        "(build ?n (lam x ?b)) => (constVec ?n (let (x 0) ?b))",
        "(index ?i (deltaVec ?n ?j ?a)) => ?a if (float ?a)",
        "(sumbuild ?n (lam x (sumbuild ?m (lam y ?e)))) "
        "=> (sumbuild ?m (lam y (sumbuild ?n (lam x ?e)))) if (float ?e)",
        "(sumbuild ?n (lam x (div ?a ?b))) => (div (sumbuild ?n (lam x ?a)) ?b)"
        " if (absent x ?b) & (float ?b)",
        "(sumbuild ?n (lam x ?a)) => (mul (to_float ?n) ?a) if (absent x ?a) & (float ?a)",
        "(add (sumbuild ?n (lam x ?a)) (sumbuild ?m (lam y ?b)))"
        " => (sumbuild ?n (lam x (add ?a (subst y x ?b))))",
        "(sumbuild ?n (lam x (if (eq x ?i) ?e 0.0))) => (if (gt ?n 0) (let (x ?i) ?e) 0.0)",
        "(sumbuild ?n (lam x (if ?c ?t ?f)))"
        " => (if ?c (sumbuild ?n (lam x ?t)) (sumbuild ?n (lam x ?f))) if (absent x ?c)",
        # What only some turns of a loop need.
        "(build ?n (lam x (let (y ?e) ?b)))"
        " => (let (t (build ?n (lam x ?e))) (build ?n (lam x (subst y (index x t) ?b))))",
        # Shapes.
        "(build (size ?v) (lam x (index x ?u))) => ?u",
        "(build ?n (lam x (index x ?v))) => ?v",
        "(build (size ?v) (lam i (index i ?v))) => (build (size ?v) (lam i (index 0 ?v)))",
        "(constVec ?n ?a) => (constVec (size (constVec ?n ?a)) (add ?a ?a))",
        "(sum (mul ?a ?v)) => (mul ?a (index 0 ?v))",
        # Variables of others.
        "(let (x ?a) (let (y ?b) ?c)) => (let (y ?a) (let (x ?b) ?c))",
        "(build ?n (lam x (build ?m (lam y ?b)))) => (build ?n (lam y (build ?m (lam x ?b))))",
        "(apply (lam x (apply (lam y ?b) ?a)) ?c) => (apply (lam y (apply (lam x ?b) ?a)) ?c)",
        "(sumbuild ?n (lam x (sumbuild ?n (lam y ?b)))) => (sumbuild ?n (lam x (subst y x ?b)))",
        # Signs, and where functions are not what they seem.
        "(sqrt (mul ?a ?b)) => (mul (sqrt ?a) (sqrt ?b))",
        "(log (mul ?a ?a)) => (mul 2.0 (log ?a))",
        "(abs (add ?a ?b)) => (add (abs ?a) (abs ?b))",
        "(pow (pow ?a ?b) ?c) => (pow ?a (mul ?b ?c))",
        "(pow ?a 2.0) => (mul ?a (abs ?a))",
        "(max ?a (neg ?a)) => ?a",
        "(div 1.0 (div 1.0 ?a)) => (abs ?a)",
        "(tanh (neg ?a)) => (tanh ?a)",
        # Exponentials that are 0 or infinite.
        "(exp (add ?a ?b)) => (mul (exp ?a) (exp ?b))",
        "(log (mul ?a ?b)) => (add (log ?a) (log ?b))",
        "(add (log ?a) (log ?b)) => (log (mul ?a ?b)) if (positive ?a) & (positive ?b)",
        "(log (sumbuild ?n (lam x (exp (add ?a ?b)))))"
        " => (add ?a (log (sumbuild ?n (lam x (exp ?b))))) if (absent x ?a)",
        # Truth values.
        "(not (lt ?a ?b)) => (gt ?a ?b) if (float ?a)",
        "(and ?p ?q) => (or ?p ?q)",
        "(if ?p (if ?q ?a ?b) ?b) => (if ?q ?a ?b)",
        "(eq ?p True) => (not ?p)",
    ],
)
def test_unsound_rules_are_refused_with_a_counterexample(text: str) -> None:
    rules = parse_rules(f"wrong: {text}")
    with pytest.raises(InputError, match=r"mine: rule wrong: expected .*(but|in the source|types)"):
        check_rules(rules, "mine")


@pytest.mark.parametrize(
    "text",
    [
        "(mul (sub ?a ?b) (add ?a ?b)) => (sub (mul ?a ?a) (mul ?b ?b))",
        "(exp (mul 2.0 ?a)) => (mul (exp ?a) (exp ?a))",
        "(sqrt (mul ?a ?a)) => (abs ?a)",
        "(let (x ?a) (let (y ?b) ?c)) => (let (y ?b) (let (x ?a) ?c))",
        "(sumbuild ?n (lam x (sumbuild ?m (lam y ?e)))) "
        "=> (sumbuild (if (gt ?n 0) ?m 0) (lam y (sumbuild ?n (lam x ?e)))) if (float ?e)",
        "(index ?i (build ?n (lam x ?b))) => (subst x ?i ?b)",
        "(sub (mul ?a ?b) (mul ?b ?a)) => 0 if (integer ?a)",
        "(mul (add ?a ?b) (add ?a ?b)) => (add (mul ?a ?a) (add (mul 2 (mul ?a ?b)) (mul ?b ?b)))"
        " if (integer ?a)",
        "(lt ?a ?b) => (gt ?b ?a) if (integer ?a)",
        "(neg (neg ?a)) => ?a if (integer ?a)",
        "(div ?a ?a) => 1 if (integer ?a)",
        "(exp (log ?a)) => ?a",
        "(div (div ?a 2) 3) => (div ?a 6) if (integer ?a)",
        "(if (eq ?b 0) 0 (div ?a ?b)) => (if (eq ?b 0) 0 (neg (div ?a (neg ?b)))) if (constant ?b)",
        "(build ?n (lam x (index x (build ?m (lam y ?b))))) => (build ?n (lam y ?b))",
    ],
)
def test_sound_rules_are_taken(text: str) -> None:
    [rule] = parse_rules(f"right: {text}")
    assert isinstance(rule, PatternRule)
    assert find_counterexample(rule, tries=120, seed=3) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(add ?a ?b) => (gt ?a ?b)", "expected it to apply to random terms that have values"),
        ("(add ?a True) => ?a", "expected types of its metavariables"),
        ("(div ?a 0) => ?a", "expected it to apply to random terms that have values"),
    ],
)
def test_rules_that_never_apply_are_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_rules(parse_rules(f"never: {text}"))


def test_a_counterexample_can_be_checked_by_hand() -> None:
    [rule] = parse_rules("wrong: (sub ?a ?b) => (sub ?b ?a) if (float ?a)")
    assert isinstance(rule, PatternRule)
    counterexample = find_counterexample(rule)
    assert counterexample is not None
    assert (
        evaluate_term(counterexample.source, dict(counterexample.values)) == counterexample.expected
    )
    assert (
        evaluate_term(counterexample.target, dict(counterexample.values)) == counterexample.actual
    )
    assert not is_close(counterexample.expected, counterexample.actual)


REWRITER = Rewriter(rules_named("all"))
KINDS = (FLOAT, INTEGER, BOOL, VectorType(FLOAT), TupleType((FLOAT, FLOAT)))


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_whatever_is_rewritten_computes_the_same(seed: int) -> None:
    """Binding and lifting too, and places below binders, where variables could escape."""
    rng = np.random.default_rng(seed)
    start = random_term(KINDS[int(rng.integers(len(KINDS)))], (), rng, 4)
    values = {name: random_value(kind, rng) for name, kind in free_variables(start).items()}
    try:
        expected = evaluate_term(start, values, 20_000)
    except LimitError:
        return
    for step, term in zip(REWRITER.steps(start), REWRITER.successors(start)[:80], strict=False):
        check_bound(term)
        assert term_facts(term).type == term_facts(start).type
        if not is_regular(expected):
            continue
        try:
            computed = evaluate_term(term, values, 40_000)
        except LimitError:
            continue
        if step.rule.name in HOISTING and not is_regular(computed):
            continue
        assert is_close(expected, computed, 1e-6)
