"""Extraction: the cheapest term that an e-graph has for a class.

``costs`` says what a cost is and what an answer looks like, ``greedy`` counts a part as often as it
is used, ``ilp`` as often as it is there, and proves how good it is. In between, ``choices`` leaves
out what is no choice, ``reducing`` what cannot be the best, ``parts`` takes apart what has nothing
to do with each other, and ``searching`` looks for the best of each part: ``improving`` finds a
better start by local search, ``settling`` values of classes from the cheapest on, ``bounding`` and
``landmarks`` bounds without a solver, ``model`` writes down the rest as an integer program and
keeps its answers free of cycles, and ``solver`` is HiGHS.
"""

from __future__ import annotations

from polygym.rewrite.extraction.costs import Cost, Extraction, Status
from polygym.rewrite.extraction.greedy import greedy
from polygym.rewrite.extraction.ilp import ilp
from polygym.rewrite.extraction.model import CycleConstraints

__all__ = ["Cost", "CycleConstraints", "Extraction", "Status", "greedy", "ilp"]
