"""The functions that a comprehension may call: C's mathematical ones, CUDA's, min, max and abs.

``sqrt`` takes the type of its argument; ``sqrtf`` is float, whatever it is given. ``max`` and
``min`` work on integers too; on floating numbers they are ``fmax`` and ``fmin``, which prefer a
number to a NaN. ``exp`` is polygym's own (:mod:`polygym.codegen.common.exponential`),
which has a form for vectors; so is what the C library has not, ``erfinv`` and the like
(:mod:`polygym.codegen.common.special_functions`). Others are made of several (``compositions``).
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches

from polygym.frontend.tc.semantics.compositions import COMPOSITIONS, FunctionComposition
from polygym.ir.expressions import MathFunction
from polygym.ir.types import ScalarType

MIN_MAX = {"max": MathFunction.FMAX, "min": MathFunction.FMIN}

INDEX_NAMES = frozenset({"j0", "j1", "y0", "y1"})
"""Functions that are called as indices often are: without ( behind them they are indices."""


@dataclass(frozen=True, slots=True)
class FunctionSignature:
    """A function; ``result_type`` is the type its name demands, None where arguments decide.

    ``is_integer`` says that it takes integers as they are.
    """

    function: MathFunction | FunctionComposition
    result_type: ScalarType | None
    is_integer: bool

    @property
    def arity(self) -> int:
        """The number of arguments."""
        return self.function.arity


def function_named(name: str) -> FunctionSignature | None:
    """Return the function of a name, None if there is none.

    >>> function_named("fmaxf").result_type
    <ScalarType.FLOAT: 'float'>
    """
    if name in MIN_MAX:
        return FunctionSignature(MIN_MAX[name], None, is_integer=True)
    if name == "abs":
        return FunctionSignature(MathFunction.FABS, None, is_integer=True)
    if name in _BY_NAME:
        return FunctionSignature(_BY_NAME[name], None, is_integer=False)
    if name.endswith("f") and name[:-1] in _BY_NAME:
        return FunctionSignature(_BY_NAME[name[:-1]], ScalarType.FLOAT, is_integer=False)
    return None


_OWN_PREFIX = "polygym_"
_BY_NAME: dict[str, MathFunction | FunctionComposition] = {
    **{
        math_function.value.removeprefix(_OWN_PREFIX): math_function
        for math_function in MathFunction
        if math_function not in (MathFunction.ABS, MathFunction.EXP)
    },
    **COMPOSITIONS,
}

_TRUTH = {"true": 1, "false": 0}


def name_suggestion(name: str, tensors: list[str]) -> str:
    """Return a suggestion for a name that is neither a tensor nor a function, "" without one."""
    if name.lower() in _TRUTH:
        return f"a truth value is {_TRUTH[name.lower()]}"
    close = get_close_matches(name, [*tensors, *_BY_NAME, *MIN_MAX, "abs"], 1)
    return f"did you mean {close[0]}?" if close else ""
