"""Extraction: the cheapest term that an e-graph has for a class.

``costs`` says what a cost is and what an answer looks like, ``extract_greedily`` counts a part as
often as it is used, ``extract_optimally`` as often as it is there, and proves how good it is. In
between, ``choices`` leaves out what is no choice, ``reducing`` what cannot be the best, ``parts``
takes apart what has nothing to do with each other, and ``searching`` looks for the best of each
part:
``improving`` finds a better start by local search, ``settling`` values of classes from the cheapest
on, ``bounding`` and ``landmarks`` bounds without a solver, ``model`` writes down the rest as an
integer program and keeps its answers free of cycles, and ``solver`` is HiGHS.
"""

from polygym.rewrite.extraction.costs import CostFunction, Extraction, ExtractionStatus
from polygym.rewrite.extraction.extraction_program import CycleConstraints
from polygym.rewrite.extraction.greedy_extraction import extract_greedily
from polygym.rewrite.extraction.ilp_extraction import extract_optimally

__all__ = [
    "CostFunction",
    "CycleConstraints",
    "Extraction",
    "ExtractionStatus",
    "extract_greedily",
    "extract_optimally",
]
