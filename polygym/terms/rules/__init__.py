"""Rules of terms, as tables.

``rule_types`` has the kinds of rules, whose sides are ``patterns`` with binders; ``compiled_rules``
makes functions of them. ``rule_table`` reads their text and names the shipped tables.
``soundness`` tries rules on ``random_terms`` and finds counterexamples.
"""
