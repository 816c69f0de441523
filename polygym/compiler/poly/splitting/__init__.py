"""Index-set splitting: statements cut into pieces, each of which may have a schedule of its own.

================  =================================================================================
``cuts``          where statements are cut, as a value with a text
``split``         the program in pieces: the same instances in the same order
``candidates``    the cuts that a program's dependences suggest
``gain``          what isl's scheduler makes of a program: its parallel and its permutable loops
``choose``        the cuts that are worth it
================  =================================================================================
"""

from polygym.compiler.poly.splitting.cuts import Cut, Relation, Splitting, parse_splitting
from polygym.compiler.poly.splitting.split import split

__all__ = ["Cut", "Relation", "Splitting", "parse_splitting", "split"]
