"""Rewriting: terms, rules as tables, the e-graph; knows neither tensors nor programs.

``term`` has the values, ``expressions`` their text, ``rule`` the rules and their tables, and
``domain`` what has to be known of a language.
"""
