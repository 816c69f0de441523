"""Functions that the C library has not: what they compute, and as C.

* ``operations``: a function as a list of operations, recorded by calling Python operators;
* ``building_blocks``: parts of several functions: double-width products, polynomials;
* ``definitions``: the functions themselves;
* ``c_text``: their lists of operations as C functions.

:mod:`polygym.codegen.llvm.expressions.math_functions` makes LLVM IR of the same lists, so printed C
and compiled code do the same operations in the same order.
"""

__all__ = ["building_blocks", "c_text", "definitions", "operations"]
