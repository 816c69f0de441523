"""Functions that the C library has not: what they compute, and as C.

* ``steps``: a function as a list of operations, recorded by calling Python operators;
* ``pieces``: what several of them are made of: products of two digits' worth, polynomials;
* ``definitions``: the functions themselves;
* ``in_c``: their lists of operations as C functions.

:mod:`polygym.codegen.llvm.expressions.emit_special` makes LLVM IR of the same lists, so printed C
and compiled code do the same operations in the same order.
"""

__all__ = ["definitions", "in_c", "pieces", "steps"]
