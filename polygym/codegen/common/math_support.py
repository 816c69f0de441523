"""In which forms functions of math.h can be computed: what LLVM has of its own, what we have.

Loops decide by it what may run in vectors, and the emitters how a call is made. The C library takes
one number at a time.
"""

from polygym.ir.expressions import MathFunction
from polygym.ir.foreign_functions import ForeignFunction

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

MIN_MAX_OPERATORS = {
    MathFunction.FMIN: "<",
    MathFunction.FMAX: ">",
    MathFunction.MINIMUM: "<",
    MathFunction.MAXIMUM: ">",
}
"""Selections by a comparison."""

NAN_PROPAGATING = (MathFunction.MINIMUM, MathFunction.MAXIMUM)
"""Those of them that are NaN if one argument is: ``x > y || x != x ? x : y``."""

_VECTOR_FUNCTIONS = (MathFunction.ABS, MathFunction.EXPONENTIAL)


def has_vector_form(function: MathFunction | ForeignFunction) -> bool:
    """Whether a call can be made for the lanes of a vector at once.

    >>> has_vector_form(MathFunction.SQRT), has_vector_form(MathFunction.EXP)
    (True, False)
    """
    return function in INTRINSICS or function in MIN_MAX_OPERATORS or function in _VECTOR_FUNCTIONS


def is_cheap(function: MathFunction | ForeignFunction) -> bool:
    """Whether a call takes a few cycles and does nothing else, so that it may be made for nothing.

    >>> is_cheap(MathFunction.FABS), is_cheap(MathFunction.SQRT), is_cheap(MathFunction.EXP)
    (True, False, False)
    """
    return function is not MathFunction.SQRT and (
        function in INTRINSICS or function in MIN_MAX_OPERATORS
    )
