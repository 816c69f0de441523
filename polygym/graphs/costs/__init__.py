"""What an operator costs: by a roofline, the same everywhere, or measured on this machine.

``work`` counts operations and bytes of a node, ``roofline`` makes a cost of them, ``measured`` asks
the measuring worker instead, and keeps what it said in a ``store``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polygym.lazy import lazily

if TYPE_CHECKING:
    from polygym.graphs.costs.measured import Costs, Measured
    from polygym.graphs.costs.roofline import Roofline
else:
    __getattr__ = lazily(__name__, {"measured": ("Costs", "Measured"), "roofline": ("Roofline",)})

__all__ = ["Costs", "Measured", "Roofline"]
