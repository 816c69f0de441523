"""Index-set splitting: statements in pieces, each with a schedule of its own.

==============  ===============================================================================
``apply``       A program in pieces: the same instances in the same order
``candidates``  Cuts that dependences suggest
``conditions``  Split conditions: the cuts of statements as a value with a text
``selection``   Selection of cuts with which isl's scheduler finds more parallel or wider bands
==============  ===============================================================================
"""

from polygym.poly.transform.splitting.apply import apply_splitting
from polygym.poly.transform.splitting.conditions import (
    SplitCondition,
    SplitRelation,
    Splitting,
    parse_splitting,
)

__all__ = ["SplitCondition", "SplitRelation", "Splitting", "apply_splitting", "parse_splitting"]
