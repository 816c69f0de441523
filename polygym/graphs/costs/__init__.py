"""Costs of operators: by a roofline, the same everywhere, or measured on this machine.

``work`` counts operations and bytes of a node, ``roofline`` makes a cost of them, ``measured`` asks
the measuring worker instead, and keeps what it said in a ``store``.
"""

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.graphs.costs.measured import MeasuredCosts, NodeCosts
    from polygym.graphs.costs.roofline import RooflineCosts
else:
    __getattr__ = lazy_attributes(__name__)

__all__ = ["MeasuredCosts", "NodeCosts", "RooflineCosts"]
