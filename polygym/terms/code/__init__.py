"""Code of terms: a program becomes C, and C machine code, which is called and timed.

``layout`` says what values are in C, ``shapes`` how large they are, ``interface`` what a function
takes and leaves. ``emit`` writes it, with a ``writer`` for its ``statements`` and ``scalars`` for
numbers. ``build`` has it compiled, ``compiled`` is the function that users call, with ``arrays``
for arguments. ``timed`` runs programs in turn in the measuring worker, on ``data`` of its own, and
``clock`` is that as a cost; ``oracle`` compares code with the interpreter, and ``record`` writes
both down.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.terms.code.compiled_term import CompiledTerm, compile
    from polygym.terms.code.measured_cost import MeasuredCost
    from polygym.terms.code.timing import TimingComparison, compare_timings
else:
    __getattr__ = lazy_attributes(__name__)

__all__ = ["CompiledTerm", "MeasuredCost", "TimingComparison", "compare_timings", "compile"]
