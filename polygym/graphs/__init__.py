"""Tensor graphs: whole models, rewritten as graphs, compiled operator by operator, run and timed.

``types`` are the data of nodes, ``operators`` the table of operators with their ``inference`` and
its ``checks``, ``words`` those of conditions in rules, ``domain`` tells all of it to rewriting.
``graph`` is the value, ``build`` has functions that make nodes, and ``model`` is a graph with
weights.
"""
