"""Tensor graphs as values, and what is known of their operators.

``types`` are the data of nodes, ``operators`` the table of operators with their ``inference`` and
its ``checks``, ``graph`` the value itself, ``build`` has functions that make nodes, ``model`` adds
weights, ``text`` reads and prints it, and ``reference`` computes it in NumPy. ``domain`` tells
rewriting what it has to know, with the ``words`` of conditions in rules.
"""

__all__ = [
    "build",
    "domain",
    "graph",
    "inference",
    "model",
    "operators",
    "reference",
    "text",
    "type_checks",
    "types",
]
