"""Functions that the C library has not: what they compute, and as C.

* ``operations``: a function as a list of operations, recorded by calling Python operators;
* ``definitions``: the functions themselves, their building blocks, and their C text.

:mod:`polygym.codegen.llvm.expressions.math_functions` makes LLVM IR of the same lists, so printed C
and compiled code do the same operations in the same order.
"""

__all__ = ["definitions", "operations"]
