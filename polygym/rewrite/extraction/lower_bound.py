"""What any choice costs at least, without a solver.

A node needs all its children, each of which is paid for at least once; but two children may share
everything they need. So it costs at least the node and the dearest of its children's bounds; a
class costs at least the least of its nodes' (:mod:`polygym.rewrite.extraction.derivation_costs`).

Two children of 3 and 5 under a node of 1: at least 6. Both together cost 9 if they share nothing,
and 6 if the dear one contains the cheap one.
"""

from __future__ import annotations

import math

from polygym.rewrite.extraction.choices import ExtractionChoices
from polygym.rewrite.extraction.derivation_costs import ClassUses, CostAggregation, derive_costs

__all__ = ["cost_lower_bound"]


def cost_lower_bound(choices: ExtractionChoices) -> float:
    """Return what the root costs at least."""
    if not choices.members:
        return 0.0
    least = derive_costs(ClassUses(choices), choices.costs, CostAggregation.DEAREST).values[0]
    return 0.0 if least == math.inf else least
