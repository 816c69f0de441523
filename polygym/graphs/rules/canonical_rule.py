"""Canonical key of rules that differ in names alone: those of variables, and their own.

>>> from polygym.rewrite.rule import parse_rules
>>> text = "a: (ewadd ?x ?y) => (ewadd ?y ?x) b: (ewadd ?u ?v) => (ewadd ?v ?u)"
>>> one, other = parse_rules(text)
>>> canonical_key(one) == canonical_key(other)
True
"""

from typing import TypeAlias

from polygym.rewrite.rule import Rule
from polygym.rewrite.term import Term, substitute, term, variable_names

RuleKey: TypeAlias = tuple[tuple[Term, ...], tuple[Term, ...], frozenset[Term]]


def canonical_key(rule: Rule) -> RuleKey:
    """Return a rule's sides and conditions, variables numbered in the order in which they stand."""
    names = {name: term(f"?{place}") for place, name in enumerate(variable_names(rule.sources))}
    sources, targets, conditions = (
        tuple(substitute(one, names) for one in side)
        for side in (rule.sources, rule.targets, rule.conditions)
    )
    return sources, targets, frozenset(conditions)
