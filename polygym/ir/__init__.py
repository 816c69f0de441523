"""The intermediate representation: what a program is, as immutable values.

``types`` (C's scalar types), ``foreign`` (functions that others have compiled), ``expr`` (what a
statement computes), ``scop`` (the program), ``gathers`` (where it computes subscripts),
``replacing`` (expressions with other accesses), ``rounding`` (numbers as types store them),
``printer`` (C text of expressions) and ``verify`` (the invariants every front end must establish).
"""

from __future__ import annotations

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
