"""Rewriting: terms, rules as tables, the e-graph; knows neither tensors nor programs.

``term`` has the values, ``expressions`` their text, ``rule`` the rules and their tables, and
``domain`` what has to be known of a language, of which ``plain`` is the least. ``typed`` remembers
what a domain says, and ``prospects`` what a rule comes to where its variables are something.
``joins`` has what rules with several sources need.

There are two ways to use rules. ``places`` substitutes at one place of a term, with patterns
compiled by ``shapes``; ``backtracking`` is the search that does so again and again. ``egraph``
keeps all that is equal together, and ``extraction`` takes the cheapest term out of it.
"""

__all__ = [
    "backtracking",
    "domain",
    "egraph",
    "extraction",
    "rule",
    "s_expressions",
    "term",
    "term_patterns",
]
