"""What a program left in its output arrays, as figures that can be compared."""

from __future__ import annotations

from typing import Any

import numpy as np

from polybench.summary import summarise
from polygym.ir.types import ScalarType
from polygym.programs.program import Output, Program

_NUMPY_TYPE: dict[ScalarType, np.dtype[Any]] = {
    ScalarType.INT: np.dtype(np.int32),
    ScalarType.LONG: np.dtype(np.int64),
    ScalarType.FLOAT: np.dtype(np.float32),
    ScalarType.DOUBLE: np.dtype(np.float64),
}


def output_summary(program: Program, output: Output, data: bytes) -> dict[str, Any]:
    """Describe the bytes of an output: count, sum, sum of squares, some of the values."""
    array = program.scop.array(output.array)
    values = np.frombuffer(data, dtype=_NUMPY_TYPE[array.type]).reshape(program.shape(array))
    return dict(summarise(output.array, values, output.part))
