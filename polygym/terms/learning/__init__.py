"""Learned value functions: estimates of the cost that rewriting a term can still save.

``graph_encoding`` makes arrays of terms. ``training`` has the graph network in torch and fits it to
examples of searches in a ``replay_buffer``, ``numpy_network`` is its inference by NumPy, as a value
function; ``weights`` reads and writes files of them and finds value functions by name.
"""
