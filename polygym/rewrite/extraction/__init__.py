"""Extraction: the cheapest term that an e-graph has for a class.

``costs`` says what a cost is and what an answer looks like; its ``extract_greedily`` counts a part
as often as it is used, ``extract_optimally`` of ``ilp_extraction`` as often as it is there, and
proves how good it is. In between, ``choices`` leaves out what is no choice and has bounds without a
solver, ``reduction`` leaves out what cannot be the best, and ``part_search`` looks for the best of
each part, by landmarks, and by ``extraction_program``, the rest as an integer program for HiGHS,
whose answers it keeps free of cycles. ``local_search`` makes a choice cheaper move by move, and
``serialized_extraction`` extracts from e-graphs of files.
"""

from polygym.rewrite.extraction.costs import (
    CostFunction,
    Extraction,
    ExtractionStatus,
    extract_greedily,
)
from polygym.rewrite.extraction.extraction_program import CycleConstraints
from polygym.rewrite.extraction.ilp_extraction import extract_optimally
from polygym.rewrite.extraction.serialized_extraction import ExtractionSummary, extract_serialized

__all__ = [
    "CostFunction",
    "CycleConstraints",
    "Extraction",
    "ExtractionStatus",
    "ExtractionSummary",
    "extract_greedily",
    "extract_optimally",
    "extract_serialized",
]
