"""Verification: unsound rules are refused with numbers that show it, sound ones are not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from polygym.errors import InputError
from polygym.graphs import rules
from polygym.graphs.rules.verification import (
    GraphRuleCounterexample,
    VerifiedRule,
    check_rule,
    verify_rule,
)
from polygym.rewrite.rule import Rule, parse_rules
from tests.graphs.rules.rule_application import both_sides, concrete

_HERE = Path(__file__).parent


def _rules(name: str) -> list[Rule]:
    return parse_rules((_HERE / f"{name}.rules").read_text(), name)


@pytest.mark.parametrize("rule", _rules("unsound"), ids=lambda rule: rule.name)
def test_an_unsound_rule_comes_back_with_numbers_that_show_it(rule: Rule) -> None:
    """Both sides are computed once more, and differ where it is said, as it is said."""
    counterexample = verify_rule(rule)
    assert isinstance(counterexample, GraphRuleCounterexample)
    source, target = rule.sources[counterexample.output], rule.targets[counterexample.output]
    if isinstance(counterexample.left, str):
        left, right = (concrete(side, counterexample.binding)[1] for side in (source, target))
        if "error" in str(counterexample.right):
            with pytest.raises(IndexError):
                both_sides(source, target, counterexample.binding, counterexample.values)
        else:
            assert (left.shape, left.dtype) != (right.shape, right.dtype)
        return
    left_array, right_array = both_sides(
        source, target, counterexample.binding, counterexample.values
    )
    one, other = (
        float(left_array[counterexample.position]),
        float(right_array[counterexample.position]),
    )
    assert (one, other) == pytest.approx((counterexample.left, counterexample.right), nan_ok=True)
    assert not np.isclose(one, other, rtol=1e-7, atol=1e-10)
    assert f"rule {rule.name} is not sound. With" in str(counterexample)


@pytest.mark.parametrize("rule", _rules("sound"), ids=lambda rule: rule.name)
def test_a_sound_rule_is_accepted(rule: Rule) -> None:
    """Conditions that are seldom met are met often enough."""
    verified_rule = verify_rule(rule, 12)
    assert isinstance(verified_rule, VerifiedRule)
    assert verified_rule.cases >= 3


def test_conditions_may_name_extents_that_are_not_small() -> None:
    """A rule for 64 rows is met by the budget that files have, and only where it is sound."""
    sound, wrong = parse_rules(
        """
        sound: (matmul none (matmul none ?x ?y) ?z) => (matmul none ?x (matmul none ?y ?z))
            if (equal (=extent ?x 0) 64)
        wrong: (matmul none ?x (matmul relu ?y ?z)) => (matmul none (matmul relu ?x ?y) ?z)
            if (equal (=extent ?x 0) 64)
        """
    )
    rule = verify_rule(sound, 400)
    assert isinstance(rule, VerifiedRule)
    assert rule.cases >= 3
    counter = verify_rule(wrong, 400)
    assert isinstance(counter, GraphRuleCounterexample)
    assert counter.binding["?x"].shape[0] == 64


def test_a_counterexample_is_small_and_readable() -> None:
    """The shapes, the numbers, the place and both values."""
    [rule] = parse_rules("wrong: (relu (ewadd ?x ?y)) => (ewadd (relu ?x) (relu ?y))")
    counterexample = verify_rule(rule)
    assert isinstance(counterexample, GraphRuleCounterexample)
    assert counterexample.elements <= 8
    text = str(counterexample)
    assert "  ?x = " in text
    assert "(relu (ewadd ?x ?y))\n  is " in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("r: (ewadd ?x ?y) => ?x if (rank ?x 99)", "the conditions hold, found none"),
        ("r: (matmul none (conv 1 1 same none ?x ?w) ?i) => ?x if (rank ?i 3)", "sources make"),
        ("r: (relu ?x) => (conv 1 1 same none ?x ?x) if (rank ?x 3)", "found none among"),
        ("r: (split ?n ?n ?x) => (split ?x ?n ?x)", "expected ?x to be one thing"),
        ("r: (foo ?x) => ?x", "expected an operator, found 'foo'"),
        ("r: (relu ?x ?y) => ?x", "expected 1 arguments of relu (x), found (relu ?x ?y)"),
        ("r: (relu ?x) => ?x if (blue ?x)", "expected a condition, one of"),
        ("r: (relu ?x) => (softmax (=blue ?x) ?x)", "expected a function, one of"),
        ("r: (relu (input a@3)) => (input a@3)", "expected variables, found (input a@3)"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(text: str, message: str) -> None:
    """Words, operators, kinds; and rules that fire nowhere."""
    [rule] = parse_rules(text)
    with pytest.raises(InputError) as caught:
        verify_rule(rule)
    assert message in str(caught.value)
    assert "rule r" in str(caught.value)


def test_a_split_may_be_a_variable() -> None:
    """Both halves, of equal and of different extents."""
    [same, other] = parse_rules(
        "same: (relu (split0 ?s)) => (relu (split0 ?s))\nother: (split1 ?s) => (split0 ?s)"
    )
    assert isinstance(verify_rule(same, 10), VerifiedRule)
    counterexample = verify_rule(other)
    assert isinstance(counterexample, GraphRuleCounterexample)
    assert "?s = " in str(counterexample)


def test_the_same_seed_tries_the_same() -> None:
    """An answer is repeated to the digit."""
    [rule] = parse_rules("r: (concat2 ?n ?x ?y) => (concat2 ?n ?y ?x)")
    assert str(verify_rule(rule)) == str(verify_rule(rule))


def test_a_file_is_read_and_each_rule_is_checked(tmp_path: Path) -> None:
    """A good file comes back whole; a bad rule is named, with a case; text errors say where."""
    good = tmp_path / "good.rules"
    good.write_text("mine: (neg (neg ?x)) => ?x\n")
    assert [rule.name for rule in rules.load_rule_file(good)] == ["mine"]
    assert [rule.name for rule in rules.load_rules([str(good)])] == ["mine"]
    bad = tmp_path / "bad.rules"
    bad.write_text("mine: (neg (neg ?x)) => ?x\nhis: (neg ?x) => ?x\n")
    with pytest.raises(InputError, match="rule his is not sound"):
        rules.load_rule_file(bad)
    broken = tmp_path / "broken.rules"
    broken.write_text("mine (neg ?x) => ?x\n")
    with pytest.raises(InputError, match=r"broken.rules:1:1"):
        rules.load_rule_file(broken)
    with pytest.raises(InputError, match="expected a table of rules in"):
        rules.load_rule_file(tmp_path / "none.rules")
    with pytest.raises(InputError, match="expected a table of rules, one of"):
        rules.load_rules(["nothing"])


def test_a_rule_is_checked_once() -> None:
    """Terms are values, so the same rule need not be verified again."""
    [rule] = parse_rules("r: (abs (neg ?x)) => (abs ?x)")
    assert check_rule(rule) is check_rule(rule)
