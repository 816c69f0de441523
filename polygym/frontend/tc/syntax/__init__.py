"""Syntax of comprehensions: the syntax tree, and its text.

``tree`` has the nodes and renames them, ``printer`` writes them as text;
``where_values`` replaces names of a ``where`` by their values.
"""
