"""Value functions that learn: what rewriting terms can still save, from their graphs.

``graphs`` puts terms into arrays of nodes and edges; ``network`` is the graph network that torch
trains, ``inference`` the same by NumPy alone, as a value function; ``weights`` are files of them,
and those that come with polygym. ``policies`` are names for all value functions. ``training``
has searches explore and the network learn from the ``examples`` that they leave.
"""

__all__: list[str] = []
