"""The intermediate representation: programs as immutable values.

======================  ============================================================
``access_replacement``  Expressions with other accesses, for passes that copy arrays
``data_bounds``         Bounds of loops that are read from memory
``expressions``         Expressions of statements
``foreign_functions``   Foreign functions
``gathers``             Gathers
``printer``             C text of expressions, readable and compilable
``rounding``            Numbers as the floating types store them
``scop``                The Scop (static control part)
``types``               Scalar types of programs, with C's rules for combining them
``verifier``            Invariants of a Scop
======================  ============================================================
"""

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.ir.expressions import Access, Expression
    from polygym.ir.printer import source_text
    from polygym.ir.scop import Array, Parameter, Scop, Statement, StorageClass
    from polygym.ir.types import ScalarType
    from polygym.ir.verifier import problems_of
else:
    __getattr__ = lazy_attributes(__name__)

__all__ = [
    "Access",
    "Array",
    "Expression",
    "Parameter",
    "ScalarType",
    "Scop",
    "Statement",
    "StorageClass",
    "problems_of",
    "source_text",
]
