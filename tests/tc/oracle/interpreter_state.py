"""What the interpreter of comprehensions knows while it runs, and what may be given to it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from polygym.frontend.tc.syntax.tree import (
    ElementType,
    NameUse,
    TcDefinition,
)

# No size in a test is larger, nor is any sum of two.
LARGEST = 60

DTYPES = {
    ElementType.BOOL: np.bool_,
    ElementType.INT8: np.int8,
    ElementType.INT16: np.int16,
    ElementType.INT32: np.int32,
    ElementType.INT64: np.int64,
    ElementType.UINT8: np.uint8,
    ElementType.UINT16: np.uint16,
    ElementType.UINT32: np.uint32,
    ElementType.UINT64: np.uint64,
    ElementType.FLOAT16: np.float16,
    ElementType.FLOAT: np.float32,
    ElementType.DOUBLE: np.float64,
}


class NoRange(Exception):
    """A range is ambiguous, empty or has no end."""


class OutOfRange(Exception):
    """A subscript that is computed is none of the tensor's."""


@dataclass
class State:
    """Tensors by name, and the values of sizes and of known scalars.

    ``literal`` are the tensors that have been assigned nothing with a type of its own yet.
    """

    tensors: dict[str, np.ndarray]
    values: dict[str, int]
    literal: set[str] = field(default_factory=set)


def declared_shape(definition: TcDefinition, name: str, state: State) -> tuple[int, ...] | None:
    for tc_output in definition.outputs:
        if tc_output.name == name and tc_output.sizes is not None:
            return tuple(
                state.values[s.name] if isinstance(s, NameUse) else int(s.value)
                for s in tc_output.sizes
            )
    return None
