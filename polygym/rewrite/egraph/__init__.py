"""E-graphs: what is equal is kept together, and rules only ever add to it.

``egraph`` has the classes and nodes, ``matching`` finds where patterns stand in them, ``applying``
adds what rules say of it, ``cycles`` keeps cycles out, and ``saturate`` is the loop with its
limits.
"""

from polygym.rewrite.egraph.cycles import CycleFilter
from polygym.rewrite.egraph.egraph import EGraph
from polygym.rewrite.egraph.saturation import (
    IterationReport,
    SaturationLimits,
    SaturationReport,
    StopReason,
    run_iteration,
    saturate,
)

__all__ = [
    "CycleFilter",
    "EGraph",
    "IterationReport",
    "SaturationLimits",
    "SaturationReport",
    "StopReason",
    "run_iteration",
    "saturate",
]
