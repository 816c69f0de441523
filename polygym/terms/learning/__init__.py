"""Learned value functions: estimates of the cost that rewriting a term can still save.

``graph_encoding`` makes arrays of terms. ``torch_network`` is the graph network, ``numpy_network``
its inference by NumPy, as a value function; ``weights`` reads and writes files of them and finds
value functions by name. ``training`` fits the network to examples of searches in a
``replay_buffer``.
"""

__all__: list[str] = []
