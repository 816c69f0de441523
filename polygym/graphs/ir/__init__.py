"""Tensor graphs as values.

``graph`` is the value itself, ``build`` has functions that make nodes, ``model`` adds weights,
``text`` reads and prints it, and ``reference`` computes it in NumPy. ``domain`` is the language for
rewriting, with the ``rule_functions`` of conditions and literals. The operators have a package of
their own, :mod:`polygym.graphs.operators`.
"""

__all__ = ["build", "domain", "graph", "model", "reference", "text"]
