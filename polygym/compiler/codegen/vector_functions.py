"""Functions of math.h that can be computed for the lanes of a vector at once.

Loops are made into vectors (:mod:`polygym.compiler.codegen.loops.lanes`) by what stands here, and
code is made of them (:mod:`polygym.compiler.codegen.llvm.math_functions`).
"""

from __future__ import annotations

from polygym.compiler.ir.expr import MathFunction

VECTOR_FUNCTIONS = frozenset(
    {
        MathFunction.SQRT,
        MathFunction.FABS,
        MathFunction.FLOOR,
        MathFunction.CEIL,
        MathFunction.TRUNC,
        MathFunction.ROUND,
        MathFunction.RINT,
        MathFunction.COPYSIGN,
        MathFunction.FMA,
        MathFunction.FMIN,
        MathFunction.FMAX,
        MathFunction.ABS,
        MathFunction.EXPONENTIAL,
    }
)
