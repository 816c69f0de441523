"""What rules share that are one but for names: those of variables, and the rule's own.

>>> from polygym.rewrite.rule import parse_rules
>>> text = "a: (ewadd ?x ?y) => (ewadd ?y ?x) b: (ewadd ?u ?v) => (ewadd ?v ?u)"
>>> one, other = parse_rules(text)
>>> spelling(one) == spelling(other)
True
"""

from __future__ import annotations

from typing import TypeAlias

from polygym.rewrite.rule import Rule
from polygym.rewrite.term import Term, substituted, term, variables

__all__ = ["Spelling", "spelling"]

Spelling: TypeAlias = tuple[tuple[Term, ...], tuple[Term, ...], frozenset[Term]]


def spelling(rule: Rule) -> Spelling:
    """Return a rule's sides and conditions, variables numbered in the order in which they stand."""
    names = {name: term(f"?{place}") for place, name in enumerate(variables(rule.sources))}
    sources, targets, conditions = (
        tuple(substituted(one, names) for one in side)
        for side in (rule.sources, rule.targets, rule.conditions)
    )
    return sources, targets, frozenset(conditions)
