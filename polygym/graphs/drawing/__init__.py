"""Pictures of tensor graphs.

``svg`` draws one, or two with the ``difference`` in colour, by a ``layout`` in layers; equal
``regions`` of large ones are one box each.
"""
