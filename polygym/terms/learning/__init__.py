"""Value functions that learn: what rewriting terms can still save, from their graphs.

``graphs`` puts terms into arrays of nodes and edges, ``network`` is the graph network and the value
function that it makes, ``training`` has searches explore and the network learn from what they saw.
"""

__all__: list[str] = []
