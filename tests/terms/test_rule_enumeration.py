"""Rules that are found by enumeration: sound, and what is known is among them."""

from __future__ import annotations

from polygym.terms.rule_enumeration import enumerate_rules
from polygym.terms.rules.soundness import find_counterexample


def test_exponentials_and_logarithms() -> None:
    rules = list(enumerate_rules(("exp", "log", "mul", "div"), 2))
    texts = {str(rule).partition(": ")[2] for rule in rules}
    assert {
        "(mul (exp ?a) (exp ?b)) => (exp (add ?a ?b))",
        "(div (exp ?a) (exp ?b)) => (exp (sub ?a ?b))",
    } & texts == set()  # there is no add to say it with
    assert {"(exp (log ?a)) => ?a", "(log (exp ?a)) => ?a", "(div ?a ?a) => 1.0"} <= texts
    more = {
        str(rule).partition(": ")[2]
        for rule in enumerate_rules(("exp", "log", "mul", "add", "sub"))
    }
    assert "(mul (exp ?a) (exp ?b)) => (exp (add ?a ?b))" in more
    assert not any(text.endswith("=> (log (div ?a ?b))") for text in texts)
    for rule in rules[:6]:
        assert find_counterexample(rule, tries=60, seed=9) is None


def test_what_moves_out_of_a_sum_is_guarded() -> None:
    texts = [str(rule) for rule in enumerate_rules(("mul", "div"), 1, with_sums=True)]
    assert any(
        "(sumbuild ?n (lam x (div ?u ?a)))" in text and "(if (gt ?n 0) ?a 1.0)" in text
        for text in texts
    )
    assert any(
        "(sumbuild ?n (lam x (mul ?a ?u)))" in text and "(if (gt ?n 0) ?a 0.0)" in text
        for text in texts
    )
