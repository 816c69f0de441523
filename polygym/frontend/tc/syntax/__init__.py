"""Syntax of comprehensions: tokens, the syntax tree, and its text.

``tokens`` splits a text, ``tree`` has the nodes and renames them, ``printer`` writes them as text;
``where_values`` replaces names of a ``where`` by their values.
"""

__all__: list[str] = []
