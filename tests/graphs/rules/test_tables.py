"""The tables of the package: every rule is verified again, and together they show what is known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from polygym.graphs import rules
from polygym.graphs.ir.domain import TENSOR_DOMAIN
from polygym.graphs.library import NAMES, model
from polygym.graphs.operators.types import Data, TensorType
from polygym.graphs.rules import canonical_key
from polygym.graphs.rules.generate.rule_table import are_underivable, instantiate
from polygym.graphs.rules.instances import instances
from polygym.graphs.rules.verification import VerifiedRule, verify_rule
from polygym.rewrite.domain import Inadmissible
from polygym.rewrite.egraph import EGraph, SaturationLimits, saturate
from polygym.rewrite.rule import Rule, parse_rules
from polygym.rewrite.term import Term

_KINDS = parse_rules((Path(__file__).parent / "kinds.rules").read_text(), "kinds.rules")
_TABLES = rules.load_rules(rules.TABLES)


@pytest.mark.parametrize("rule", _TABLES, ids=lambda rule: rule.name)
def test_every_rule_holds(rule: Rule) -> None:
    """On instances that none of them was found with."""
    counterexample = verify_rule(rule, 8, seed=17)
    assert isinstance(counterexample, VerifiedRule), str(counterexample)


def _equations(rule: Rule, is_computed: bool = False) -> list[tuple[Term, Term]]:
    pairs: list[tuple[Term, Term]] = []
    for instance in instances(rule, 0, 20):
        binding: dict[str, Data] = {
            name: replace(data, constant=False)
            if is_computed and isinstance(data, TensorType)
            else data
            for name, data in instance.binding.items()
        }
        try:
            pairs += [
                (instantiate(source, binding), instantiate(target, binding))
                for source, target in zip(rule.sources, rule.targets, strict=True)
            ]
        except Inadmissible:
            continue
        if len(pairs) >= 6:
            break
    return pairs


@pytest.mark.parametrize("rule", _KINDS, ids=lambda rule: rule.name)
def test_what_is_known_follows_from_the_tables(rule: Rule) -> None:
    """Both sides become one class, on every instance."""
    pairs = _equations(rule)
    assert pairs
    assert not any(are_underivable(pairs, _TABLES, nodes=8_000))


def test_what_is_known_holds() -> None:
    """The list itself is sound."""
    for rule in _KINDS:
        assert isinstance(verify_rule(rule, 6), VerifiedRule), rule.name


@pytest.mark.parametrize(
    "rule", [kind for kind in _KINDS if kind.is_multiple], ids=lambda r: r.name
)
def test_products_that_share_an_argument_become_one(rule: Rule) -> None:
    """Each is a half of a whole, where there was none before."""
    if "relus" in rule.name or "sandwich" in rule.name:
        pytest.skip("shown by rules with one source, and not worth a product of its own")
    pairs = _equations(rule, is_computed=True)  # nothing is gained where all is known
    graph = EGraph(TENSOR_DOMAIN)
    two = pairs[:2]
    for source, _ in two:
        graph.add_term(source)
    saturate(graph, rules.standard_rules(), SaturationLimits(nodes=8_000, iterations=4, k_multi=2))
    # Of a symmetric pair one order is enough, whichever it is.
    for source, _ in two:
        nodes = graph.nodes_of(graph.find(graph.add_term(source)))
        assert {"split0", "split1"} & {graph.head_of(node) for node in nodes}


def test_the_standard_set_is_enough_and_small() -> None:
    """Some rules with two sources, most with one, each name once."""
    standard = rules.standard_rules()
    assert len({rule.name for rule in standard}) == len(standard)
    assert 3 <= sum(rule.is_multiple for rule in standard) <= 15


@pytest.mark.parametrize("name", NAMES)
def test_small_networks_are_explored(name: str) -> None:
    """Within the paper's limits, and no two different shapes become equal on the way."""
    graph = EGraph(TENSOR_DOMAIN)
    graph.add_term(model(name, size="small").graph.root)
    before = graph.node_count
    report = saturate(graph, rules.standard_rules(), SaturationLimits(nodes=4_000, iterations=6))
    assert report.nodes >= before


def test_what_is_left_out_stands_in_a_table() -> None:
    """A rule that is named as seldom worth its nodes is one of the others, word by word."""
    known = {canonical_key(rule) for rule in _TABLES}
    for rule in rules.load_rules(["seldom"]):
        assert canonical_key(rule) in known, rule.name
    assert len(rules.standard_rules()) < len(_TABLES)
