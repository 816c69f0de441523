"""Memory for outputs that a caller gives as ``out``: checked before code writes to it."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from polygym.errors import InputError
from polygym.frontend.tc import TcDefinition, hint_for_output
from polygym.tc.arguments import listed_outputs
from polygym.tc.kernel import ArrayBinding


def output_memory(
    definition: TcDefinition, outputs: Sequence[ArrayBinding], out: Any
) -> list[np.ndarray]:
    """Return the memory for the outputs that a caller gives, checked.

    Raises:
        InputError: it does not fit.
    """
    given = listed_outputs(out)
    if not all(isinstance(item, np.ndarray) for item in given):
        raise InputError(f"out: expected an array for each output, found {out!r}"[:200])
    if len(given) != len(outputs):
        raise InputError(f"out: expected {len(outputs)} array(s), found {len(given)}")
    for place, array, output in zip(outputs, given, definition.outputs, strict=True):
        if array.shape != place.shape or array.dtype != place.dtype:
            raise InputError(
                f"out: {output.name}: expected {place.dtype} of shape {place.shape}, found "
                f"{array.dtype} of shape {array.shape}{_reason(definition, output.name, array)}"
            )
        if not array.flags.writeable or _overlaps_itself(array):
            raise InputError(
                f"out: {output.name}: expected memory to write to, of its own for each element"
            )
    for first, second in combinations(given, 2):
        if np.may_share_memory(first, second):
            raise InputError("out: expected arrays that do not overlap each other")
    return given


def is_apart(output: np.ndarray, arguments: Sequence[np.ndarray]) -> bool:
    """Whether code can write to memory: it is contiguous, and no argument's."""
    return (
        output.flags.c_contiguous
        and output.flags.aligned
        and not any(np.may_share_memory(output, array) for array in arguments)
    )


def _overlaps_itself(array: np.ndarray) -> bool:
    """Whether elements may share memory: strides are not nested."""
    inner = array.itemsize
    for stride, size in sorted(zip(map(abs, array.strides), array.shape, strict=True)):
        if size > 1:
            if stride < inner:
                return True
            inner += stride * (size - 1)
    return False


def _reason(definition: TcDefinition, name: str, given: np.ndarray) -> str:
    """Return why an output is no float32 if that was given and a literal is the reason."""
    hint = hint_for_output(definition, name) if given.dtype == np.float32 else ""
    return f" ({hint})" if hint else ""
