"""Pictures of tensor graphs.

``picture`` draws one, or two with what is different in colour (``difference`` says what), by a
``layout`` in ``layers``.
"""

__all__ = ["difference", "layers", "layout", "svg"]
