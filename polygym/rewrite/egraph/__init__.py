"""E-graphs: what is equal is kept together, and rules only ever add to it.

===============  ==================================================================================
``application``  applying
``cycles``       keeping an e-graph free of cycles, so that whatever is chosen of it is a graph …
``egraph``       the e-graph: classes of equal nodes, closed under congruence
``matching``     matching: where in an e-graph a pattern stands
``saturation``   equality saturation: rules are applied until nothing is new, or a limit is reached
``serialized``   e-graphs in the JSON of other projects
===============  ==================================================================================
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
