"""What the interpreter of comprehensions knows while it runs, and what may be given to it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from polygym.compiler.frontend.tc.syntax import (
    Definition,
    Name,
    Scalar,
)

# No size in a test is larger, nor is any sum of two.
LARGEST = 60

DTYPES = {
    Scalar.BOOL: np.bool_,
    Scalar.INT8: np.int8,
    Scalar.INT16: np.int16,
    Scalar.INT32: np.int32,
    Scalar.INT64: np.int64,
    Scalar.UINT8: np.uint8,
    Scalar.UINT16: np.uint16,
    Scalar.UINT32: np.uint32,
    Scalar.UINT64: np.uint64,
    Scalar.FLOAT16: np.float16,
    Scalar.FLOAT: np.float32,
    Scalar.DOUBLE: np.float64,
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


def declared_shape(definition: Definition, name: str, state: State) -> tuple[int, ...] | None:
    for one in definition.outputs:
        if one.name == name and one.sizes is not None:
            return tuple(
                state.values[s.name] if isinstance(s, Name) else int(s.value) for s in one.sizes
            )
    return None
