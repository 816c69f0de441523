"""In which forms functions of math.h can be computed: what LLVM has of its own, what we have.

Loops decide by it what may run in vectors, and the emitters how a call is made. The C library takes
one number at a time.
"""

from __future__ import annotations

from polygym.compiler.ir.expr import MathFunction
from polygym.compiler.ir.foreign import Foreign

INTRINSICS = {
    MathFunction.SQRT: "llvm.sqrt",
    MathFunction.FABS: "llvm.fabs",
    MathFunction.FLOOR: "llvm.floor",
    MathFunction.CEIL: "llvm.ceil",
    MathFunction.TRUNC: "llvm.trunc",
    MathFunction.ROUND: "llvm.round",
    MathFunction.RINT: "llvm.rint",
    MathFunction.COPYSIGN: "llvm.copysign",
    MathFunction.FMA: "llvm.fma",
}
"""LLVM's names of what it can do for a number or for a vector."""

EXTREMES = {MathFunction.FMIN: "<", MathFunction.FMAX: ">"}
"""Two selections, by a comparison."""

_OWN = (MathFunction.ABS, MathFunction.EXPONENTIAL)


def has_vector_form(function: MathFunction | Foreign) -> bool:
    """Whether a call can be made for the lanes of a vector at once.

    >>> has_vector_form(MathFunction.SQRT), has_vector_form(MathFunction.EXP)
    (True, False)
    """
    return function in INTRINSICS or function in EXTREMES or function in _OWN


def is_quick(function: MathFunction | Foreign) -> bool:
    """Whether a call takes a few cycles and does nothing else, so that it may be made for nothing.

    >>> is_quick(MathFunction.FABS), is_quick(MathFunction.SQRT), is_quick(MathFunction.EXP)
    (True, False, False)
    """
    return function is not MathFunction.SQRT and (function in INTRINSICS or function in EXTREMES)
