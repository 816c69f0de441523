"""Every rule is in one group, by its operators alone."""

import pytest

from polygym.graphs.envs.rule_groups import RuleGroup, rule_group, rule_operators, rules_by_group
from polygym.graphs.rules import standard_rules
from polygym.rewrite.rule import parse_rules

ONE_OF_EACH = {
    "(ewadd ?x ?y) => (ewadd ?y ?x)": RuleGroup.ELEMENTWISE,
    "(matmul none ?x (matmul none ?y ?z)) => (matmul none (matmul none ?x ?y) ?z)": (
        RuleGroup.PRODUCTS
    ),
    "(ewadd (matmul none ?x ?z) (matmul none ?y ?z)) => (matmul none (ewadd ?x ?y) ?z)": (
        RuleGroup.PRODUCTS
    ),
    "(conv 1 1 same none ?x ?w) => (conv 1 1 same none ?x (merge ?w 2 2))": RuleGroup.CONVOLUTIONS,
    "(relu (poolmax ?x 2 2 1 1 same none)) => (poolmax ?x 2 2 1 1 same relu)": (
        RuleGroup.ACTIVATIONS
    ),
    "(relu (matmul none ?x ?y)) => (matmul relu ?x ?y)": RuleGroup.ACTIVATIONS,
    "(transpose (matmul none ?x ?y) 1-0) => (matmul none (transpose ?y 1-0) (transpose ?x 1-0))": (
        RuleGroup.TRANSPOSES
    ),
    "(concat2 ?n (relu ?x) (relu ?y)) => (relu (concat2 ?n ?x ?y))": RuleGroup.CONCATS,
    "(concat3 ?n ?x ?y ?z) => (concat2 ?n ?x (concat2 ?n ?y ?z))": RuleGroup.CONCATS,
    "(split0 (split ?n ?i ?x)) => (split0 (split ?n (=plus ?i 0) ?x))": RuleGroup.CONCATS,
    "(matmul none ?x (concat2 1 ?y ?z)) => (concat2 1 (matmul none ?x ?y) (matmul none ?x ?z))": (
        RuleGroup.CONCATS_OF_PRODUCTS
    ),
    "(concat2 1 (conv 1 1 same none ?x ?w) (conv 1 1 same none ?x ?v))"
    " => (conv 1 1 same none ?x (concat2 0 ?w ?v))": RuleGroup.CONCATS_OF_CONVOLUTIONS,
    "(ewadd ?x ?y) & (ewadd ?x ?z) => (ewadd ?y ?x) & (ewadd ?z ?x)": RuleGroup.SEVERAL,
    "(matmul none ?x ?y) & (relu ?x) => (matmul none ?x ?y) & (relu ?x)": (
        RuleGroup.SEVERAL_PRODUCTS
    ),
    "(conv 1 1 same none ?x ?w) & (matmul none ?y ?z)"
    " => (conv 1 1 same none ?x ?w) & (matmul none ?y ?z)": RuleGroup.SEVERAL_CONVOLUTIONS,
}


@pytest.mark.parametrize("text", ONE_OF_EACH)
def test_the_first_group_that_fits_has_a_rule(text: str) -> None:
    [rule] = parse_rules(f"r: {text}")
    assert rule_group(rule) is ONE_OF_EACH[text]


def test_every_group_has_an_example() -> None:
    assert set(ONE_OF_EACH.values()) == set(RuleGroup)


def test_a_table_is_divided_without_rest() -> None:
    rules = standard_rules()
    parts = rules_by_group(rules)
    assert list(parts) == list(RuleGroup)
    assert sorted(rule.name for part in parts.values() for rule in part) == sorted(
        rule.name for rule in rules
    )
    for group, part in parts.items():
        assert all(rule.is_multiple == group.is_multiple for rule in part)


def test_functions_and_literals_are_no_operators() -> None:
    [rule] = parse_rules("r: (transpose (relu ?x) 1-0) => (reshape ?x (=shape ?x))")
    assert rule_operators(rule) == {"transpose", "relu", "reshape"}
    assert rule_operators(rule, of_sources=True) == {"transpose", "relu"}
