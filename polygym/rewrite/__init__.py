"""Rewriting: terms, rules as tables, the e-graph; knows neither tensors nor programs.

``term`` has the values, ``s_expressions`` their text, ``rule`` the rules and their tables, and
``domain`` the protocol of a language, with its smallest instance and a memo of its answers.
``applicability`` has the effect of a rule on data of its variables, and joins the matches of rules
with several sources.

There are two ways to use rules. ``substitution`` rewrites one place of a term; ``backtracking`` is
the search that does so again and again. ``egraph`` keeps all equal terms together, and
``extraction`` takes the cheapest term out of it.
"""
