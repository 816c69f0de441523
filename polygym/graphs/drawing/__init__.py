"""Pictures of tensor graphs.

``svg`` draws one, or two with the different nodes in colour, by a ``layout`` in layers.
"""
