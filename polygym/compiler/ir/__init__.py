"""The intermediate representation: what a program is, as immutable values.

``types`` (C's scalar types), ``foreign`` (functions that others have compiled), ``expr`` (what a
statement computes), ``scop`` (the program), ``gathers`` (where it computes subscripts),
``replacing`` (expressions with other accesses), ``rounding`` (numbers as types store them),
``printer`` (C text of expressions) and ``verify`` (the invariants every front end must establish).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polygym.lazy import lazily

if TYPE_CHECKING:
    from polygym.compiler.ir.expr import Access, Expression
    from polygym.compiler.ir.printer import source_text
    from polygym.compiler.ir.scop import Array, Parameter, Scop, Statement, Storage
    from polygym.compiler.ir.types import ScalarType
    from polygym.compiler.ir.verify import problems_of
else:
    __getattr__ = lazily(
        __name__,
        {
            "expr": ("Access", "Expression"),
            "printer": ("source_text",),
            "scop": ("Array", "Parameter", "Scop", "Statement", "Storage"),
            "types": ("ScalarType",),
            "verify": ("problems_of",),
        },
    )

__all__ = [
    "Access",
    "Array",
    "Expression",
    "Parameter",
    "ScalarType",
    "Scop",
    "Statement",
    "Storage",
    "problems_of",
    "source_text",
]
