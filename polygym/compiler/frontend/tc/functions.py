"""The functions that a comprehension may call: C's mathematical ones, CUDA's, min, max and abs.

``sqrt`` takes the type of its argument; ``sqrtf`` is float, whatever it is given. ``max`` and
``min`` work on integers too; on floating numbers they are ``fmax`` and ``fmin``, which prefer a
number to a NaN. ``exp`` is polygym's own (:mod:`polygym.compiler.codegen.common.exponential`),
which has a form for vectors; so is what the C library has not, ``erfinv`` and the like
(:mod:`polygym.compiler.codegen.common.special`). Others are made of several (``compositions``).
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches

from polygym.compiler.frontend.tc.compositions import COMPOSITIONS, Composition
from polygym.compiler.ir.expr import MathFunction
from polygym.compiler.ir.types import ScalarType

EXTREMES = {"max": MathFunction.FMAX, "min": MathFunction.FMIN}

INDEX_NAMES = frozenset({"j0", "j1", "y0", "y1"})
"""Functions that are called as indices often are: without ( behind them they are indices."""


@dataclass(frozen=True, slots=True)
class Callee:
    """A function; ``type`` is the one that its name demands, None where the arguments decide.

    ``on_integers`` says that it takes integers as they are.
    """

    function: MathFunction | Composition
    type: ScalarType | None
    on_integers: bool

    @property
    def arity(self) -> int:
        """The number of arguments."""
        return self.function.arity


def function_named(name: str) -> Callee | None:
    """Return the function of a name, None if there is none.

    >>> function_named("fmaxf").type
    <ScalarType.FLOAT: 'float'>
    """
    if name in EXTREMES:
        return Callee(EXTREMES[name], None, on_integers=True)
    if name == "abs":
        return Callee(MathFunction.FABS, None, on_integers=True)
    if name in _BY_NAME:
        return Callee(_BY_NAME[name], None, on_integers=False)
    if name.endswith("f") and name[:-1] in _BY_NAME:
        return Callee(_BY_NAME[name[:-1]], ScalarType.FLOAT, on_integers=False)
    return None


_OWN = "polygym_"
_BY_NAME: dict[str, MathFunction | Composition] = {
    **{
        one.value.removeprefix(_OWN): one
        for one in MathFunction
        if one not in (MathFunction.ABS, MathFunction.EXP)
    },
    **COMPOSITIONS,
}

_TRUTH = {"true": 1, "false": 0}


def similar(name: str, tensors: list[str]) -> str:
    """Return a suggestion for a name that is neither a tensor nor a function, "" without one."""
    if name.lower() in _TRUTH:
        return f"a truth value is {_TRUTH[name.lower()]}"
    close = get_close_matches(name, [*tensors, *_BY_NAME, *EXTREMES, "abs"], 1)
    return f"did you mean {close[0]}?" if close else ""
