"""What rules share that are one but for names: those of variables, and the rule's own.

>>> from polygym.rewrite.rule import parse_rules
>>> text = "a: (ewadd ?x ?y) => (ewadd ?y ?x) b: (ewadd ?u ?v) => (ewadd ?v ?u)"
>>> one, other = parse_rules(text)
>>> spelling(one) == spelling(other)
True
"""

from __future__ import annotations

from polygym.rewrite.expressions import text_of
from polygym.rewrite.rule import Rule
from polygym.rewrite.term import Term, substituted, term, variables

__all__ = ["spelling"]


def spelling(rule: Rule) -> str:
    """Return the text of a rule with variables numbered in the order in which they stand."""
    names = {name: term(f"?{place}") for place, name in enumerate(variables(rule.sources))}

    def side(parts: tuple[Term, ...]) -> str:
        return " & ".join(text_of(substituted(one, names)) for one in parts)

    conditions = sorted(text_of(substituted(one, names)) for one in rule.conditions)
    return f"{side(rule.sources)} => {side(rule.targets)} if {' & '.join(conditions)}"
