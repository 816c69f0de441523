"""Rules of terms, as tables.

``rule_types`` has the kinds of rules, whose sides are ``patterns`` with binders; ``compiled_rules``
makes functions of them. ``rule_table`` reads their text, ``rule_sets`` names the shipped tables.
``soundness`` tries rules on ``random_terms`` and finds counterexamples.
"""

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.terms.rules.rule_sets import RULE_SETS, rules_named
    from polygym.terms.rules.rule_table import parse_rules, text_of_rules
    from polygym.terms.rules.rule_types import TermRule
    from polygym.terms.rules.soundness import check_rules, find_counterexample
else:
    __getattr__ = lazy_attributes(__name__)

__all__ = [
    "RULE_SETS",
    "TermRule",
    "check_rules",
    "find_counterexample",
    "parse_rules",
    "rules_named",
    "text_of_rules",
]
