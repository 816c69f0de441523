"""What candidates cost: features of their loops, and models that learn from measurements."""

from __future__ import annotations

__all__: list[str] = []
