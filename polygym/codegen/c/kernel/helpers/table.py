"""The names of helpers, and the definitions that a text needs.

A pattern's groups are the arguments of the function that makes the definition.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from polygym.codegen.c.kernel.helpers.arithmetic import exact_fma, fused_operation, math_function
from polygym.codegen.c.kernel.helpers.conversions import aliasing_type, bits_as, saturate
from polygym.codegen.c.kernel.helpers.fixed import FIXED
from polygym.codegen.c.kernel.helpers.lanes import (
    any_lane,
    bits_of_mask,
    first_lanes,
    keep,
    lesser_or_greater,
    select,
    select_first,
    splat,
)
from polygym.codegen.c.kernel.helpers.partial_vectors import load_partly, store_partly, stream
from polygym.codegen.c.kernel.helpers.spread_lanes import (
    gather,
    load_strided,
    scatter,
    store_strided,
)
from polygym.codegen.c.kernel.helpers.type_names import TYPE_PATTERN

_CALL = re.compile(r"\bpolygym_[a-z_0-9]+")
_PATTERNS: Mapping[str, Callable[..., str]] = {
    "polygym_(fma|fnma|fms|fnms)_TYPE": fused_operation,
    "polygym_exact_fma_TYPE": exact_fma,
    "polygym_(sqrt|fabs|floor|ceil|trunc|round|rint|copysign)_TYPE": math_function,
    "polygym_splat_TYPE": splat,
    "polygym_keep_TYPE": keep,
    "polygym_select_TYPE": select,
    "polygym_(lesser|greater)_TYPE": lesser_or_greater,
    "polygym_select_first_TYPE": select_first,
    "polygym_first_TYPE": first_lanes,
    "polygym_load_(first|mask)_TYPE": load_partly,
    "polygym_store_(first|mask)_TYPE": store_partly,
    "polygym_bits_of_TYPE": bits_of_mask,
    "polygym_strided(?:_(first|mask))?_TYPE": load_strided,
    "polygym_store_strided(?:_(first|mask))?_TYPE": store_strided,
    "polygym_gather(?:_(first|mask))?_TYPE": gather,
    "polygym_scatter(?:_(first|mask))?_TYPE": scatter,
    "polygym_any_(u?(?:double|float|half|long|int|short|char))": aliasing_type,
    "polygym_any_TYPE": any_lane,
    "polygym_stream_TYPE": stream,
    "polygym_bits_TYPE_to_TYPE": bits_as,
    "polygym_saturate_TYPE_to_TYPE": saturate,
}


def helper_names(text: str) -> list[str]:
    """Return the names of the helpers that a text uses, in order, each once."""
    return list(dict.fromkeys(_CALL.findall(text)))


def helper_text(name: str) -> str | None:
    """Return the definition of a helper, None for a name that is none."""
    if name in FIXED:
        return FIXED[name]
    for pattern, make in _PATTERNS.items():
        match = re.fullmatch(pattern.replace("TYPE", TYPE_PATTERN), name)
        if match is not None:
            return make(name, *match.groups())
    return None


def needed_helpers(text: str) -> list[str]:
    """Return the definitions of all helpers that a text needs, those that others need first."""
    done: dict[str, str] = {}

    def add(name: str) -> None:
        if name in done:
            return
        definition = helper_text(name)
        if definition is None:
            return
        for other in helper_names(definition):
            if other != name:
                add(other)
        done[name] = definition

    for name in helper_names(text):
        add(name)
    return list(done.values())
