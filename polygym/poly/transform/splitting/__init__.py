"""Index-set splitting: statements cut into pieces, each of which may have a schedule of its own.

================  =================================================================================
``cuts``          where statements are cut, as a value with a text
``apply_splitting``         the program in pieces: the same instances in the same order
``candidates``    the cuts that a program's dependences suggest
``gain``          what isl's scheduler makes of a program: its parallel and its permutable loops
``choose``        the cuts that are worth it
================  =================================================================================
"""

from polygym.poly.transform.splitting.apply import apply_splitting
from polygym.poly.transform.splitting.conditions import (
    SplitCondition,
    SplitRelation,
    Splitting,
    parse_splitting,
)

__all__ = ["SplitCondition", "SplitRelation", "Splitting", "apply_splitting", "parse_splitting"]
