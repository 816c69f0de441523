"""Functions of ``<cmath>`` in C++ and of ``tgmath.h``: the C function that a call means.

``std::abs`` of a float is ``fabsf``, ``std::ldexp`` of a float is ``ldexpf``. Without ``std::``,
and without a header or a declaration that says so, ``abs(x)`` may be that of C, which takes an int:
such a call of anything but what C's function takes is refused.
"""

from collections.abc import Sequence
from typing import Any

from polygym.frontend.c.sema.functions import LIBRARY_FUNCTIONS
from polygym.frontend.c.source.locations import SourceMap
from polygym.ir.types import ScalarType

_ABSOLUTE = {
    ScalarType.FLOAT: "fabsf",
    ScalarType.DOUBLE: "fabs",
    ScalarType.LONG: "labs",
}


def overloaded_name(name: str, types: Sequence[ScalarType], call: Any, source: SourceMap) -> str:
    """Return the name in C of a function that is called with values of some types.

    Raises:
        SourceError: It depends on what the headers of C++ declare.
    """
    if source.cpp is None or not types:
        return name
    own = name
    if name == "abs":
        own = _ABSOLUTE.get(types[0], name)
        if types[0] in (ScalarType.UNSIGNED, ScalarType.UNSIGNED_LONG):
            raise source.error(call, "abs takes no number without a sign")
    elif types[0] is ScalarType.FLOAT and f"{name}f" in LIBRARY_FUNCTIONS:
        own = f"{name}f"
    is_float = all(kind is ScalarType.FLOAT for kind in types)
    if name in source.cpp.ambiguous and (own != name or is_float):
        raise source.error(
            call,
            f"{name} of {types[0].value} is a function of C or of C++, by the headers",
            f"write std::{name}, or {own if own != name else f'{name}f'}",
        )
    return own
