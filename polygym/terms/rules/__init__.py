"""Rules of terms, as tables.

A ``rule`` has two sides that are a ``pattern`` each, with binders, and is ``compiled`` to a
function; a ``table`` is text, ``sets`` have names. ``verify`` tries rules on ``random_terms`` and
finds counterexamples to those that are unsound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polygym.lazy import lazily

if TYPE_CHECKING:
    from polygym.terms.rules.rule import Rule
    from polygym.terms.rules.sets import SETS, rules_named
    from polygym.terms.rules.table import parse_rules, text_of_rules
    from polygym.terms.rules.verify import check_rules, counterexample
else:
    __getattr__ = lazily(
        __name__,
        {
            "rule": ("Rule",),
            "sets": ("SETS", "rules_named"),
            "table": ("parse_rules", "text_of_rules"),
            "verify": ("check_rules", "counterexample"),
        },
    )

__all__ = [
    "SETS",
    "Rule",
    "check_rules",
    "counterexample",
    "parse_rules",
    "rules_named",
    "text_of_rules",
]
