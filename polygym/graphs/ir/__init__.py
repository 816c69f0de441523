"""Tensor graphs as values.

``graph`` is the value itself, without weights and with them, ``build`` has functions that make
nodes, ``text`` reads and prints it, and ``reference`` computes it in NumPy. ``domain`` is the
language for rewriting, with the functions of conditions and literals. The operators have a package
of their own, :mod:`polygym.graphs.operators`.
"""
