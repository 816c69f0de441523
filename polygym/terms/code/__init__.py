"""Code of terms: C of a program, machine code of it, calls and times.

``c_values`` represents values in C, ``shapes`` infers their sizes, ``interface`` the arguments.
``emitter`` writes a function through ``function_writer`` and ``statement_writer``, with
expressions of ``scalars``. ``kernel_build`` compiles it, ``compiled_term`` is the callable, with
``arguments`` checked. ``timing`` runs programs in the measuring worker, ``measured_cost`` is that
time as a cost; ``validation`` compares code with the interpreter, ``timing_record`` stores both.
"""

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.terms.code.compiled_term import CompiledTerm, compile
    from polygym.terms.code.measured_cost import MeasuredCost
    from polygym.terms.code.timing import TimingComparison, compare_timings
else:
    __getattr__ = lazy_attributes(__name__)

__all__ = ["CompiledTerm", "MeasuredCost", "TimingComparison", "compare_timings", "compile"]
