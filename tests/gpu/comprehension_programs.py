"""The comprehensions of the library at small sizes, as programs with arrays."""

from __future__ import annotations

from typing import Any

import islpy as isl
import numpy as np

from polygym.frontend.tc import library, lower_definition, required_constants
from polygym.ir.scop import Scop
from tests.oracles.compiled_runs import random_arrays

_CONSTANTS = {**library.DEFAULT_SIZES, "rows": 5, "columns": 6}
_CONSTANTS |= {"sh": 2, "sw": 3, "dh": 2, "dw": 3, "kh": 3, "kw": 2}
_SIZES = {"H": 5, "W": 6, "OH": 2, "OW": 2, "KH": 3, "KW": 2, "M": 5, **_CONSTANTS}


def comprehension_scop(name: str) -> Scop:
    """Return the program of a comprehension."""
    definition = library.definition(name)
    return lower_definition(definition, {k: _CONSTANTS[k] for k in required_constants(definition)})


def small_sizes(scop: Scop) -> dict[str, int]:
    """Return small sizes that fit each other, no two alike if possible."""
    context, result = isl.Set(scop.context), dict[str, int]()
    for number, parameter in enumerate(scop.parameters):
        name = parameter.name
        for value in (_SIZES.get(name, 2 + number % 3), *range(1, 12)):
            fixed = context.intersect(isl.Set(f"[{name}] -> {{ : {name} = {value} }}"))
            if not fixed.is_empty():
                context = fixed
                result[name] = value
                break
    return result


def small_arrays(scop: Scop, sizes: dict[str, int], seed: int) -> dict[str, np.ndarray[Any, Any]]:
    """Return random arrays; integers are indices that fit every size.

    The gradient of a maximum looks for it in the image: there all numbers are the same.
    """
    arrays = random_arrays(scop, sizes, np.random.default_rng(seed))
    for array in scop.arrays:
        if array.type.is_integer and array.rank:
            arrays[array.name] %= min(sizes.values())
        if scop.name == "max_pool2d_gradient" and array.name in ("I", "O"):
            arrays[array.name][...] = 1
    return arrays
